import { idOf, textOf } from '../../contract/foreign.ts'
import { type Fields, fieldsOf, millisOf } from './json-fields.ts'

/** A scope: the start and end lines of a file with the same uuid. */
export interface Scope {
  readonly uuid: string
  readonly parent: string | undefined
  readonly name: string
  readonly category: string
  /** Merged from both lines; fields of the end line win. */
  readonly profile: Fields
  readonly metadata: Fields
  readonly input: unknown
  readonly output: unknown
  /** Epoch milliseconds with fractions. */
  readonly startAt: number
  readonly endAt: number | undefined
}

export interface ScopeNode {
  readonly scope: Scope
  readonly children: ScopeNode[]
}

/** The end must be later than the start, so an instant scope gets a microsecond. */
const MIN_MILLIS = 0.0015

interface Half {
  readonly at: number
  readonly event: Fields
}

interface Halves {
  readonly uuid: string
  start?: Half
  end?: Half
}

/** Builds trees from ATOF lines in any order. */
export class ScopeReader {
  readonly #halves = new Map<string, Halves>()

  /** Returns the problem of an event, if any. Marks are ignored. */
  take(value: unknown): string | undefined {
    const event = fieldsOf(value)
    const kind = event['kind']
    if (kind === 'mark') return undefined
    if (kind !== 'scope') return 'expected an object of the kind "scope" or "mark"'
    const uuid = idOf(event['uuid'])
    if (uuid === undefined) return 'it has no "uuid"'
    const at = millisOf(event['timestamp'])
    if (at === undefined) return 'its "timestamp" is no time'
    const which = event['scope_category']
    if (which !== 'start' && which !== 'end') return 'its "scope_category" is neither "start" nor "end"'
    const halves = this.#halves.get(uuid) ?? { uuid }
    this.#halves.set(uuid, halves)
    // Ignore duplicates.
    halves[which] ??= { at, event }
    return undefined
  }

  /** Scopes without a known parent are roots. In a cycle, the scope that started first is the root. */
  trees(): readonly ScopeNode[] {
    const nodes = byStart([...this.#halves.values()].map(each => ({ scope: scopeOf(each), children: [] })))
    const byId = new Map(nodes.map(node => [node.scope.uuid, node]))
    const parentOf = ({ scope }: ScopeNode): ScopeNode | undefined =>
      scope.parent === undefined ? undefined : byId.get(scope.parent)
    for (const node of nodes) parentOf(node)?.children.push(node)
    const roots = nodes.filter(node => parentOf(node) === undefined)
    const reached = new Set<ScopeNode>()
    for (const root of roots) reach(root, reached)
    for (const node of nodes) {
      if (reached.has(node)) continue
      const siblings = parentOf(node)?.children ?? []
      siblings.splice(siblings.indexOf(node), 1)
      roots.push(node)
      reach(node, reached)
    }
    return roots
  }
}

function reach(root: ScopeNode, reached: Set<ScopeNode>): void {
  const open = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (reached.has(node)) continue
    reached.add(node)
    for (const child of node.children) open.push(child)
  }
}

function byStart(nodes: ScopeNode[]): ScopeNode[] {
  return nodes.sort((a, b) => a.scope.startAt - b.scope.startAt)
}

/** An end without a start starts when it ends. */
function scopeOf({ uuid, start, end }: Halves): Scope {
  const first = (start ?? end) as Half
  const [before, after] = [start?.event ?? {}, end?.event ?? {}]
  return {
    uuid,
    parent: idOf(first.event['parent_uuid']),
    name: textOf(first.event['name']) ?? 'unnamed',
    category: textOf(first.event['category']) ?? 'unknown',
    profile: { ...fieldsOf(before['category_profile']), ...fieldsOf(after['category_profile']) },
    metadata: { ...fieldsOf(before['metadata']), ...fieldsOf(after['metadata']) },
    input: before['data'] ?? undefined,
    output: after['data'] ?? undefined,
    startAt: first.at,
    endAt: end && (end.at - first.at < MIN_MILLIS ? first.at : end.at),
  }
}

import { deepestAt, type JsonChange, prunedPath } from './json-edit.ts'
import { type JsonNode, type JsonPath, lineOf, nodeAt } from './json5-document.ts'

interface Addition {
  readonly where: string
  readonly into: JsonNode
  readonly members: Record<string, unknown>
  readonly elements: unknown[]
}

/** The changes as lines that tell a person what to do, and where in the text. */
export function describeChanges(text: string, root: JsonNode, changes: readonly JsonChange[]): string[] {
  const additions = new Map<JsonNode, Addition>()
  const lines: string[] = []
  for (const change of changes) {
    if (change.kind === 'remove') lines.push(...removal(text, root, change.path))
    else {
      const { parent, rest, depth } = deepestAt(root, change.path)
      if (rest.length === 0 && change.kind === 'set') lines.push(...replacement(text, parent, change))
      else collect(additions, parent, nameOf(change.path.slice(0, depth)), rest, change.value)
    }
  }
  return [...lines, ...[...additions.values()].flatMap(addition => drawn(text, addition))]
}

function removal(text: string, root: JsonNode, path: JsonPath): string[] {
  const pruned = prunedPath(root, path)
  const node = nodeAt(root, pruned)
  if (node === undefined) return []
  const [from, to] = [lineOf(text, node.start), lineOf(text, node.end)]
  return [`Take out ${nameOf(pruned)} (${from === to ? `line ${from}` : `lines ${from} to ${to}`}).`]
}

function replacement(text: string, old: JsonNode, { path, value }: JsonChange & { readonly value: unknown }): string[] {
  return [`Change ${nameOf(path)} (line ${lineOf(text, old.start)}) to ${JSON.stringify(value)}.`]
}

/** What goes into the same place is one block: a name that is there twice would hide the first. */
function collect(
  additions: Map<JsonNode, Addition>,
  into: JsonNode,
  where: string,
  [key, ...inner]: JsonPath,
  value: unknown,
): void {
  const addition = additions.get(into) ?? { where, into, members: {}, elements: [] }
  additions.set(into, addition)
  if (key === undefined) addition.elements.push(value)
  else merge(addition.members, [key, ...inner], value)
}

function merge(members: Record<string, unknown>, [key = '', ...inner]: JsonPath, value: unknown): void {
  if (inner.length === 0) members[key] = value
  else {
    const nested = (members[key] ?? {}) as Record<string, unknown>
    members[key] = nested
    merge(nested, inner, value)
  }
}

function drawn(text: string, { where, into, members, elements }: Addition): string[] {
  const block = into.kind === 'array' ? elements : members
  const body = JSON.stringify(block, null, 2).split('\n').slice(1, -1)
  const place = where === '' ? 'the outermost braces' : where
  return [`Add to ${place} (line ${lineOf(text, into.start)}):`, ...body]
}

function nameOf(path: JsonPath): string {
  return path
    .map(step => (typeof step === 'number' ? `[${step}]` : step))
    .join('.')
    .replaceAll('.[', '[')
}

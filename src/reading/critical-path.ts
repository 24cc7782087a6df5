import { humanDuration } from './human-figures.ts'
import type { DisplayKind } from './segments.ts'
import { namespaceOfTree, walkSpans } from './span-attributes.ts'
import { isApprovalWait, isRequest } from './span-facts.ts'
import type { StoredSpan } from './stored-span.ts'
import type { TimeRange } from './time-ranges.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

/** In the order of display. `you`: waits for the user; `untraced`: time between the steps of an agent. */
export const PATH_PARTS = ['model', 'you', 'tools', 'guards', 'untraced'] as const
export type PathPartName = (typeof PATH_PARTS)[number]

export type PathSection = TimeRange & Readonly<{ part: PathPartName }>

/** The parts that take time, with their milliseconds. */
export function pathSums(sections: readonly PathSection[]): (readonly [PathPartName, number])[] {
  const sums = new Map<PathPartName, number>()
  for (const { part, startAt, endAt } of sections) sums.set(part, (sums.get(part) ?? 0) + endAt - startAt)
  return PATH_PARTS.flatMap(part => (sums.has(part) ? [[part, sums.get(part) ?? 0] as const] : []))
}

/** `model 5.2 s, you 12.2 s` */
export function pathText(sections: readonly PathSection[]): string {
  return pathSums(sections)
    .map(([part, millis]) => `${part} ${humanDuration(millis)}`)
    .join(', ')
}

/** Limits the search for the holder of a part, so that the cost of a long chain of parents stays linear. */
const MAX_LEVELS = 64

/**
 * The critical path of a trace by time, in O(n log n) of its spans. Never throws, even if times and parents are inconsistent. For
 * a running trace, pass the result of `asOf`.
 */
export function criticalPath(tree: TraceTree): readonly (PathSection & { readonly span: StoredSpan })[] {
  const namespace = namespaceOfTree(tree)
  const sections: (PathSection & { readonly span: StoredSpan })[] = []
  const open = [...stepsBackwards(partsOf(tree, namespace), tree.startAt, tree.endAt)]
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { part, startAt, endAt } = step
    const name = ownPart(part, namespace)
    let cursor = endAt
    for (const inner of stepsBackwards(part.inner, startAt, endAt)) {
      if (inner.endAt < cursor) sections.push({ span: part.span, startAt: inner.endAt, endAt: cursor, part: name })
      cursor = inner.startAt
      open.push(inner)
    }
    if (startAt < cursor) sections.push({ span: part.span, startAt, endAt: cursor, part: name })
  }
  return sections.sort((a, b) => a.startAt - b.startAt)
}

function ownPart({ span, kind, inner }: PathPart, namespace: string): PathPartName {
  if (isApprovalWait(span, namespace)) return 'you'
  if (inner.length > 0 && (kind === 'session' || kind === 'llm' || kind === 'subagent')) return 'untraced'
  if (isRequest(kind)) return 'model'
  return kind === 'hook' ? 'guards' : 'tools'
}

function partsOf(tree: TraceTree, namespace: string): PathPart[] {
  const parts = new Map<TraceNode, PathPart>()
  const holders = new Map<PathPart, PathPart>()
  const roots: PathPart[] = []
  for (const { node, parent, attributes } of walkSpans(tree, namespace)) {
    const { span, kind } = attributes
    const endAt = Math.max(span.startAt, span.endAt)
    const flags = { requestedBy: undefined, isBackground: false, isOnPath: false }
    const part: PathPart = { span, kind, startAt: span.startAt, endAt, inner: [], ...flags }
    if (parent === undefined) {
      roots.push(part)
      parts.set(node, part)
      continue
    }
    const above = parts.get(parent.node)
    const holder = above && holderOf(part, above, holders)
    // Spans below a detached child are skipped: their parent has no part.
    if (above === undefined || holder === undefined) continue
    parts.set(node, part)
    holders.set(part, holder)
    part.endAt = Math.min(part.endAt, holder.endAt)
    if (above.kind === 'api' && holders.get(above) === holder) part.requestedBy = above
    // A skill lasts from when it was available, and the producer of a queued message does not wait for the consumer.
    const isAwaited = kind !== 'skill' && !(span.kind === 'consumer' && above.span.kind === 'producer')
    if (isAwaited) holder.inner.push(part)
  }
  return roots
}

/**
 * Returns the part during which another one ran. A tool is a child of the request that asked for it, and runs after it. Both are
 * therefore steps of the part around the request. A background child belongs to the first part that also contains its end.
 * Returns undefined if there is none: a child agent that outlives the turn was never waited for.
 */
function holderOf(part: PathPart, above: PathPart, holders: ReadonlyMap<PathPart, PathPart>): PathPart | undefined {
  const isChildAgent = part.kind === 'subagent' || part.kind === 'session'
  let holder = above
  for (let level = 0; level < MAX_LEVELS; level++) {
    const hasRoom = !LEAVES.has(holder.kind)
    if (hasRoom && isChildAgent && !isMostlyIn(part, holder)) part.isBackground = true
    const next = holders.get(holder)
    if (hasRoom && (part.isBackground ? part.endAt <= holder.endAt : isMostlyIn(part, holder))) return holder
    if (next === undefined) return part.isBackground ? undefined : holder
    holder = next
  }
  return part.isBackground ? undefined : holder
}

const LEAVES: ReadonlySet<DisplayKind> = new Set<DisplayKind>(['api', 'auxiliary', 'skill'])

function isMostlyIn(part: PathPart, holder: PathPart): boolean {
  return part.endAt - holder.endAt <= holder.endAt - part.startAt
}

/** A span as the critical path sees it: inside the part during which it ran, which is not always its parent. */
export interface PathPart {
  readonly span: StoredSpan
  readonly kind: DisplayKind
  /** Epoch milliseconds. A part that outlasts its holder is cut at the holder's end: nothing waited for the rest. */
  readonly startAt: number
  endAt: number
  readonly inner: PathPart[]
  requestedBy: PathPart | undefined
  isBackground: boolean
  isOnPath: boolean
}

type PathStep = TimeRange & Readonly<{ part: PathPart }>

/**
 * Side calls, control hooks, background children and unknown spans are on the path only where no other part explains the time.
 */
function isOffMainLine({ kind, isBackground }: PathPart): boolean {
  return isBackground || kind === 'auxiliary' || kind === 'hook' || kind === 'other'
}

/**
 * Yields the parts awaited in a period, latest first and without overlap. The agent loop defines the dependencies: a request
 * waits for the tools of the request before it, and a tool waits for the request that asked for it. Other parts, such as a side
 * call or a background tool, fill the remaining gaps.
 */
function* stepsBackwards(parts: readonly PathPart[], fromAt: number, toAt: number): Generator<PathStep, void> {
  const line = new MainLine(parts)
  const others = new Fillers(parts)
  let cursor = toAt
  while (cursor > fromAt) {
    const part = line.takeLastEndedBefore(cursor)
    const until = part === undefined ? fromAt : Math.max(fromAt, Math.min(part.endAt, cursor))
    for (const step of others.fillGap(until, cursor)) {
      yield step
      cursor = step.startAt
    }
    if (part === undefined) return
    part.isOnPath = true
    const step = { part, startAt: Math.max(fromAt, part.startAt), endAt: Math.min(until, cursor) }
    if (step.startAt >= step.endAt) continue
    yield step
    cursor = step.startAt
  }
}

class MainLine {
  readonly #requests: readonly PathPart[]
  /** The parts that each request asked for, latest end last. The first entry has those before any request. */
  readonly #asked: PathPart[][]
  #at: number
  #isAsked = false

  constructor(parts: readonly PathPart[]) {
    const line = parts.filter(part => !isOffMainLine(part)).sort((a, b) => a.startAt - b.startAt)
    this.#requests = line.filter(({ kind }) => kind === 'api')
    this.#asked = Array.from({ length: this.#requests.length + 1 }, () => [])
    this.#at = this.#requests.length
    const places = new Map(this.#requests.map((request, index) => [request, index + 1]))
    let begun = 0
    for (const part of line) {
      if (part.kind === 'api') begun += 1
      else this.#asked[(part.requestedBy && places.get(part.requestedBy)) ?? begun]?.push(part)
    }
    // Among parts with the same end the longest is taken first: it did not wait for the others.
    for (const group of this.#asked) group.sort((a, b) => a.endAt - b.endAt || b.startAt - a.startAt)
  }

  /** The awaited part with the latest end at or before `cursor`. A part that ends later was not waited for. */
  takeLastEndedBefore(cursor: number): PathPart | undefined {
    for (; this.#at > 0; this.#stepBack()) {
      const request = this.#requests[this.#at - 1]
      const asked = this.#lastAsked(cursor)
      const isOver = request !== undefined && request.endAt <= cursor
      if (asked !== undefined && !(isOver && request.endAt > asked.endAt)) {
        this.#asked[this.#at]?.pop()
        this.#isAsked = true
        return asked
      }
      if (request !== undefined && !request.isOnPath && (isOver || this.#isAsked)) {
        this.#stepBack()
        return request
      }
    }
    const asked = this.#lastAsked(cursor)
    this.#asked[0]?.pop()
    return asked
  }

  #stepBack(): void {
    this.#at -= 1
    this.#isAsked = false
  }

  #lastAsked(cursor: number): PathPart | undefined {
    const group = this.#asked[this.#at] ?? []
    for (let last = group.at(-1); last !== undefined; last = group.at(-1)) {
      if (!last.isOnPath && last.endAt <= cursor) return last
      group.pop()
    }
    return undefined
  }
}

class Fillers {
  readonly #parts: readonly PathPart[]
  #next = 0

  constructor(parts: readonly PathPart[]) {
    this.#parts = [...parts].sort((a, b) => b.endAt - a.endAt || a.startAt - b.startAt)
  }

  /** Latest first. Call with times that never increase. */
  *fillGap(fromAt: number, toAt: number): Generator<PathStep, void> {
    let cursor = toAt
    for (let part = this.#parts[this.#next]; part !== undefined; part = this.#parts[this.#next]) {
      if (part.endAt <= fromAt) return
      this.#next += 1
      const step = { part, startAt: Math.max(fromAt, part.startAt), endAt: part.endAt }
      if (part.isOnPath || step.endAt > cursor || step.startAt >= step.endAt) continue
      part.isOnPath = true
      cursor = step.startAt
      yield step
    }
  }
}

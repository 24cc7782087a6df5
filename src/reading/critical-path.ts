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

/** These, and background children, are on the path only where no other part explains the time. */
const OFF_MAIN_LINE: ReadonlySet<DisplayKind> = new Set<DisplayKind>(['auxiliary', 'hook', 'other'])

/**
 * Yields the parts awaited in a period, latest first and without overlap. The agent loop defines the dependencies: a request
 * waits for the tools of the request before it, and a tool waits for the request that asked for it. Other parts, such as a side
 * call or a background tool, fill the remaining gaps.
 */
function* stepsBackwards(parts: readonly PathPart[], fromAt: number, toAt: number): Generator<PathStep, void> {
  const takeLastEndedBefore = mainLineOf(parts)
  const byEnd = [...parts].sort((a, b) => b.endAt - a.endAt || a.startAt - b.startAt)
  let next = 0
  let cursor = toAt
  while (cursor > fromAt) {
    const part = takeLastEndedBefore(cursor)
    const until = part === undefined ? fromAt : Math.max(fromAt, Math.min(part.endAt, cursor))
    for (const step of fillGap(until, cursor)) {
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

  /** Latest first. Call with times that never increase. */
  function* fillGap(gapFromAt: number, gapToAt: number): Generator<PathStep, void> {
    let end = gapToAt
    for (let part = byEnd[next]; part !== undefined; part = byEnd[next]) {
      if (part.endAt <= gapFromAt) return
      next += 1
      const step = { part, startAt: Math.max(gapFromAt, part.startAt), endAt: part.endAt }
      if (part.isOnPath || step.endAt > end || step.startAt >= step.endAt) continue
      part.isOnPath = true
      end = step.startAt
      yield step
    }
  }
}

/**
 * Returns a function that takes the awaited part with the latest end at or before a time. A part that ends later was not waited
 * for. Call it with times that never increase.
 */
function mainLineOf(parts: readonly PathPart[]): (cursor: number) => PathPart | undefined {
  const line = parts.filter(part => !part.isBackground && !OFF_MAIN_LINE.has(part.kind))
  line.sort((a, b) => a.startAt - b.startAt)
  const requests = line.filter(({ kind }) => kind === 'api')
  const places = new Map(requests.map((request, index) => [request, index + 1]))
  /** The parts that each request asked for, latest end last. The first entry has those before any request. */
  const asked: PathPart[][] = [[], ...requests.map(() => [])]
  let begun = 0
  for (const part of line) {
    if (part.kind === 'api') begun += 1
    else asked[(part.requestedBy && places.get(part.requestedBy)) ?? begun]?.push(part)
  }
  // Among parts with the same end the longest is taken first: it did not wait for the others.
  for (const group of asked) group.sort((a, b) => a.endAt - b.endAt || b.startAt - a.startAt)
  let [at, hasTaken] = [requests.length, false]
  const stepBack = (): void => {
    at -= 1
    hasTaken = false
  }
  const lastAsked = (cursor: number): PathPart | undefined => {
    const group = asked[at] ?? []
    for (let last = group.at(-1); last !== undefined; last = group.at(-1)) {
      if (!last.isOnPath && last.endAt <= cursor) return last
      group.pop()
    }
    return undefined
  }
  return cursor => {
    for (; at > 0; stepBack()) {
      const request = requests[at - 1]
      const last = lastAsked(cursor)
      const isOver = request !== undefined && request.endAt <= cursor
      if (last !== undefined && !(isOver && request.endAt > last.endAt)) {
        asked[at]?.pop()
        hasTaken = true
        return last
      }
      if (request !== undefined && !request.isOnPath && (isOver || hasTaken)) {
        stepBack()
        return request
      }
    }
    const last = lastAsked(cursor)
    asked[0]?.pop()
    return last
  }
}

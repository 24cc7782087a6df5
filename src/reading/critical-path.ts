import { type PathPart, stepsBackwards } from './path-steps.ts'
import { isApprovalWait } from './person-wait.ts'
import { displayKind, namespaceOfTree, SpanAttributes } from './span-attributes.ts'
import type { StoredSpan } from './stored-span.ts'
import { type TraceNode, type TraceTree, walkTree } from './trace-forest.ts'

export interface CriticalPathSection {
  readonly span: StoredSpan
  /** Epoch milliseconds. */
  readonly fromAt: number
  readonly toAt: number
  /** `person`: a wait for the user; `gap`: between the steps of an agent, where nothing is traced. */
  readonly part: 'work' | 'person' | 'gap'
}

export interface CriticalPath {
  /** Sorted by time, without overlap. They cover the whole of a trace with one root. */
  readonly sections: readonly CriticalPathSection[]
  readonly workMillis: number
  readonly personMillis: number
  readonly gapMillis: number
  /** A span is still running, so the last end is not known yet. */
  readonly isProvisional: boolean
}

/** Limits the search for the holder of a part, so that the cost of a long chain of parents stays linear. */
const MAX_LEVELS = 64

/**
 * The critical path of a trace, in O(n log n) of its spans. Never throws, even if times and parents are inconsistent. For a
 * running trace, pass the result of `asOf`.
 */
export function criticalPath(tree: TraceTree): CriticalPath {
  const namespace = namespaceOfTree(tree)
  const sections: CriticalPathSection[] = []
  const open = [...stepsBackwards(partsOf(tree, namespace), tree.startAt, tree.endAt)]
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { part, fromAt, toAt } = step
    const own = ownPart(part, namespace)
    const add = (from: number, to: number): void => {
      if (from < to) sections.push({ span: part.span, fromAt: from, toAt: to, part: own })
    }
    let cursor = toAt
    for (const inner of stepsBackwards(part.inner, fromAt, toAt)) {
      add(inner.toAt, cursor)
      cursor = inner.fromAt
      open.push(inner)
    }
    add(fromAt, cursor)
  }
  sections.sort((a, b) => a.fromAt - b.fromAt)
  return { sections, ...sumsOf(sections), isProvisional: tree.isRunning }
}

function sumsOf(sections: readonly CriticalPathSection[]): {
  workMillis: number
  personMillis: number
  gapMillis: number
} {
  const sums = { work: 0, person: 0, gap: 0 }
  for (const { part, fromAt, toAt } of sections) sums[part] += toAt - fromAt
  return { workMillis: sums.work, personMillis: sums.person, gapMillis: sums.gap }
}

/** The type of a part's time that no inner part covers. For an agent whose steps are stored, it is the gap between two steps. */
function ownPart({ span, kind, inner }: PathPart, namespace: string): CriticalPathSection['part'] {
  if (isApprovalWait(span, namespace)) return 'person'
  const isFrame = kind === 'session' || kind === 'llm' || kind === 'subagent'
  return isFrame && inner.length > 0 ? 'gap' : 'work'
}

function partsOf(tree: TraceTree, namespace: string): PathPart[] {
  const parts = new Map<TraceNode, PathPart>()
  const holders = new Map<PathPart, PathPart>()
  const roots: PathPart[] = []
  for (const { node, parent } of walkTree(tree)) {
    const part = partOf(node.span, namespace)
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
    if (isAwaited(part, above)) holder.inner.push(part)
  }
  return roots
}

function partOf(span: StoredSpan, namespace: string): PathPart {
  const endAt = Math.max(span.startAt, span.endAt)
  const kind = displayKind(new SpanAttributes(span, namespace))
  return {
    span,
    kind,
    startAt: span.startAt,
    endAt,
    inner: [],
    requestedBy: undefined,
    isBackground: false,
    isOnPath: false,
  }
}

/**
 * Returns the part during which another one ran. A tool is a child of the request that asked for it, and runs after it. Both are
 * therefore steps of the part around the request. A background child belongs to the first part that also contains its end.
 * Returns undefined if there is none: a child agent that outlives the turn was never waited for.
 */
function holderOf(part: PathPart, above: PathPart, holders: ReadonlyMap<PathPart, PathPart>): PathPart | undefined {
  let holder = above
  for (let level = 0; level < MAX_LEVELS; level++) {
    const hasRoom = !isLeaf(holder)
    if (hasRoom && isChildAgent(part) && !isMostlyIn(part, holder)) part.isBackground = true
    const next = holders.get(holder)
    if (hasRoom && (part.isBackground ? part.endAt <= holder.endAt : isMostlyIn(part, holder))) return holder
    if (next === undefined) return part.isBackground ? undefined : holder
    holder = next
  }
  return part.isBackground ? undefined : holder
}

function isChildAgent({ kind }: PathPart): boolean {
  return kind === 'subagent' || kind === 'session'
}

/**
 * Two cases are not awaited: a skill, which lasts from when it was available, and the consumer of a queued message, whose
 * producer does not wait.
 */
function isAwaited({ kind, span }: PathPart, above: PathPart): boolean {
  return kind !== 'skill' && !(span.kind === 'consumer' && above.span.kind === 'producer')
}

function isLeaf({ kind }: PathPart): boolean {
  return kind === 'api' || kind === 'auxiliary' || kind === 'skill'
}

function isMostlyIn(part: PathPart, holder: PathPart): boolean {
  return part.endAt - holder.endAt <= holder.endAt - part.startAt
}

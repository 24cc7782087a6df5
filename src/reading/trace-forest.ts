import { isRecord, parseJson } from './attribute-value.ts'
import type { StoredSpan } from './stored-span.ts'
import { rangeOf } from './time-ranges.ts'

export interface TraceNode {
  readonly span: StoredSpan
  /**
   * Sorted by start. Calls with the same start are in the order of their request's answer if it is stored, or else as they
   * arrived.
   */
  readonly children: readonly TraceNode[]
  /**
   * A root whose parent is missing, or that is part of a circle of parents. `elsewhere`: a root with a remote parent, whose
   * trace is stored by another program.
   */
  readonly orphan: boolean
  readonly elsewhere: boolean
  readonly awaiting: boolean
}

export interface TraceTree {
  readonly traceId: string
  /** One in a sound trace. If parents are missing there are more, so that no span is lost. */
  readonly roots: readonly TraceNode[]
  readonly spanCount: number
  readonly startAt: number
  readonly endAt: number
  readonly lastAt: number
  readonly isRunning: boolean
}

interface GrowingNode extends TraceNode {
  readonly children: GrowingNode[]
  readonly order: number
  orphan: boolean
  elsewhere: boolean
  awaiting: boolean
  reached: boolean
}

/**
 * Builds one tree per trace, ordered by start. Of several spans with one id the last wins, but an ended span is never replaced by
 * a running one. Every span appears exactly once, whatever its parent. Nothing here recurses: a trace may be any depth.
 */
export function buildForest(spans: Iterable<StoredSpan>): TraceTree[] {
  const traces = new Map<string, Map<string, StoredSpan>>()
  for (const span of spans) {
    const trace = traces.get(span.traceId) ?? new Map<string, StoredSpan>()
    traces.set(span.traceId, trace)
    putSpan(trace, span)
  }
  return [...traces].map(([traceId, trace]) => buildTree(traceId, trace)).sort((a, b) => a.startAt - b.startAt)
}

/** Adds a span to its trace. A running note may be read after the end of the same span, and is then ignored. */
export function putSpan(trace: Map<string, StoredSpan>, span: StoredSpan): void {
  const known = trace.get(span.spanId)
  const hasEnded = known !== undefined && known.running !== true
  if (!(span.running && hasEnded)) trace.set(span.spanId, span)
}

export function buildTree(traceId: string, spans: ReadonlyMap<string, StoredSpan>, isGrowing = false): TraceTree {
  const nodes = new Map<string, GrowingNode>()
  const { startAt, endAt } = rangeOf(spans.values())
  const isRunning = [...spans.values()].some(({ running }) => running === true)
  for (const span of [...spans.values()].sort((a, b) => a.startAt - b.startAt)) {
    const shown = span.running === true ? { ...span, endAt } : span
    const flags = { orphan: false, elsewhere: false, awaiting: false, reached: false }
    nodes.set(span.spanId, { span: shown, children: [], order: nodes.size, ...flags })
  }
  const roots = attachToParents(nodes)
  for (const node of nodes.values()) orderCalls(node)
  if (isGrowing) for (const root of roots) root.awaiting = root.orphan
  for (const root of roots) markReached(root)
  for (const node of nodes.values()) if (!node.reached) roots.push(cutCircle(node, nodes))
  roots.sort((a, b) => a.order - b.order)
  return { traceId, roots, spanCount: nodes.size, startAt, endAt, lastAt: endAt, isRunning }
}

function parentOf(node: GrowingNode, nodes: ReadonlyMap<string, GrowingNode>): GrowingNode | undefined {
  return node.span.parentSpanId === undefined ? undefined : nodes.get(node.span.parentSpanId)
}

function attachToParents(nodes: ReadonlyMap<string, GrowingNode>): GrowingNode[] {
  const roots: GrowingNode[] = []
  for (const node of nodes.values()) {
    const parent = parentOf(node, nodes)
    const isAway = parent === undefined && node.span.parentSpanId !== undefined
    node.elsewhere = isAway && node.span.parentIsRemote === true
    node.orphan = isAway && !node.elsewhere
    if (parent === undefined) roots.push(node)
    else parent.children.push(node)
  }
  return roots
}

/** Spans are stored as they end, and times have milliseconds. Parallel calls with the same start have no order of their own. */
function orderCalls({ span, children }: GrowingNode): void {
  const areTied = children.some((child, index) => {
    const before = children[index - 1]
    return before?.span.startAt === child.span.startAt && callIdOf(before.span) !== undefined
  })
  if (!areTied) return
  const ids = idsInAnswer(span)
  const places = new Map((ids.length > 0 ? ids : listedIds(span)).map((id, place) => [id, place]))
  const placeOf = (child: GrowingNode): number => places.get(callIdOf(child.span) ?? '') ?? places.size
  if (places.size > 0) {
    children.sort((a, b) => a.span.startAt - b.span.startAt || placeOf(a) - placeOf(b) || a.order - b.order)
  }
}

function markReached(root: GrowingNode): void {
  const open = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    node.reached = true
    for (const child of node.children) if (!child.reached) open.push(child)
  }
}

/** A span that no root reaches hangs on a circle of parents. The circle is cut at its earliest span, which becomes a root. */
function cutCircle(start: GrowingNode, nodes: ReadonlyMap<string, GrowingNode>): GrowingNode {
  const walked = new Set<GrowingNode>()
  let node = start
  for (; !walked.has(node); node = parentOf(node, nodes) ?? node) walked.add(node)
  const path = [...walked]
  const earliest = path.slice(path.indexOf(node)).reduce((first, each) => (each.order < first.order ? each : first))
  const siblings = parentOf(earliest, nodes)?.children
  siblings?.splice(siblings.indexOf(earliest), 1)
  earliest.orphan = true
  markReached(earliest)
  return earliest
}

export type TreeStep = Readonly<{ node: TraceNode; depth: number; isLast: boolean; parent: TreeStep | undefined }>

export function* walkTree(tree: TraceTree): Generator<TreeStep, void> {
  const open = stepsOf(tree.roots, undefined)
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    yield step
    for (const child of stepsOf(step.node.children, step)) open.push(child)
  }
}

/** Reversed for a stack: the step pushed last is drawn first. */
function stepsOf(nodes: readonly TraceNode[], parent: TreeStep | undefined): TreeStep[] {
  const depth = parent === undefined ? 0 : parent.depth + 1
  return nodes.map((node, index) => ({ node, depth, isLast: index === nodes.length - 1, parent })).reverse()
}

type CopiedNode = TraceNode & Readonly<{ children: CopiedNode[] }>

/** The tree at a given time, in epoch milliseconds: running spans last until then. Default: unchanged. */
export function asOf(tree: TraceTree, now?: number): TraceTree {
  if (!tree.isRunning || now === undefined) return tree
  const endAt = Math.max(now, tree.lastAt)
  const roots: CopiedNode[] = []
  const copies = new Map<TraceNode, CopiedNode>()
  for (const { node, parent } of walkTree(tree)) {
    const { span } = node
    const copy = { ...node, span: span.running === true ? { ...span, endAt } : span, children: [] }
    copies.set(node, copy)
    const siblings = parent === undefined ? roots : copies.get(parent.node)?.children
    siblings?.push(copy)
  }
  return { ...tree, roots, endAt }
}

const CALL_ID = 'gen_ai.tool.call.id'
const OUTPUT_MESSAGES = 'gen_ai.output.messages'
/** Longer answers are not parsed: the order of calls is not worth the cost. */
const MAX_ANSWER_CHARS = 1_000_000
const LISTED_ID = /^llm\.output_messages\.(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.id$/

function callIdOf({ attributes }: StoredSpan): string | undefined {
  const id = attributes[CALL_ID]
  return typeof id === 'string' ? id : undefined
}

function idsInAnswer({ attributes }: StoredSpan): string[] {
  const answer = attributes[OUTPUT_MESSAGES]
  const messages = typeof answer === 'string' && answer.length <= MAX_ANSWER_CHARS ? parseJson(answer) : answer
  if (!Array.isArray(messages)) return []
  const parts = messages.flatMap((message: unknown) => (isRecord(message) ? message['parts'] : []))
  return parts.flatMap(part => (isRecord(part) && typeof part['id'] === 'string' ? [part['id']] : []))
}

function listedIds({ attributes }: StoredSpan): string[] {
  const listed = Object.entries(attributes).flatMap(([name, id]) => {
    const [match, message, call] = LISTED_ID.exec(name) ?? []
    return match === undefined || typeof id !== 'string' ? [] : [{ id, message: Number(message), call: Number(call) }]
  })
  return listed.sort((a, b) => a.message - b.message || a.call - b.call).map(({ id }) => id)
}

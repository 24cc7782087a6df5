import { namespaceOfTree } from './span-attributes.ts'
import { isApprovalWait } from './span-facts.ts'
import { rangeOf } from './time-ranges.ts'
import { asOf, type TraceNode, type TraceTree, walkTree } from './trace-forest.ts'
import { summarize, type TraceSummary } from './trace-summary.ts'
import { isoInstant, jsonLine } from './tree-json.ts'
import { type TreeRow, treeRows } from './tree-rows.ts'

/**
 * `hung`: no span has started or ended for long; `waiting`: the user has been asked; `owner-dead`: the process that ran it is
 * gone, and the next one will end it.
 */
export type OpenState = 'hung' | 'waiting' | 'running' | 'owner-dead'

export interface OpenTurn {
  readonly state: OpenState
  readonly traceId: string
  readonly summary: TraceSummary
  readonly prompt: string
  readonly sinceAt: number
  readonly lastAt: number
  readonly doing: readonly TreeRow[]
  readonly tree: TraceTree
}

/** A thinking model or a test suite may be silent for a minute; a longer silence is worth a look. */
const HUNG_FROM_MILLIS = 120_000

/** Most urgent first. The user cannot act on `owner-dead`, so it comes last. */
const URGENCY: readonly OpenState[] = ['hung', 'waiting', 'running', 'owner-dead']

export function openTurns(
  trees: Iterable<TraceTree>,
  now: number,
  isOwnerDead: (tree: TraceTree) => boolean = () => false,
): OpenTurn[] {
  const turns: OpenTurn[] = []
  for (const tree of trees) if (tree.isRunning) turns.push(openTurn(tree, now, isOwnerDead(tree)))
  return turns.sort((a, b) => URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state) || a.sinceAt - b.sinceAt)
}

export type OpenFacts = Readonly<{ isOwnerDead: boolean; isWaitingForPerson: boolean; silentMillis: number }>

/** The state of an open turn, for the terminal and the page. A turn that waits for the user is never hung. */
export function openState({ isOwnerDead, isWaitingForPerson, silentMillis }: OpenFacts): OpenState {
  if (isOwnerDead) return 'owner-dead'
  if (isWaitingForPerson) return 'waiting'
  return silentMillis >= HUNG_FROM_MILLIS ? 'hung' : 'running'
}

/**
 * Start of the oldest question to the user among the innermost open spans, epoch milliseconds; undefined if there is none. One
 * question is enough, whatever runs beside it: the user is the one who has to act.
 */
export function waitingSince(innermost: Iterable<TraceNode>, namespace: string): number | undefined {
  const waits = Array.from(innermost, ({ span }) => span).filter(span => isApprovalWait(span, namespace))
  return waits.length === 0 ? undefined : rangeOf(waits).startAt
}

function openTurn(stored: TraceTree, now: number, isOwnerDead: boolean): OpenTurn {
  const tree = asOf(stored, now)
  const summary = summarize(tree)
  const innermost = innermostOpen(tree)
  const rows = treeRows(tree)
  const doing = rows.filter(({ step }) => innermost.has(step.node))
  const prompt = promptIn(rows)
  const sinceAt = openSpans(tree).reduce((first, { span }) => Math.min(first, span.startAt), tree.endAt)
  const isWaitingForPerson = waitingSince(innermost, namespaceOfTree(tree)) !== undefined
  const state = openState({ isOwnerDead, isWaitingForPerson, silentMillis: summary.silentMillis })
  return { state, traceId: tree.traceId, summary, prompt, sinceAt, lastAt: tree.lastAt, doing, tree }
}

export function promptIn(rows: readonly TreeRow[]): string {
  return rows.find(({ facts }) => facts.kind === 'session')?.facts.hint ?? ''
}

function openSpans(tree: TraceTree): TraceNode[] {
  return Array.from(walkTree(tree), ({ node }) => node).filter(({ span }) => span.running === true)
}

/** Running spans without a running descendant: all other running spans wait for these. */
export function innermostOpen(tree: TraceTree): ReadonlySet<TraceNode> {
  const innermost = new Set(openSpans(tree))
  const passed = new Set<TraceNode>()
  for (const { node, parent } of walkTree(tree)) {
    if (node.span.running !== true) continue
    for (let outer = parent; outer !== undefined && !passed.has(outer.node); outer = outer.parent) {
      passed.add(outer.node)
      innermost.delete(outer.node)
    }
  }
  return innermost
}

export function openTurnJson(
  { state, traceId, summary, prompt, sinceAt, lastAt, doing }: OpenTurn,
  now: number,
): string {
  return jsonLine({
    state: state.replace('-', '_'),
    agent: summary.agent,
    session_id: summary.sessionId,
    turn: summary.turnNumber,
    trace_id: traceId,
    prompt: prompt || undefined,
    model: summary.model || undefined,
    open_since: isoInstant(sinceAt),
    open_ms: Math.max(0, now - sinceAt),
    silent_since: isoInstant(lastAt),
    silent_ms: Math.max(0, now - lastAt),
    tokens: summary.tokens,
    doing: doing.map(({ step: { node }, facts }) => ({
      span_id: node.span.spanId,
      name: facts.name,
      hint: facts.hint || undefined,
      since: isoInstant(node.span.startAt),
      open_ms: Math.max(0, now - node.span.startAt),
    })),
  })
}

import { isPersonWait } from './person-wait.ts'
import { namespaceOfTree } from './span-attributes.ts'
import { asOf, type SpanNode, type TraceTree, walkTree } from './trace-forest.ts'
import { summarize, type TraceSummary } from './trace-summary.ts'
import { type TreeRow, treeRows } from './tree-rows.ts'

/**
 * `hung`: nothing has started or ended for long; `waiting`: a person has been asked; `owner-dead`: the process that ran it
 * is gone, and the next one will end it.
 */
export type OpenState = 'hung' | 'waiting' | 'running' | 'owner-dead'

/** A turn in which something is running, as a person sees it who looks at a certain time. */
export interface OpenTurn {
  readonly state: OpenState
  readonly traceId: string
  readonly summary: TraceSummary
  /** The prompt of the turn; empty where it is not stored. */
  readonly prompt: string
  /** Start of what has been open for longest in it, epoch milliseconds. */
  readonly sinceAt: number
  /** The last that is known to have happened in it, epoch milliseconds. */
  readonly lastAt: number
  /** What it is at: what is running and has nothing below it that is. */
  readonly doing: readonly TreeRow[]
}

/** A model that thinks takes a minute, and so does a test suite: what has been silent for longer is worth a look. */
const HUNG_FROM_MILLIS = 120_000

/** What is worth a look comes first, and what nobody can do anything about last. */
export const URGENCY: readonly OpenState[] = ['hung', 'waiting', 'running', 'owner-dead']

/** Those of the traces in which something is running, by their state; of one state those first that were begun first. */
export function openTurns(
  trees: Iterable<TraceTree>,
  now: number,
  isOwnerDead: (tree: TraceTree) => boolean = () => false,
): OpenTurn[] {
  const turns: OpenTurn[] = []
  for (const tree of trees) if (tree.isRunning) turns.push(openTurn(tree, now, isOwnerDead(tree)))
  return turns.sort((a, b) => URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state) || a.sinceAt - b.sinceAt)
}

/** The facts that decide the state of an open turn. */
export interface OpenFacts {
  readonly isOwnerDead: boolean
  readonly isWaitingForPerson: boolean
  /** Since the last start or end in the turn. */
  readonly silentMillis: number
}

/** The one rule for the state of an open turn, in the terminal and in the page. A turn that waits for the user is never hung. */
export function openState({ isOwnerDead, isWaitingForPerson, silentMillis }: OpenFacts): OpenState {
  if (isOwnerDead) return 'owner-dead'
  if (isWaitingForPerson) return 'waiting'
  return silentMillis >= HUNG_FROM_MILLIS ? 'hung' : 'running'
}

/**
 * Start of the oldest question to the user among the innermost open spans, epoch milliseconds; undefined if there is none. One
 * question is enough, whatever runs beside it: the user is the one who has to act.
 */
export function askedSince(innermost: Iterable<SpanNode>, namespace: string): number | undefined {
  let since: number | undefined
  for (const { span } of innermost) {
    if (isPersonWait(span, namespace)) since = Math.min(since ?? span.startAt, span.startAt)
  }
  return since
}

function openTurn(stored: TraceTree, now: number, isOwnerDead: boolean): OpenTurn {
  const tree = asOf(stored, now)
  const summary = summarize(tree)
  const innermost = innermostOpen(tree)
  const rows = treeRows(tree)
  const doing = rows.filter(({ step }) => innermost.has(step.node))
  const prompt = rows.find(({ facts }) => facts.kind === 'session')?.facts.hint ?? ''
  const sinceAt = openSpans(tree).reduce((first, { span }) => Math.min(first, span.startAt), tree.endAt)
  const isWaitingForPerson = askedSince(innermost, namespaceOfTree(tree)) !== undefined
  const state = openState({ isOwnerDead, isWaitingForPerson, silentMillis: summary.silentMillis })
  return { state, traceId: tree.traceId, summary, prompt, sinceAt, lastAt: tree.lastAt, doing }
}

function openSpans(tree: TraceTree): SpanNode[] {
  return Array.from(walkTree(tree), ({ node }) => node).filter(({ span }) => span.running === true)
}

/** What is running and has nothing below it that is: the others are waiting for it. */
export function innermostOpen(tree: TraceTree): ReadonlySet<SpanNode> {
  const innermost = new Set(openSpans(tree))
  const passed = new Set<SpanNode>()
  for (const { node, parent } of walkTree(tree)) {
    if (node.span.running !== true) continue
    for (let outer = parent; outer !== undefined && !passed.has(outer.node); outer = outer.parent) {
      passed.add(outer.node)
      innermost.delete(outer.node)
    }
  }
  return innermost
}

import type { DrawnKind, Segment } from './segments.ts'
import { drawnKind, namespaceOfTree, SpanAttributes } from './span-attributes.ts'
import { costOf, isRequest, type Tokens, tokensOf } from './span-facts.ts'
import { outcomeOf } from './span-outcome.ts'
import type { StoredSpan } from './stored-span.ts'
import { type SpanNode, type TraceTree, type TreeStep, walkTree } from './trace-forest.ts'

/** What is said about a trace as a whole. All text in it is printable. */
export interface TraceSummary {
  readonly agent: string
  readonly sessionId: string
  /** Ordinal of the turn in its session, from 1. */
  readonly turnNumber: number | undefined
  /** It is no turn, but what went on beside the turns of its session. */
  readonly isBackground: boolean
  readonly model: string
  readonly startAt: number
  readonly durationMillis: number
  /** Of all requests, as a backend adds them up that sums a trace. */
  readonly tokens: Tokens | undefined
  /** The parts of `tokens` that are not the agent's own requests: of sub-agents, and of its side calls. */
  readonly subagentTokens: number
  readonly auxiliaryTokens: number
  /** What the requests cost, as far as they say so. */
  readonly cost: KnownCost
  readonly outcome: Segment | undefined
  readonly spanCount: number
  readonly errorCount: number
  /** Spans that had not ended: there is more to come. */
  readonly runningCount: number
  /** How long nothing has started or ended while something was running. */
  readonly silentMillis: number
}

export interface KnownCost {
  /** US dollars. */
  readonly dollars: number
  /** Of so many requests; of none, nothing is known. */
  readonly paidCount: number
  /** Requests that used tokens and do not say what they cost: the sum is without them. */
  readonly unknownCount: number
}

export function summarize(tree: TraceTree): TraceSummary {
  const namespace = namespaceOfTree(tree)
  const main = mainRoot(tree)
  const isWhole = tree.roots.filter(root => root.elsewhere).length <= 1
  const attributes = main && new SpanAttributes(main.span, namespace)
  const kind = attributes && drawnKind(attributes)
  const { input, output, subagentTokens, auxiliaryTokens, ...costs } = addRequests(tree, namespace)
  const runningCount = count(tree, span => span.running === true)
  return {
    agent: attributes?.text('gen_ai.agent.name', '.host') ?? '',
    sessionId: attributes?.text('session.id', '.session.id', 'gen_ai.conversation.id') ?? '',
    turnNumber: isWhole ? attributes?.number('.turn.number') : undefined,
    isBackground: attributes?.text('.session.kind') === 'background',
    model: attributes?.text('gen_ai.request.model', 'llm.model_name') ?? '',
    startAt: tree.startAt,
    durationMillis: main === undefined || !isWhole ? tree.endAt - tree.startAt : main.span.endAt - main.span.startAt,
    tokens: input + output > 0 ? { input, output } : attributes && kind && tokensOf(kind, attributes),
    subagentTokens,
    auxiliaryTokens,
    cost: costs.paidCount > 0 ? costs : (costOfRoot(attributes) ?? costs),
    outcome: isWhole && attributes && kind ? outcomeOf(kind, attributes) : undefined,
    spanCount: tree.spanCount,
    errorCount: count(tree, span => span.status === 'error'),
    runningCount,
    silentMillis: runningCount === 0 ? 0 : tree.endAt - tree.lastAt,
  }
}

/** The root of the turn: one that stands where it belongs, rather than one whose parent is missing. */
export function mainRoot(tree: TraceTree): SpanNode | undefined {
  return tree.roots.find(root => !root.orphan) ?? tree.roots[0]
}

function count(tree: TraceTree, isCounted: (span: StoredSpan) => boolean): number {
  let found = 0
  for (const { node } of walkTree(tree)) if (isCounted(node.span)) found += 1
  return found
}

/** The requests alone are added up: ours say sums on outer spans, other producers repeat usage there. */
function addRequests(tree: TraceTree, namespace: string) {
  const sums = { input: 0, output: 0, subagentTokens: 0, auxiliaryTokens: 0, dollars: 0, paidCount: 0, unknownCount: 0 }
  const subagents = new Set<TreeStep>()
  for (const step of walkTree(tree)) {
    const attributes = new SpanAttributes(step.node.span, namespace)
    const kind = drawnKind(attributes)
    if (isSubagents(step, subagents, kind, attributes)) subagents.add(step)
    if (!isRequest(kind)) continue
    const tokens = tokensOf(kind, attributes)
    const cost = costOf(attributes)
    if (cost !== undefined) sums.paidCount += 1
    else if (tokens !== undefined) sums.unknownCount += 1
    sums.dollars += cost ?? 0
    if (tokens === undefined) continue
    const { input = 0, output = 0 } = tokens
    sums.input += input
    sums.output += output
    if (subagents.has(step)) sums.subagentTokens += input + output
    else if (kind === 'auxiliary') sums.auxiliaryTokens += input + output
  }
  return sums
}

/** Where no request says it, the sum that some producers say on the root. */
function costOfRoot(attributes: SpanAttributes | undefined): KnownCost | undefined {
  const dollars = attributes && costOf(attributes)
  return dollars === undefined ? undefined : { dollars, paidCount: 1, unknownCount: 0 }
}

/** A step is a sub-agent's when it is one, or when the step above it is, which the walk has come by before. */
function isSubagents(
  { parent }: TreeStep,
  subagents: ReadonlySet<TreeStep>,
  kind: DrawnKind,
  attributes: SpanAttributes,
): boolean {
  if (parent === undefined) return false
  return (
    subagents.has(parent) || kind === 'subagent' || (kind === 'session' && attributes.isTrue('.session.is_subagent'))
  )
}

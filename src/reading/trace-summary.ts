import type { TextSegment } from './segments.ts'
import { namespaceOfTree, SpanAttributes, walkSpans } from './span-attributes.ts'
import { costOf, isRequest, type Tokens, tokensOf } from './span-facts.ts'
import { outcomeOf } from './span-outcome.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

type SummaryText = 'agent' | 'sessionId' | 'model' | 'project' | 'branch'
type SummaryTime = 'startAt' | 'durationMillis' | 'silentMillis'
type SummaryCount = 'subagentTokens' | 'auxiliaryTokens' | 'spanCount' | 'errorCount' | 'runningCount'

/** `project`: the repository, or else the working directory. */
export interface TraceSummary
  extends Readonly<Record<SummaryText, string> & Record<SummaryTime | SummaryCount, number>> {
  readonly turnNumber: number | undefined
  readonly isBackground: boolean
  readonly tokens: Tokens | undefined
  readonly cost: KnownCost
  readonly outcome: TextSegment | undefined
}

export type KnownCost = Readonly<{ dollars: number; paidCount: number; unknownCount: number }>

export function sumCosts(costs: readonly KnownCost[]): KnownCost {
  const sum = { dollars: 0, paidCount: 0, unknownCount: 0 }
  for (const cost of costs)
    for (const name of ['dollars', 'paidCount', 'unknownCount'] as const) sum[name] += cost[name]
  return sum
}

export function summarize(tree: TraceTree): TraceSummary {
  const namespace = namespaceOfTree(tree)
  const main = mainRoot(tree)
  const isWhole = tree.roots.filter(root => root.elsewhere).length <= 1
  const attributes = main && new SpanAttributes(main.span, namespace)
  const rootDollars = attributes && costOf(attributes)
  const { input, output, subagentTokens, auxiliaryTokens, errorCount, runningCount, ...costs } = sumsOf(tree, namespace)
  return {
    agent: attributes?.text('gen_ai.agent.name', '.host') ?? '',
    sessionId: attributes?.text('session.id', '.session.id', 'gen_ai.conversation.id') ?? '',
    turnNumber: isWhole ? attributes?.number('.turn.number') : undefined,
    isBackground: attributes?.text('.session.kind') === 'background',
    model: attributes?.text('gen_ai.request.model', 'llm.model_name') ?? '',
    project: attributes?.text('vcs.repository.name', '.workspace.directory') ?? '',
    branch: attributes?.text('vcs.ref.head.name') ?? '',
    startAt: tree.startAt,
    durationMillis: main === undefined || !isWhole ? tree.endAt - tree.startAt : main.span.endAt - main.span.startAt,
    tokens: input + output > 0 ? { input, output } : attributes && tokensOf(attributes),
    subagentTokens,
    auxiliaryTokens,
    cost:
      costs.paidCount > 0 || rootDollars === undefined
        ? costs
        : { dollars: rootDollars, paidCount: 1, unknownCount: 0 },
    outcome: isWhole && attributes ? outcomeOf(attributes) : undefined,
    spanCount: tree.spanCount,
    errorCount,
    runningCount,
    silentMillis: runningCount === 0 ? 0 : tree.endAt - tree.lastAt,
  }
}

export function mainRoot(tree: TraceTree): TraceNode | undefined {
  return tree.roots.find(root => !root.orphan) ?? tree.roots[0]
}

/** Only the usage of requests is added up: our outer spans have sums, and other producers repeat usage there. */
function sumsOf(tree: TraceTree, namespace: string) {
  const tokenSums = { input: 0, output: 0, subagentTokens: 0, auxiliaryTokens: 0 }
  const sums = { ...tokenSums, dollars: 0, paidCount: 0, unknownCount: 0, errorCount: 0, runningCount: 0 }
  const subagents = new Set<TraceNode>()
  for (const { node, parent, attributes } of walkSpans(tree, namespace)) {
    const { span, kind } = attributes
    if (span.status === 'error') sums.errorCount += 1
    if (span.running === true) sums.runningCount += 1
    const isSubagent = kind === 'subagent' || (kind === 'session' && attributes.isTrue('.session.is_subagent'))
    if (parent !== undefined && (isSubagent || subagents.has(parent.node))) subagents.add(node)
    if (!isRequest(kind)) continue
    const tokens = tokensOf(attributes)
    const cost = costOf(attributes)
    if (cost !== undefined) sums.paidCount += 1
    else if (tokens !== undefined) sums.unknownCount += 1
    sums.dollars += cost ?? 0
    if (tokens === undefined) continue
    const { input = 0, output = 0 } = tokens
    sums.input += input
    sums.output += output
    if (subagents.has(node)) sums.subagentTokens += input + output
    else if (kind === 'auxiliary') sums.auxiliaryTokens += input + output
  }
  return sums
}

import { type CapturedContent, joined, type SafeText } from '../../content/safe-text.ts'
import type { AttributeList } from './attribute-list.ts'
import { roundedDollars } from './cost.ts'
import type { AttributeOptions } from './span-definition.ts'
import type { ContextFill } from './usage.ts'

/** Start and end of a wait, epoch milliseconds. */
export type WaitInterval = readonly [from: number, to: number]

export class TurnSigns {
  /** Spans with an error, and child agents that timed out. */
  errors = 0
  /** Actions that the user, or a guardian in the user's place, denied, and blocked tools. */
  denied = 0
  tool = false
  /** Waits for the user: in order, without overlaps. */
  waits: readonly WaitInterval[] = []
}

/** Limit of waits. A turn with more looks slower than it was, so it is kept rather than dropped. */
const MAX_WAITS = 256

/** Merges overlapping waits: two questions at once count once. */
export function addWait(signs: TurnSigns, from: number, to: number): void {
  if (!(to > from)) return
  const touching = signs.waits.filter(wait => wait[0] <= to && wait[1] >= from)
  const rest = signs.waits.filter(wait => wait[0] > to || wait[1] < from)
  if (touching.length === 0 && rest.length >= MAX_WAITS) return
  const first = Math.min(from, ...touching.map(([start]) => start))
  const last = Math.max(to, ...touching.map(([, end]) => end))
  signs.waits = [...rest, [first, last] as const].sort(([one], [other]) => one - other)
}

export function addSigns(to: TurnSigns, { errors, denied, tool, waits: waited }: TurnSigns): void {
  to.errors += errors
  to.denied += denied
  to.tool ||= tool
  for (const [from, until] of waited) addWait(to, from, until)
}

export interface TokenSum {
  input: number
  output: number
}

export interface CostSum {
  /** US dollars of the `known` requests. `unknown`: requests that used tokens and whose cost is not known. */
  dollars: number
  known: number
  unknown: number
}

export class TurnTotals {
  input: CapturedContent | undefined
  output: CapturedContent | undefined
  modelProvider: SafeText | undefined
  responseModel: SafeText | undefined
  lastErrorType: SafeText | undefined
  context: ContextFill | undefined
  readonly tools: SafeText[] = []
  readonly targets: SafeText[] = []
  readonly commands: SafeText[] = []
  readonly outcomes: SafeText[] = []
  readonly skills: SafeText[] = []
  toolCalls = 0
  toolErrors = 0
  apiCalls = 0
  apiErrors = 0
  retries = 0
  tokensInput = 0
  tokensOutput = 0
  tokensCacheRead = 0
  tokensCacheWrite = 0
  tokensReasoning = 0
  subagents = 0
  /** Children still running at the end of the turn: their later usage is not in its totals. */
  subagentsOpen = 0
  /**
   * Tokens of child agents at any depth, their side calls included; not in the turn's own counts. `auxiliaryTokens`: of the
   * turn's side calls; in neither of the two.
   */
  readonly subagentTokens: TokenSum = { input: 0, output: 0 }
  readonly auxiliaryTokens: TokenSum = { input: 0, output: 0 }
  /** Cost of everything used for the turn, child agents and side calls included. */
  readonly cost: CostSum = { dollars: 0, known: 0, unknown: 0 }
  approvals = 0
  approvalWaitMillis = 0
  readonly signs: TurnSigns = new TurnSigns()
}

/** All tokens used for the turn. A backend that adds up the requests of the trace gets the same totals. */
export function allTokens({ tokensInput, tokensOutput, subagentTokens, auxiliaryTokens }: TurnTotals): TokenSum {
  return {
    input: tokensInput + subagentTokens.input + auxiliaryTokens.input,
    output: tokensOutput + subagentTokens.output + auxiliaryTokens.output,
  }
}

export function addTokens(to: TokenSum, { input, output }: TokenSum): void {
  to.input += input
  to.output += output
}

export function addChild(to: TurnTotals, child: TurnTotals): void {
  addTokens(to.subagentTokens, allTokens(child))
  to.cost.dollars += child.cost.dollars
  to.cost.known += child.cost.known
  to.cost.unknown += child.cost.unknown
  addSigns(to.signs, child.signs)
}

/** The totals if all child agents ended now. A copy: the children are added when they end. */
export function withChildren(totals: TurnTotals, children: readonly TurnTotals[]): TurnTotals {
  const { subagentTokens, cost, signs } = totals
  const sums = { ...totals, subagentTokens: { ...subagentTokens }, cost: { ...cost }, signs: { ...signs } }
  for (const child of children) addChild(sums, child)
  return sums
}

/** Joined texts are truncated to this length, ellipsis included. */
const JOINED_LIMIT = 500

const sorted = (values: Iterable<SafeText>): SafeText[] => [...values].sort()
const some = (value: number): number | undefined => value || undefined
const totalOf = ({ input, output }: TokenSum): number => input + output

export function addSummary(attributes: AttributeList, totals: TurnTotals, options: AttributeOptions): void {
  const { facts } = options
  const all = allTokens(totals)
  attributes.set(facts.turnToolCount, some(totals.tools.length))
  attributes.set(facts.turnTools, joined(sorted(totals.tools), ',', JOINED_LIMIT))
  attributes.set(facts.turnToolCallCount, some(totals.toolCalls))
  attributes.set(facts.turnToolErrorCount, some(totals.toolErrors))
  attributes.set(facts.turnToolTargets, joined(totals.targets, '|', JOINED_LIMIT))
  attributes.set(facts.turnToolCommands, joined(totals.commands, '|', JOINED_LIMIT))
  attributes.set(facts.turnToolOutcomes, joined(sorted(totals.outcomes), ',', JOINED_LIMIT))
  attributes.set(facts.turnSkillCount, some(totals.skills.length))
  attributes.set(facts.turnSkills, joined(sorted(totals.skills), ',', JOINED_LIMIT))
  attributes.set(facts.turnApiCallCount, some(totals.apiCalls))
  attributes.set(facts.turnApiErrorCount, some(totals.apiErrors))
  attributes.set(facts.turnRetryCount, some(totals.retries))
  attributes.set(facts.turnTokensInput, some(totals.tokensInput))
  attributes.set(facts.turnTokensOutput, some(totals.tokensOutput))
  attributes.set(facts.turnTokensTotal, some(totals.tokensInput + totals.tokensOutput))
  attributes.set(facts.turnTokensCacheRead, some(totals.tokensCacheRead))
  attributes.set(facts.turnTokensCacheWrite, some(totals.tokensCacheWrite))
  attributes.set(facts.turnTokensReasoning, some(totals.tokensReasoning))
  attributes.set(facts.contextMaxTokens, totals.context?.length)
  attributes.set(facts.contextUsedRatio, totals.context?.used)
  attributes.set(facts.turnSubagentCount, some(totals.subagents))
  attributes.set(facts.turnSubagentOpenCount, some(totals.subagentsOpen))
  attributes.set(facts.turnSubagentTokensTotal, some(totalOf(totals.subagentTokens)))
  attributes.set(facts.turnAuxiliaryTokensTotal, some(totalOf(totals.auxiliaryTokens)))
  attributes.set(facts.turnAllTokensInput, some(all.input))
  attributes.set(facts.turnAllTokensOutput, some(all.output))
  attributes.set(facts.turnAllTokensTotal, some(totalOf(all)))
  addTurnCost(attributes, totals.cost, options)
  attributes.set(facts.turnApprovalCount, some(totals.approvals))
  attributes.set(facts.turnApprovalWaitMs, some(totals.approvalWaitMillis))
}

/** Unknown costs are counted beside an incomplete sum; without any known cost, only if prices are configured. */
function addTurnCost(attributes: AttributeList, { dollars, known, unknown }: CostSum, options: AttributeOptions): void {
  const { facts } = options
  if (known > 0) attributes.set(facts.turnCostTotal, roundedDollars(dollars))
  if (known > 0 || options.pricing !== undefined) attributes.set(facts.turnCostUnknownCount, some(unknown))
}

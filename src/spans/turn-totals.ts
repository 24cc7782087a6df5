import type { CapturedContent, SafeText } from '../content/capture.ts'
import type { ContextFill } from './context-fill.ts'

export interface TokenSum {
  input: number
  output: number
}

/** What a turn adds up to: the tracker folds records into it, the root's definition draws it. */
export interface TurnTotals {
  /** First user message and last answer. */
  input: CapturedContent | undefined
  output: CapturedContent | undefined
  /** What the turn's model requests reported last. */
  modelProvider: SafeText | undefined
  responseModel: SafeText | undefined
  lastErrorType: SafeText | undefined
  context: ContextFill | undefined
  /** Distinct, capped while they grow. */
  readonly tools: SafeText[]
  readonly targets: SafeText[]
  readonly commands: SafeText[]
  readonly outcomes: SafeText[]
  readonly skills: SafeText[]
  toolCalls: number
  toolErrors: number
  apiCalls: number
  apiErrors: number
  retries: number
  tokensInput: number
  tokensOutput: number
  tokensCacheRead: number
  tokensCacheWrite: number
  tokensReasoning: number
  subagents: number
  /** Those that are still at work when the turn ends: what they use from then on is not in its sums. */
  subagentsOpen: number
  /** Of child agents at any depth, their side calls included; apart from the turn's own. */
  readonly subagentTokens: TokenSum
  /** Of the turn's side calls; apart from both. */
  readonly auxiliaryTokens: TokenSum
  approvals: number
  approvalWaitMillis: number
}

export function emptyTotals(): TurnTotals {
  return {
    input: undefined,
    output: undefined,
    modelProvider: undefined,
    responseModel: undefined,
    lastErrorType: undefined,
    context: undefined,
    tools: [],
    targets: [],
    commands: [],
    outcomes: [],
    skills: [],
    toolCalls: 0,
    toolErrors: 0,
    apiCalls: 0,
    apiErrors: 0,
    retries: 0,
    tokensInput: 0,
    tokensOutput: 0,
    tokensCacheRead: 0,
    tokensCacheWrite: 0,
    tokensReasoning: 0,
    subagents: 0,
    subagentsOpen: 0,
    subagentTokens: { input: 0, output: 0 },
    auxiliaryTokens: { input: 0, output: 0 },
    approvals: 0,
    approvalWaitMillis: 0,
  }
}

/** Everything that was used for the turn: what a backend comes to that adds up the requests of its trace. */
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

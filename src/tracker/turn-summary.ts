import type { SafeText } from '../content/capture.ts'
import { numberOf } from '../contract/foreign.ts'
import type {
  ApiEnd,
  ApiError,
  ApprovalResponse,
  AuxiliaryEnd,
  SubagentStop,
  ToolEnd,
  ToolStart,
  TurnAnswer,
  TurnStart,
} from '../contract/index.ts'
import { apiErrorType } from './spans/api-facts.ts'
import { ESCALATED, isDenied } from './spans/approval.ts'
import { type Begun, requestCost } from './spans/cost.ts'
import { modelProvider } from './spans/model-provider.ts'
import { promptAttributes } from './spans/session.ts'
import { type KeptTool, skillOfEnded } from './spans/skill.ts'
import type { AttributeOptions, HookEvent } from './spans/span-definition.ts'
import { isFailedStop } from './spans/subagent.ts'
import { toolCommand, toolName, toolTarget } from './spans/tool.ts'
import { toolOutcomeOf } from './spans/tool-outcome.ts'
import { addWait } from './spans/turn-signs.ts'
import { addTokens, type TurnTotals } from './spans/turn-totals.ts'
import { contextFill, usageOf } from './spans/usage.ts'
import type { Turn } from './turn.ts'

/** Lists are capped while they grow: joined they are truncated to 500 characters anyway. */
const DISTINCT_LIMIT = 200

function addDistinct(list: SafeText[], value: SafeText | undefined): void {
  if (value !== undefined && list.length < DISTINCT_LIMIT && !list.includes(value)) list.push(value)
}

function toolStarted(totals: TurnTotals, fired: HookEvent<ToolStart>, draw: AttributeOptions): void {
  totals.toolCalls += 1
  const name = toolName(fired.payload, draw)
  addDistinct(totals.tools, name)
  if (draw.keep?.tools.has(name.toLowerCase())) totals.signs.tool = true
  addDistinct(totals.targets, toolTarget(fired, draw))
  addDistinct(totals.commands, toolCommand(fired, draw))
}

function toolEnded(totals: TurnTotals, fired: HookEvent<ToolEnd>, start: unknown, draw: AttributeOptions): void {
  const { outcome } = toolOutcomeOf(fired, draw)
  addDistinct(totals.outcomes, draw.capture.id(outcome))
  if (outcome === 'error') totals.toolErrors += 1
  if (outcome === 'blocked') totals.signs.denied += 1
  if (outcome !== 'completed') return
  addDistinct(totals.skills, draw.capture.id(skillOfEnded(start as KeptTool | undefined, fired.payload)?.name))
}

function apiEnded(totals: TurnTotals, fired: HookEvent<ApiEnd>, ended: FoldedEnd, draw: AttributeOptions): void {
  const provider = fired.payload.provider ?? (ended.start as ApiEnd | undefined)?.provider
  totals.modelProvider = draw.capture.id(modelProvider(provider)) ?? totals.modelProvider
  totals.responseModel = draw.capture.id(fired.payload.response_model) ?? totals.responseModel
  totals.context = contextFill(fired, draw) ?? totals.context
  addCost(totals, fired, ended, draw)
  const usage = usageOf(fired, draw)
  if (usage === undefined) return
  totals.tokensInput += usage.promptTokens
  totals.tokensOutput += usage.outputTokens
  totals.tokensCacheRead += usage.cacheReadTokens
  totals.tokensCacheWrite += usage.cacheWriteTokens
  totals.tokensReasoning += usage.reasoningTokens
}

function apiFailed(totals: TurnTotals, fired: HookEvent<ApiError>, draw: AttributeOptions): void {
  totals.apiErrors += 1
  if (fired.payload.retryable === true) totals.retries += 1
  totals.lastErrorType = apiErrorType(fired.payload, draw)
  totals.modelProvider = draw.capture.id(modelProvider(fired.payload.provider)) ?? totals.modelProvider
}

function addCost(totals: TurnTotals, fired: HookEvent<ApiEnd>, ended: FoldedEnd, draw: AttributeOptions): void {
  const cost = requestCost(fired, draw, ended as Begun)
  if (cost !== undefined) {
    totals.cost.dollars += cost.dollars
    totals.cost.known += 1
  } else if (usageOf(fired, draw) !== undefined) totals.cost.unknown += 1
}

function sideCallEnded(
  totals: TurnTotals,
  fired: HookEvent<AuxiliaryEnd>,
  ended: FoldedEnd,
  draw: AttributeOptions,
): void {
  addCost(totals, fired, ended, draw)
  const usage = usageOf(fired, draw)
  if (usage === undefined) return
  addTokens(totals.auxiliaryTokens, { input: usage.promptTokens, output: usage.outputTokens })
}

/** Hooks that show that a turn continues after a failed request. Side calls are missing: failed turns make them, too. */
const GOES_ON: ReadonlySet<string> = new Set([
  'pre_llm_call',
  'pre_api_request',
  'post_api_request',
  'pre_tool_call',
  'post_llm_call',
  'subagent_start',
  'pre_approval_request',
])

function areRetriesUsedUp({ retry_count, max_retries }: ApiError): boolean {
  const most = numberOf(max_retries)
  return most !== undefined && (numberOf(retry_count) ?? 0) + 1 >= most
}

function deadEndOf(payload: ApiError, at: number, draw: AttributeOptions): Turn['deadEnd'] {
  const isUsedUp = areRetriesUsedUp(payload)
  if (payload.retryable === true && !isUsedUp) return undefined
  return { type: apiErrorType(payload, draw), at, isReported: isUsedUp || payload.retryable === false }
}

/** Notes a permanent failure and the answer: some hosts report nothing of a turn after either of them. */
function noteStanding(turn: Turn, fired: HookEvent<unknown>, draw: AttributeOptions): void {
  const { hook, at } = fired
  if (hook === 'api_request_error') {
    if (at >= turn.activityAt) turn.deadEnd = deadEndOf(fired.payload as ApiError, at, draw)
    return
  }
  if (!GOES_ON.has(hook)) return
  if (turn.deadEnd !== undefined && at >= turn.deadEnd.at) turn.deadEnd = undefined
  if (hook === 'post_llm_call') turn.answeredAt = Math.max(at, turn.answeredAt ?? at)
  else if (turn.answeredAt !== undefined && at >= turn.answeredAt) turn.answeredAt = undefined
}

/** Adds a start to the totals of its turn. Content is captured only if the root is recorded. */
export function foldStart(turn: Turn, fired: HookEvent<unknown>, draw: AttributeOptions): void {
  if (fired.hook === 'pre_llm_call') addPrompt(turn, fired.payload as TurnStart, draw)
  addStart(turn.totals, fired, draw)
  noteStanding(turn, fired, draw)
}

/** Written on the root at once, so that the prompt of a running turn is visible. */
function addPrompt({ totals, root }: Turn, { user_message }: TurnStart, draw: AttributeOptions): void {
  if (totals.input !== undefined || root?.span.isRecording() !== true) return
  totals.input = draw.capture.content(user_message, 'llm_input')
  promptAttributes(totals.input, draw).writeTo(root.span)
}

function addStart(totals: TurnTotals, fired: HookEvent<unknown>, draw: AttributeOptions): void {
  switch (fired.hook) {
    case 'pre_api_request':
      totals.apiCalls += 1
      return
    case 'pre_tool_call':
      toolStarted(totals, fired as HookEvent<ToolStart>, draw)
      return
    case 'subagent_start':
      totals.subagents += 1
      return
    case 'pre_approval_request':
    case 'on_human_input_request':
      totals.approvals += 1
  }
}

function approvalEnded(
  totals: TurnTotals,
  { payload, at }: HookEvent<ApprovalResponse>,
  ended: FoldedEnd,
  draw: AttributeOptions,
): void {
  if (isDenied(payload, ended.start)) totals.signs.denied += 1
  if (payload.choice === ESCALATED) {
    totals.approvals -= 1
    return
  }
  const millis = ended.durationMillis ?? 0
  totals.approvalWaitMillis += millis
  if (draw.keep !== undefined) addWait(totals.signs, at - millis, at)
}

export interface FoldedEnd {
  readonly startAt: number
  readonly start: unknown
  readonly startSeen: boolean
  readonly durationMillis: number | undefined
}

/** Adds an end to the totals of its turn. `startSeen` is false for a span that is created afterwards. */
export function foldEnd(turn: Turn, fired: HookEvent<unknown>, draw: AttributeOptions, ended: FoldedEnd): void {
  addEnd(turn.totals, fired, draw, ended)
  noteStanding(turn, fired, draw)
}

function addEnd(totals: TurnTotals, fired: HookEvent<unknown>, draw: AttributeOptions, ended: FoldedEnd): void {
  switch (fired.hook) {
    case 'post_llm_call':
      totals.output = draw.capture.content((fired.payload as TurnAnswer).assistant_response, 'llm_output')
      return
    case 'post_api_request':
      if (!ended.startSeen) totals.apiCalls += 1
      apiEnded(totals, fired as HookEvent<ApiEnd>, ended, draw)
      return
    case 'api_request_error':
      if (!ended.startSeen) totals.apiCalls += 1
      apiFailed(totals, fired as HookEvent<ApiError>, draw)
      return
    case 'post_auxiliary_call':
      sideCallEnded(totals, fired as HookEvent<AuxiliaryEnd>, ended, draw)
      return
    case 'post_tool_call':
      if (!ended.startSeen) toolStarted(totals, fired as HookEvent<ToolStart>, draw)
      toolEnded(totals, fired as HookEvent<ToolEnd>, ended.start, draw)
      return
    case 'subagent_stop':
      if (!ended.startSeen && isFailedStop(fired.payload as SubagentStop)) totals.signs.errors += 1
      return
    case 'post_approval_response':
    case 'on_human_input_resolved':
      // An escalated approval and the user's answer are one question, and the wait for the user is what counts.
      approvalEnded(totals, fired as HookEvent<ApprovalResponse>, ended, draw)
  }
}

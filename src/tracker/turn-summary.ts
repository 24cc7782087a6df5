import type { SafeText } from '../content/safe-text.ts'
import { numberOf } from '../contract/foreign.ts'
import type {
  ApiEnd,
  ApiError,
  ApiStart,
  ApprovalResponse,
  SubagentStop,
  ToolEnd,
  ToolStart,
  TurnAnswer,
  TurnStart,
} from '../contract/index.ts'
import { apiErrorType } from './spans/api.ts'
import { ESCALATED, isDenied } from './spans/approval.ts'
import { requestCost } from './spans/cost.ts'
import { modelProvider } from './spans/request-parameters.ts'
import { promptAttributes } from './spans/session.ts'
import type { KeptTool } from './spans/skill.ts'
import type { AttributeOptions, EndedSpan, HookEvent } from './spans/span-definition.ts'
import { isFailedStop } from './spans/subagent.ts'
import { toolCommand, toolEndOf, toolName, toolTarget } from './spans/tool.ts'
import { addTokens, addWait, type TurnTotals } from './spans/turn-totals.ts'
import { contextFill, usageOf } from './spans/usage.ts'
import type { TrackedTurn } from './turn.ts'

type Ended = EndedSpan<unknown>

/** Lists are capped while they grow: joined they are truncated to 500 characters anyway. */
const DISTINCT_LIMIT = 200

function addDistinct(list: SafeText[], value: SafeText | undefined): void {
  if (value !== undefined && list.length < DISTINCT_LIMIT && !list.includes(value)) list.push(value)
}

function toolStarted(totals: TurnTotals, event: HookEvent<ToolStart>, options: AttributeOptions): void {
  totals.toolCalls += 1
  const name = toolName(event.payload, options)
  addDistinct(totals.tools, name)
  if (options.keep?.tools.has(name.toLowerCase())) totals.signs.tool = true
  addDistinct(totals.targets, toolTarget(event, options))
  addDistinct(totals.commands, toolCommand(event, options))
}

function toolEnded(totals: TurnTotals, event: HookEvent<ToolEnd>, start: unknown, options: AttributeOptions): void {
  const { outcome, skill } = toolEndOf(event, options, start as KeptTool | undefined)
  addDistinct(totals.outcomes, options.capture.id(outcome))
  if (outcome === 'error') totals.toolErrors += 1
  if (outcome === 'blocked') totals.signs.denied += 1
  if (outcome === 'completed' && skill !== undefined) addDistinct(totals.skills, options.capture.id(skill.name))
}

function apiEnded(totals: TurnTotals, event: HookEvent<ApiEnd>, ended: Ended, options: AttributeOptions): void {
  const provider = event.payload.provider ?? (ended.start as ApiEnd | undefined)?.provider
  totals.modelProvider = options.capture.id(modelProvider(provider)) ?? totals.modelProvider
  totals.responseModel = options.capture.id(event.payload.response_model) ?? totals.responseModel
  totals.context = contextFill(event) ?? totals.context
  addCost(totals, event, ended, options)
  const usage = usageOf(event)
  if (usage === undefined) return
  totals.tokensInput += usage.promptTokens
  totals.tokensOutput += usage.outputTokens
  totals.tokensCacheRead += usage.cacheReadTokens
  totals.tokensCacheWrite += usage.cacheWriteTokens
  totals.tokensReasoning += usage.reasoningTokens
}

function apiFailed(totals: TurnTotals, event: HookEvent<ApiError>, options: AttributeOptions): void {
  totals.apiErrors += 1
  if (event.payload.retryable === true) totals.retries += 1
  totals.lastErrorType = apiErrorType(event.payload, options)
  totals.modelProvider = options.capture.id(modelProvider(event.payload.provider)) ?? totals.modelProvider
}

function addCost(totals: TurnTotals, event: HookEvent<ApiEnd>, ended: Ended, options: AttributeOptions): void {
  const cost = requestCost(event, options, ended as EndedSpan<ApiStart>)
  if (cost !== undefined) {
    totals.cost.dollars += cost.dollars
    totals.cost.known += 1
  } else if (usageOf(event) !== undefined) totals.cost.unknown += 1
}

function sideCallEnded(totals: TurnTotals, event: HookEvent<ApiEnd>, ended: Ended, options: AttributeOptions): void {
  addCost(totals, event, ended, options)
  const usage = usageOf(event)
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

function deadEndOf(payload: ApiError, at: number): TrackedTurn['deadEnd'] {
  const most = numberOf(payload.max_retries)
  const isUsedUp = most !== undefined && (numberOf(payload.retry_count) ?? 0) + 1 >= most
  if (payload.retryable === true && !isUsedUp) return undefined
  return { at, isReported: isUsedUp || payload.retryable === false }
}

/** Notes a permanent failure and the answer: some hosts report nothing of a turn after either of them. */
function noteStanding(turn: TrackedTurn, { hook, at, payload }: HookEvent<unknown>): void {
  if (hook === 'api_request_error') {
    if (at >= turn.activityAt) turn.deadEnd = deadEndOf(payload as ApiError, at)
    return
  }
  if (!GOES_ON.has(hook)) return
  if (turn.deadEnd !== undefined && at >= turn.deadEnd.at) turn.deadEnd = undefined
  if (hook === 'post_llm_call') turn.answeredAt = Math.max(at, turn.answeredAt ?? at)
  else if (turn.answeredAt !== undefined && at >= turn.answeredAt) turn.answeredAt = undefined
}

/** Adds a start to the totals of its turn. Content is captured only if the root is recorded. */
export function foldStart(turn: TrackedTurn, event: HookEvent<unknown>, options: AttributeOptions): void {
  const { totals } = turn
  switch (event.hook) {
    case 'pre_llm_call':
      addPrompt(turn, event.payload as TurnStart, options)
      break
    case 'pre_api_request':
      totals.apiCalls += 1
      break
    case 'pre_tool_call':
      toolStarted(totals, event as HookEvent<ToolStart>, options)
      break
    case 'subagent_start':
      totals.subagents += 1
      break
    case 'pre_approval_request':
    case 'on_human_input_request':
      totals.approvals += 1
  }
  noteStanding(turn, event)
}

/** Written on the root at once, so that the prompt of a running turn is visible. */
function addPrompt({ totals, root }: TrackedTurn, { user_message }: TurnStart, options: AttributeOptions): void {
  if (totals.input !== undefined || root?.span.isRecording() !== true) return
  totals.input = options.capture.content(user_message, 'llm_input')
  promptAttributes(totals.input, options).writeTo(root.span)
}

function approvalEnded(
  totals: TurnTotals,
  { payload, at }: HookEvent<ApprovalResponse>,
  ended: Ended,
  options: AttributeOptions,
): void {
  if (isDenied(payload, ended.start)) totals.signs.denied += 1
  if (payload.choice === ESCALATED) {
    totals.approvals -= 1
    return
  }
  const millis = ended.durationMillis ?? 0
  totals.approvalWaitMillis += millis
  if (options.keep !== undefined) addWait(totals.signs, at - millis, at)
}

/** Adds an end to the totals of its turn. `startSeen` is false for a span that is created afterwards. */
export function foldEnd(turn: TrackedTurn, event: HookEvent<unknown>, options: AttributeOptions, ended: Ended): void {
  const { totals } = turn
  switch (event.hook) {
    case 'post_llm_call':
      totals.output = options.capture.content((event.payload as TurnAnswer).assistant_response, 'llm_output')
      break
    case 'post_api_request':
      if (!ended.startSeen) totals.apiCalls += 1
      apiEnded(totals, event as HookEvent<ApiEnd>, ended, options)
      break
    case 'api_request_error':
      if (!ended.startSeen) totals.apiCalls += 1
      apiFailed(totals, event as HookEvent<ApiError>, options)
      break
    case 'post_auxiliary_call':
      sideCallEnded(totals, event as HookEvent<ApiEnd>, ended, options)
      break
    case 'post_tool_call':
      if (!ended.startSeen) toolStarted(totals, event as HookEvent<ToolStart>, options)
      toolEnded(totals, event as HookEvent<ToolEnd>, ended.start, options)
      break
    case 'subagent_stop':
      if (!ended.startSeen && isFailedStop(event.payload as SubagentStop)) totals.signs.errors += 1
      break
    case 'post_approval_response':
    case 'on_human_input_resolved':
      // An escalated approval and the user's answer are one question, and the wait for the user is what counts.
      approvalEnded(totals, event as HookEvent<ApprovalResponse>, ended, options)
  }
  noteStanding(turn, event)
}

import { peek } from '../../contract/foreign.ts'
import type { ModelRequest } from '../base/requests.ts'
import { addUsage, type UsageCounts } from '../base/usage.ts'
import {
  answerMessage,
  answerOf,
  countOf,
  historyOf,
  ItemConversation,
  isModelKnown,
  type ModelAnswer,
  promptOf,
  requestOf,
} from './messages.ts'
import { failureOf, type RawSpan } from './raw-span.ts'
import { type AgentSpanNode, type AgentTurn, flushToolHooks, type OpenModelRequest, openLoop } from './state.ts'

/**
 * A span of the Responses API names its model only at its end, and a span cannot be renamed. Its start is emitted then,
 * with its own time.
 */
export function startRequest(turn: AgentTurn, node: AgentSpanNode, { type, data, startAt }: RawSpan): void {
  emitUncountedAnswer(turn, undefined)
  flushToolHooks(turn)
  const asked = { request: turn.requests.nextRequest(startAt, { keepsId: false }), turn, type, data }
  node.request = asked
  turn.openRequests.add(asked)
  if (isModelKnown(type, data)) emitRequestStart(asked, data)
}

export function endRequest(asked: OpenModelRequest, span: RawSpan, loop: AgentSpanNode | undefined): void {
  const { turn, request } = asked
  emitRequestStart(asked, span.data)
  turn.openRequests.delete(asked)
  const failure = failureOf(span.error)
  if (failure !== undefined) {
    turn.requests.failures += 1
    const { type, message, statusCode } = failure
    request.emitFailure(span.endAt, { status_code: statusCode, error: { type, message } })
    return
  }
  turn.requests.failures = 0
  const answer = answerOf(asked.type, span.data)
  turn.requestedCalls = answer.calls
  turn.answer = answer.calls.length > 0 ? undefined : answer.text
  turn.tokens = addUsage(turn.tokens, answer.tokens)
  if (answer.tokens === undefined && loop?.kind === 'turn' && !turn.isOver) {
    turn.uncounted = { request, at: span.endAt, answer }
  } else emitAnswer(request, span.endAt, answer, answer.tokens)
}

/**
 * Without traced content, the host reports tokens only for the loop around a request. The loop has one request, and
 * agents in its tools, whose share is known.
 */
export function emitUncountedAnswer(turn: AgentTurn, tokens: UsageCounts | undefined): void {
  const { uncounted: held } = turn
  if (held === undefined) return
  turn.uncounted = undefined
  turn.tokens = addUsage(turn.tokens, tokens)
  emitAnswer(held.request, held.at, held.answer, tokens)
}

export function emitOpenRequests(turn: AgentTurn): void {
  for (const asked of turn.openRequests) emitRequestStart(asked, asked.data)
  turn.openRequests.clear()
}

function emitRequestStart({ request, turn, type }: OpenModelRequest, data: unknown): void {
  if (request.isStartEmitted) return
  const asked = requestOf(type, data)
  turn.model = asked.model ?? turn.model
  turn.prompt ??= promptOf(asked.input)
  turn.history ??= historyOf(asked.input)
  openLoop(turn)
  request.emitStart({
    model: turn.model,
    provider: asked.provider,
    base_url: asked.baseUrl,
    api_mode: asked.apiMode,
    message_count: countOf(asked.input),
    tool_count: asked.toolCount,
    temperature: peek(asked.parameters, 'temperature') ?? undefined,
    top_p: peek(asked.parameters, 'top_p') ?? undefined,
    frequency_penalty: peek(asked.parameters, 'frequency_penalty') ?? undefined,
    presence_penalty: peek(asked.parameters, 'presence_penalty') ?? undefined,
    max_tokens: asked.maxTokens,
    reasoning_effort: asked.reasoningEffort,
    system_prompt: asked.instructions,
    request: asked.input === undefined ? undefined : new ItemConversation(asked.input),
  })
}

function emitAnswer(request: ModelRequest, at: number, answer: ModelAnswer, usage: UsageCounts | undefined): void {
  const message = answerMessage(answer)
  request.emitAnswer(at, {
    finish_reason: answer.finishReason,
    response_model: answer.model,
    response_id: answer.id,
    assistant_tool_call_count: answer.calls.length,
    response: message === undefined ? undefined : { assistant_message: message },
    usage,
  })
}

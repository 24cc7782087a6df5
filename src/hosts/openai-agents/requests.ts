import { peek } from '../../contract/foreign.ts'
import { failureOf } from './failure.ts'
import { Conversation, historyOf, promptOf } from './messages.ts'
import { type Answer, answerOf, countOf, isModelKnown, messageOf, requestOf } from './model-spans.ts'
import type { RawSpan } from './raw-span.ts'
import type { Records } from './records.ts'
import type { Request, SpanNode, Turn } from './state.ts'
import { sum, type Tokens } from './usage.ts'

/** What opens the loop of a turn, once it is known what the user asked. */
export type OpenLoop = (turn: Turn) => void

/** Model spans → requests. */
export class Requests {
  readonly #records: Records
  readonly #openLoop: OpenLoop

  constructor(records: Records, openLoop: OpenLoop) {
    this.#records = records
    this.#openLoop = openLoop
  }

  /**
   * A span of the Responses API names its model only when it ends, and the name of a span cannot be made up afterwards:
   * it is told then, with its own times.
   */
  start(turn: Turn, node: SpanNode, span: RawSpan): void {
    this.settle(turn, undefined)
    turn.requests += 1
    const request: Request = {
      id: `${turn.id}:${turn.requests}`,
      turn,
      ordinal: turn.requests,
      attempt: turn.failures,
      type: span.type,
      data: span.data,
      startAt: span.startAt,
      isTold: false,
    }
    node.request = request
    turn.openRequests.add(request)
    turn.lastRequest = request.id
    if (isModelKnown(span.type, span.data)) this.tell(request, span.data)
  }

  end(request: Request, span: RawSpan, loop: SpanNode | undefined): void {
    const { turn } = request
    this.tell(request, span.data)
    turn.openRequests.delete(request)
    const failure = failureOf(span.error)
    if (failure !== undefined) {
      turn.failures += 1
      this.#records.add('api_request_error', span.endAt, {
        session_id: turn.sessionId,
        turn_id: turn.id,
        api_request_id: request.id,
        retry_count: request.attempt,
        status_code: failure.statusCode,
        error: { type: failure.type, message: failure.message },
      })
      return
    }
    turn.failures = 0
    const answer = answerOf(request.type, span.data)
    turn.asked = answer.calls
    turn.answer = answer.calls.length > 0 ? undefined : answer.text
    turn.tokens = sum(turn.tokens, answer.tokens)
    if (answer.tokens === undefined && loop?.kind === 'turn' && !turn.isOver)
      turn.held = { request, at: span.endAt, answer }
    else this.#answered(request, span.endAt, answer, answer.tokens)
  }

  /**
   * A host that may not trace content tells no tokens with the request either, only with the loop around it. That is
   * one request and the agents in its tools, whose share is known.
   */
  settle(turn: Turn, tokens: Tokens | undefined): void {
    const { held } = turn
    if (held === undefined) return
    turn.held = undefined
    turn.tokens = sum(turn.tokens, tokens)
    this.#answered(held.request, held.at, held.answer, tokens)
  }

  /** Requests whose end was never told are shown all the same. */
  tellOpen(turn: Turn): void {
    for (const request of turn.openRequests) this.tell(request, request.data)
    turn.openRequests.clear()
  }

  tell(request: Request, data: unknown): void {
    if (request.isTold) return
    request.isTold = true
    const { turn } = request
    const asked = requestOf(request.type, data)
    turn.model = asked.model ?? turn.model
    turn.prompt ??= promptOf(asked.input)
    turn.history ??= historyOf(asked.input)
    this.#openLoop(turn)
    this.#records.add('pre_api_request', request.startAt, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      api_request_id: request.id,
      api_call_count: request.ordinal,
      retry_count: request.attempt,
      model: asked.model ?? turn.model,
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
      request: asked.input === undefined ? undefined : new Conversation(asked.input),
    })
  }

  #answered({ turn, id, attempt }: Request, at: number, answer: Answer, usage: Tokens | undefined): void {
    const message = messageOf(answer)
    this.#records.add('post_api_request', at, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      api_request_id: id,
      retry_count: attempt,
      finish_reason: answer.finishReason,
      response_model: answer.model,
      response_id: answer.id,
      assistant_tool_call_count: answer.calls.length,
      response: message === undefined ? undefined : { assistant_message: message },
      usage,
    })
  }
}

import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { Moment } from '../base/event-machine.ts'
import { plainText, toolCallsOf } from '../base/messages.ts'
import { type ModelRequest, Requests } from '../base/requests.ts'
import type { Outcome } from '../base/turn.ts'
import { isAborted, modelOf } from './context.ts'
import { failureOf, piUsage } from './messages.ts'

/** The model requests of one turn. Pi numbers none of them: its own index starts anew with every retry. */
export class PiRequests extends Requests {
  #open: ModelRequest | undefined
  /** When what is sent was told; undefined where only the answer was seen. Epoch milliseconds, as all here. */
  #sentAt: number | undefined
  /** When the head of the answer came. */
  #headAt: number | undefined
  #headersAt: number | undefined

  /** `before_provider_headers`: a request is being made, but what is in it is not known yet. */
  headers(at: number): void {
    this.#headersAt = at
  }

  /** What was prepared was not a request of this loop. */
  forgetHeaders(): void {
    this.#headersAt = undefined
  }

  /** `before_provider_request`: what is sent. */
  start(moment: Moment): void {
    const { at } = moment
    const isRepeat = this.#open !== undefined && (this.#sentAt ?? at) === at
    if (!isRepeat) this.#started(moment, at)
  }

  /** The head of an answer. Of a request by a model client that an extension has brought, it may be the first sign. */
  answerBegan(moment: Moment): void {
    // Where the run was stopped between two requests, Pi makes up an answer to the one that it did not send.
    if (this.#open === undefined && isAborted(moment.context)) return
    if (this.#open === undefined) this.#started(moment, undefined)
    this.#headAt ??= moment.at
  }

  contentCame(at: number): void {
    if (this.#open !== undefined) this.#open.firstChunkAt ??= at
  }

  /** `message_end` of the assistant. */
  end(moment: Moment, message: unknown): void {
    const open = this.#open
    this.#headersAt = undefined
    if (open === undefined) return
    this.#open = undefined
    const end = answerEnd(moment, message)
    this.failures = end === 'failed' ? this.failures + 1 : 0
    open.firstChunkAt ??= this.#headAt
    if (end === 'completed') answered(open, moment, message)
    else failed(open, moment, message, end)
  }

  #started({ at, context, data }: Moment, sentAt: number | undefined): void {
    const request = this.next(this.#headersAt ?? at, { isRetry: this.failures > 0 && this.#open === undefined })
    this.#headersAt = undefined
    this.#headAt = undefined
    this.#sentAt = sentAt
    this.#open = request
    const { model, provider, api_mode, base_url } = modelOf(context)
    // The body as the model provider gets it; its shape is that provider's.
    const body = sentAt === undefined ? undefined : peek(data, 'payload')
    request.tellStart({
      model,
      provider,
      api_mode,
      base_url,
      request: sentAt === undefined ? undefined : { body },
      message_count: countOf(peek(body, 'messages') ?? peek(body, 'input') ?? peek(body, 'contents')),
      tool_count: countOf(peek(body, 'tools')),
      reasoning_effort: textOf(peek(body, 'reasoning_effort')) ?? textOf(peek(peek(body, 'reasoning'), 'effort')),
    })
  }
}

function answered(request: ModelRequest, { at, context }: Moment, message: unknown): void {
  const content = peek(message, 'content')
  const text = plainText(content)
  const calls = toolCallsOf(content)
  request.tellAnswer(at, {
    model: peek(message, 'model') ?? modelOf(context).model,
    provider: peek(message, 'provider') ?? modelOf(context).provider,
    finish_reason: peek(message, 'rawStopReason') ?? peek(message, 'stopReason'),
    response_model: peek(message, 'responseModel'),
    response_id: peek(message, 'responseId'),
    usage: piUsage(peek(message, 'usage')),
    cost: peek(peek(message, 'usage'), 'cost'),
    response: {
      assistant_message: { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) },
    },
    assistant_content_chars: text?.length ?? 0,
    assistant_tool_call_count: calls.length,
  })
}

function failed(request: ModelRequest, { at, context }: Moment, message: unknown, end: Outcome): void {
  const text = peek(message, 'errorMessage')
  const isStopped = end === 'interrupted'
  const { statusCode, retryable } = failureOf(text)
  request.tellFailure(at, {
    model: peek(message, 'model') ?? modelOf(context).model,
    provider: peek(message, 'provider') ?? modelOf(context).provider,
    status_code: isStopped ? undefined : statusCode,
    retryable: isStopped ? false : retryable,
    error: { type: isStopped ? 'aborted' : (statusCode?.toString() ?? 'provider_error'), message: textOf(text) },
  })
}

/** How an answer of the model ended. A person who stops the run makes it fail in many ways. */
export function answerEnd({ context }: Moment, message: unknown): Outcome {
  const reason = peek(message, 'stopReason')
  if (reason === 'aborted' || (reason === 'error' && isAborted(context))) return 'interrupted'
  return reason === 'error' ? 'failed' : 'completed'
}

function countOf(list: unknown): unknown {
  return isArray(list) ? peek(list, 'length') : undefined
}

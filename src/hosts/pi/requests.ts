import { isArray, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { failureOf, plainText, toolCallsOf, usageOf } from './messages.ts'
import { isAborted, type Moment, modelOf, type TurnIds } from './moment.ts'

interface OpenRequest {
  readonly id: string
  readonly retry: number
  /** When what is sent was told; undefined where only the answer was seen. Epoch milliseconds, as all here. */
  readonly sentAt: number | undefined
  /** When the answer began: its first content, else its head. */
  contentAt: number | undefined
  headAt: number | undefined
}

/** How the last answer of the model ended. */
export type AnswerEnd = 'completed' | 'failed' | 'interrupted'

/** The model requests of one turn. Pi numbers none of them: its own index starts anew with every retry. */
export class PiRequests {
  readonly #ids: TurnIds
  #calls = 0
  #retries = 0
  #headersAt: number | undefined
  #open: OpenRequest | undefined
  #lastFailed = false

  constructor(ids: TurnIds) {
    this.#ids = ids
  }

  /** The request that asked for the tools which run now. */
  get lastId(): string | undefined {
    return this.#calls === 0 ? undefined : this.#idOf(this.#calls)
  }

  /** `before_provider_headers`: a request is being made, but what is in it is not known yet. */
  headers(at: number): void {
    this.#headersAt = at
  }

  /** What was prepared was not a request of this loop. */
  forgetHeaders(): void {
    this.#headersAt = undefined
  }

  /** `before_provider_request`: what is sent. */
  start(moment: Moment): HookRecord[] {
    const { at } = moment
    const isRepeat = this.#open !== undefined && (this.#open.sentAt ?? at) === at
    return isRepeat ? [] : [this.#started(this.#headersAt ?? at, moment, at)]
  }

  /** The head of an answer. Of a request by a model client that an extension has brought, it may be the first sign. */
  answerBegan(moment: Moment): HookRecord[] {
    // Where the run was stopped between two requests, Pi makes up an answer to the one that it did not send.
    if (this.#open === undefined && isAborted(moment.context)) return []
    const records = this.#open === undefined ? [this.#started(this.#headersAt ?? moment.at, moment, undefined)] : []
    if (this.#open !== undefined) this.#open.headAt ??= moment.at
    return records
  }

  contentCame(at: number): void {
    if (this.#open !== undefined) this.#open.contentAt ??= at
  }

  /** `message_end` of the assistant. */
  end(moment: Moment, message: unknown): HookRecord[] {
    const open = this.#open
    this.#headersAt = undefined
    if (open === undefined) return []
    this.#open = undefined
    const end = answerEnd(moment, message)
    this.#lastFailed = end === 'failed'
    return [end === 'completed' ? this.#succeeded(open, moment, message) : this.#failed(open, moment, message, end)]
  }

  #idOf(call: number): string {
    return `${this.#ids.turn_id}:${call}`
  }

  /** After a failure the same request is made again; else it is the next one. */
  #started(at: number, { context, data }: Moment, sentAt: number | undefined): HookRecord {
    const isRetry = this.#lastFailed && this.#open === undefined
    if (!isRetry) this.#calls += 1
    this.#retries = isRetry ? this.#retries + 1 : 0
    this.#headersAt = undefined
    const id = this.#idOf(this.#calls)
    this.#open = { id, retry: this.#retries, sentAt, contentAt: undefined, headAt: undefined }
    return hookRecord('pre_api_request', at, {
      ...this.#identity(this.#open),
      ...modelOf(context),
      api_call_count: this.#calls,
      ...(sentAt === undefined ? {} : requestFacts(peek(data, 'payload'))),
    })
  }

  #identity({ id, retry }: OpenRequest): TurnIds & { api_request_id: string; retry_count: number } {
    return { ...this.#ids, api_request_id: id, retry_count: retry }
  }

  #succeeded(open: OpenRequest, { at, context }: Moment, message: unknown): HookRecord {
    const content = peek(message, 'content')
    const text = plainText(content)
    const calls = toolCallsOf(content)
    const firstChunkAt = open.contentAt ?? open.headAt
    return hookRecord('post_api_request', at, {
      ...this.#identity(open),
      model: peek(message, 'model') ?? modelOf(context).model,
      provider: peek(message, 'provider') ?? modelOf(context).provider,
      first_chunk_at: firstChunkAt === undefined ? undefined : firstChunkAt / 1000,
      finish_reason: peek(message, 'rawStopReason') ?? peek(message, 'stopReason'),
      response_model: peek(message, 'responseModel'),
      response_id: peek(message, 'responseId'),
      usage: usageOf(peek(message, 'usage')),
      cost: peek(peek(message, 'usage'), 'cost'),
      response: {
        assistant_message: {
          role: 'assistant',
          content: text,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      },
      assistant_content_chars: text?.length ?? 0,
      assistant_tool_call_count: calls.length,
    })
  }

  #failed(open: OpenRequest, { at, context }: Moment, message: unknown, end: AnswerEnd): HookRecord {
    const text = peek(message, 'errorMessage')
    const isAborted = end === 'interrupted'
    const { statusCode, retryable } = failureOf(text)
    return hookRecord('api_request_error', at, {
      ...this.#identity(open),
      model: peek(message, 'model') ?? modelOf(context).model,
      provider: peek(message, 'provider') ?? modelOf(context).provider,
      status_code: isAborted ? undefined : statusCode,
      retryable: isAborted ? false : retryable,
      error: { type: isAborted ? 'aborted' : (statusCode?.toString() ?? 'provider_error'), message: textOf(text) },
    })
  }
}

/** A person who stops the run makes it fail in many ways. */
export function answerEnd({ context }: Moment, message: unknown): AnswerEnd {
  const reason = peek(message, 'stopReason')
  if (reason === 'aborted' || (reason === 'error' && isAborted(context))) return 'interrupted'
  return reason === 'error' ? 'failed' : 'completed'
}

/** The body as the model provider gets it; its shape is that provider's. */
function requestFacts(body: unknown): Readonly<Record<string, unknown>> {
  const messages = peek(body, 'messages') ?? peek(body, 'input') ?? peek(body, 'contents')
  return {
    request: { body },
    message_count: countOf(messages),
    tool_count: countOf(peek(body, 'tools')),
    reasoning_effort: textOf(peek(body, 'reasoning_effort')) ?? textOf(peek(peek(body, 'reasoning'), 'effort')),
  }
}

function countOf(list: unknown): unknown {
  return isArray(list) ? peek(list, 'length') : undefined
}

import { booleanOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { plainText, toolCallsOf } from '../base/messages.ts'
import type { RecordScope, TurnResult } from '../base/records.ts'
import { ModelRequest, RequestCounter } from '../base/requests.ts'
import { failureOf, isAborted, modelOf, piUsage } from './messages.ts'

/** The model requests of one turn. Pi has no usable request number: its own index restarts with every retry. */
export class PiRequests extends RequestCounter {
  #open: ModelRequest | undefined
  /** When the request was sent, epoch milliseconds; undefined if only the answer was received. */
  #sentAt: number | undefined
  #headAt: number | undefined
  #headersAt: number | undefined

  prepareHeaders(at: number): void {
    this.#headersAt = at
  }

  forgetHeaders(): void {
    this.#headersAt = undefined
  }

  sendRequest(moment: TimedEvent): void {
    const { at } = moment
    const isRepeat = this.#open !== undefined && (this.#sentAt ?? at) === at
    if (!isRepeat) this.#startRequest(moment, at)
  }

  /** Handles the head of an answer. It may be the first event of a request if an extension provides the model client. */
  beginAnswer(moment: TimedEvent): void {
    // If the run is stopped between two requests, Pi emits an answer to a request that it never sent.
    if (this.#open === undefined && isAborted(moment.context)) return
    if (this.#open === undefined) this.#startRequest(moment, undefined)
    this.#headAt ??= moment.at
  }

  receiveContent(at: number): void {
    if (this.#open !== undefined) this.#open.firstChunkAt ??= at
  }

  endRequest(moment: TimedEvent, message: unknown): void {
    const open = this.#open
    this.#headersAt = undefined
    if (open === undefined) return
    this.#open = undefined
    const end = answerEnd(moment, message)
    this.failures = end === 'failed' ? this.failures + 1 : 0
    open.firstChunkAt ??= this.#headAt
    if (end === 'completed') emitAnswer(open, moment, message)
    else emitFailure(open, moment, message, end)
  }

  #startRequest({ at, context, data }: TimedEvent, sentAt: number | undefined): void {
    const request = this.nextRequest(this.#headersAt ?? at, { isRetry: this.failures > 0 && this.#open === undefined })
    this.#headersAt = undefined
    this.#headAt = undefined
    this.#sentAt = sentAt
    this.#open = request
    const { model, provider, api_mode, base_url } = modelOf(context)
    const body = sentAt === undefined ? undefined : peek(data, 'payload')
    request.emitStart({
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

function emitAnswer(request: ModelRequest, { at, context }: TimedEvent, message: unknown): void {
  const content = peek(message, 'content')
  const text = plainText(content)
  const calls = toolCallsOf(content)
  request.emitAnswer(at, {
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

function emitFailure(request: ModelRequest, { at, context }: TimedEvent, message: unknown, end: TurnResult): void {
  const text = peek(message, 'errorMessage')
  const isStopped = end === 'interrupted'
  const { statusCode, retryable } = failureOf(text)
  request.emitFailure(at, {
    model: peek(message, 'model') ?? modelOf(context).model,
    provider: peek(message, 'provider') ?? modelOf(context).provider,
    status_code: isStopped ? undefined : statusCode,
    retryable: isStopped ? false : retryable,
    error: { type: isStopped ? 'aborted' : (statusCode?.toString() ?? 'provider_error'), message: textOf(text) },
  })
}

/** The outcome of an answer. A run that the user stops can fail in many ways. */
export function answerEnd({ context }: TimedEvent, message: unknown): TurnResult {
  const reason = peek(message, 'stopReason')
  if (reason === 'aborted' || (reason === 'error' && isAborted(context))) return 'interrupted'
  return reason === 'error' ? 'failed' : 'completed'
}

function countOf(list: unknown): unknown {
  return isArray(list) ? peek(list, 'length') : undefined
}

/**
 * A compaction of the conversation, by a separate model request. Pi reports its beginning and result, and neither the input nor
 * the model.
 */
export class PiCompaction {
  readonly #request: ModelRequest

  constructor(scope: RecordScope, startedAt: number) {
    const id = `${scope.sessionId}:compaction:${startedAt}`
    this.#request = new ModelRequest(scope, startedAt, { id, task: 'compression' })
  }

  /** Emits the start of the request. Headers prove that Pi makes one, and no extension does the compaction instead. */
  emitRequestStart({ context }: TimedEvent): void {
    this.#request.emitStart(modelOf(context), 'inferred')
  }

  /** Handles `session_compact`. Hosts before 0.80 have no header event, so only this event shows that a request was made. */
  endCompaction(moment: TimedEvent): void {
    const { at, context, data } = moment
    const entry = peek(data, 'compactionEntry')
    if (booleanOf(peek(data, 'fromExtension')) !== true) this.emitRequestStart(moment)
    if (!this.#request.isStartEmitted) return
    const usage = peek(entry, 'usage')
    const content = textOf(peek(entry, 'summary'))
    const response = content === undefined ? undefined : { message: { role: 'assistant', content } }
    const facts = { ...modelOf(context), usage: piUsage(usage), cost: peek(usage, 'cost'), response }
    this.#request.emitAnswer(at, facts, 'inferred')
  }

  failCompaction({ at, context, data }: TimedEvent): void {
    if (!this.#request.isStartEmitted) return
    const message = textOf(peek(data, 'errorMessage'))
    const isAborted = booleanOf(peek(data, 'aborted')) === true
    const type = isAborted ? 'aborted' : (failureOf(message).statusCode?.toString() ?? 'compaction_failed')
    this.#request.emitFailure(at, { ...modelOf(context), error_type: type, error: { type, message } }, 'inferred')
  }
}

import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { ToolCallPart } from '../base/messages.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest, RequestCounter } from '../base/requests.ts'
import { usageOf } from '../base/usage.ts'

export interface StepAnswer {
  readonly text: string | undefined
  readonly toolCalls: readonly ToolCallPart[]
}

/** The model requests of a turn. opencode has no request ids: each `chat.params` is a request, or a retry. */
export class StepRequests extends RequestCounter {
  #open: ModelRequest | undefined
  /** The message that the open request produces, and the time of its last part. */
  #messageId: string | undefined
  #lastAt: number | undefined
  #lastMessageId: string | undefined

  get hasFailed(): boolean {
    return this.#open === undefined && this.failures > 0
  }

  get isMain(): boolean {
    return this.#open !== undefined && this.#open.task === undefined
  }

  idFor(messageId: string | undefined): string | undefined {
    return (this.#lastMessageId ?? messageId) === messageId ? this.lastId : undefined
  }

  /** Handles `chat.params`. If a request is open, this repeats it: opencode never runs two at a time. */
  startRequest({ at, data, output }: TimedEvent, messageId: string | undefined): boolean {
    if (this.#open !== undefined) return false
    const isRetry = this.hasFailed && this.#lastMessageId === messageId
    const task = agentOf(data) === 'compaction' ? 'compression' : undefined
    const request = this.nextRequest(at, { isRetry, task })
    this.#open = request
    this.#messageId = messageId
    this.#lastMessageId = messageId
    this.#lastAt = undefined
    request.emitStart(requestFacts(data, output))
    return true
  }

  receiveOutput(at: number, messageId: string | undefined): void {
    if (this.#open === undefined) return
    this.#messageId ??= messageId
    this.#lastMessageId ??= messageId
    this.#open.firstChunkAt ??= at
    this.#lastAt = at
  }

  /** Ends the request of a step. Its tools have run by then, so the request ended with the model's last output. */
  endRequest(at: number, messageId: string | undefined, reason: unknown, step: unknown, answer: StepAnswer): void {
    if ((this.#messageId ?? messageId) !== messageId) return
    const { text, toolCalls } = answer
    this.#closeRequest()?.emitAnswer(at, {
      ended_at: (this.#lastAt ?? at) / 1000,
      finish_reason: textOf(reason),
      usage: stepUsage(peek(step, 'tokens')),
      cost: peek(step, 'cost'),
      response: { message: { role: 'assistant', content: text, tool_calls: toolCalls } },
      assistant_content_chars: text?.length,
      assistant_tool_call_count: toolCalls.length,
    })
  }

  isOf(messageId: string): boolean {
    return this.#open === undefined || (this.#messageId ?? messageId) === messageId
  }

  endUnreported(at: number): void {
    const open = this.#closeRequest()
    if (open === undefined) return
    open.firstChunkAt = undefined
    open.emitAnswer(at, { ended_at: (this.#lastAt ?? at) / 1000 }, 'inferred')
  }

  failRequest(at: number, { type, message, statusCode }: OpencodeFailure, willRetry: boolean): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.failures += 1
    const retryable = willRetry ? true : undefined
    open.emitFailure(at, { status_code: statusCode, retryable, error: { type, message } })
  }

  #closeRequest(): ModelRequest | undefined {
    const open = this.#open
    this.#open = undefined
    if (open !== undefined) this.failures = 0
    return open
  }
}

/** opencode's `input` excludes the cache, and its `output` excludes reasoning. */
function stepUsage(tokens: unknown): ReturnType<typeof usageOf> {
  const cache = peek(tokens, 'cache')
  const [input, output, reasoning] = [peek(tokens, 'input'), peek(tokens, 'output'), peek(tokens, 'reasoning')]
  const counts = { input, output, reasoning, cacheRead: peek(cache, 'read'), cacheWrite: peek(cache, 'write') }
  return usageOf(counts, { cacheIsOutside: true, reasoningIsOutside: true })
}

/** The name of the requesting agent, in `chat.params` of all known versions. */
export function agentOf(data: unknown): string | undefined {
  const agent = peek(data, 'agent')
  return textOf(agent) ?? textOf(peek(agent, 'name'))
}

function requestFacts(data: unknown, output: unknown): Readonly<Record<string, unknown>> {
  const model = peek(data, 'model')
  const options = peek(output, 'options')
  return {
    model: peek(model, 'id'),
    provider: peek(model, 'providerID') ?? idOf(peek(peek(data, 'provider'), 'id')),
    base_url:
      textOf(peek(peek(peek(data, 'provider'), 'options'), 'baseURL')) ?? textOf(peek(peek(model, 'api'), 'url')),
    max_tokens: numberOf(peek(output, 'maxOutputTokens')),
    temperature: numberOf(peek(output, 'temperature')),
    top_p: numberOf(peek(output, 'topP')),
    top_k: numberOf(peek(output, 'topK')),
    reasoning_effort: textOf(peek(options, 'reasoningEffort')),
    stream: true,
  }
}

/**
 * The auxiliary request for a session's title. opencode does not report its end, only the new title. The request is therefore
 * emitted when the title arrives, possibly after the turn. If no title arrives, the request failed or was abandoned.
 */
export class Title {
  readonly #records: Records
  readonly #isTurn: (messageId: string) => boolean
  #last: string | undefined
  #emitRequest: (() => ModelRequest) | undefined

  /** @param isTurn returns true if the message has become a turn; otherwise the request is emitted without a turn */
  constructor(records: Records, isTurn: (messageId: string) => boolean) {
    this.#records = records
    this.#isTurn = isTurn
  }

  startRequest({ at, data, output }: TimedEvent, sessionId: string, turnId: string | undefined): void {
    const turn = turnId ?? idOf(peek(peek(data, 'message'), 'id'))
    if (turn === undefined || this.#emitRequest !== undefined) return
    const facts = requestFacts(data, output)
    this.#emitRequest = () => {
      const scope = new RecordScope(this.#records, sessionId, this.#isTurn(turn) ? turn : undefined)
      const request = new ModelRequest(scope, at, { id: `${turn}:title`, task: 'title' })
      request.emitStart(facts)
      this.#emitRequest = undefined
      return request
    }
  }

  /** Handles `session.created` and `session.updated`, which are emitted for many reasons. */
  readTitle(at: number, info: unknown): void {
    const title = textOf(peek(info, 'title'))
    const isNew = this.#last !== undefined && title !== undefined && title !== this.#last
    this.#last = title ?? this.#last
    if (isNew) this.#emitRequest?.().emitAnswer(at, {})
  }

  abandonRequest(at: number): void {
    const error = { type: 'no_title', message: 'no title came of it; opencode does not tell why' }
    this.#emitRequest?.().emitFailure(at, { error })
  }
}

/**
 * An `error` of a message or of `session.error`: `{name, data: {message, statusCode?, isRetryable?}}`. `isAbort`: the user
 * stopped the run, which is not an error.
 */
export interface OpencodeFailure {
  readonly type: string
  readonly message: string | undefined
  readonly statusCode: number | undefined
  readonly isAbort: boolean
}

const ABORTED = 'MessageAbortedError'
const UNNAMED = 'UnknownError'

export function failureOf(error: unknown): OpencodeFailure | undefined {
  if (error === undefined || error === null) return undefined
  const name = textOf(peek(error, 'name')) ?? UNNAMED
  const data = peek(error, 'data')
  const isAbort = name === ABORTED
  return {
    type: isAbort ? 'aborted' : name,
    message: textOf(peek(data, 'message')) ?? textOf(peek(error, 'message')) ?? textOf(error),
    statusCode: numberOf(peek(data, 'statusCode')),
    isAbort,
  }
}

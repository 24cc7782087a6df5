import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'

/** Spans of the SDK's run loop are `task` and `turn` on the live object, and `custom` in its JSON. */
function ownTypeOf(data: unknown): { type: string; data: unknown } {
  const type = textOf(peek(data, 'type')) ?? 'unknown'
  const inner = type === 'custom' ? peek(data, 'data') : undefined
  const own = textOf(peek(inner, 'sdk_span_type'))
  return own === undefined ? { type, data } : { type: own, data: inner }
}

function epochMillis(iso: unknown): number | undefined {
  const millis = typeof iso === 'string' ? Date.parse(iso) : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}

/** Parses times lazily and once: it costs as much as everything else, and an end needs only one of them. */
export class RawSpan {
  readonly id: string
  readonly traceId: string
  /** `task`, `agent`, `turn`, `response`, `generation`, `function`, `handoff`, `guardrail`, `custom`, … */
  readonly type: string
  /** The host's own object, which it fills until the span ends. */
  readonly data: unknown
  readonly #event: TimedEvent
  #startAt: number | undefined

  constructor(id: string, traceId: string, event: TimedEvent) {
    const { type, data } = ownTypeOf(peek(event.data, 'span_data'))
    this.id = id
    this.traceId = traceId
    this.type = type
    this.data = data
    this.#event = event
  }

  get parentId(): string | undefined {
    return idOf(peek(this.#event.data, 'parent_id'))
  }

  get startAt(): number {
    this.#startAt ??= epochMillis(peek(this.#event.data, 'started_at')) ?? this.#event.at
    return this.#startAt
  }

  get endAt(): number {
    return epochMillis(peek(this.#event.data, 'ended_at')) ?? this.#event.at
  }

  get error(): unknown {
    return peek(this.#event.data, 'error') ?? undefined
  }
}

export function readSpan(event: TimedEvent): RawSpan | undefined {
  const id = idOf(peek(event.data, 'id'))
  const traceId = idOf(peek(event.data, 'trace_id'))
  return id === undefined || traceId === undefined ? undefined : new RawSpan(id, traceId, event)
}

export interface SpanFailure {
  readonly type: string | undefined
  readonly message: string
  readonly statusCode: number | undefined
}

const CLASS_NAME_LIMIT = 80

/** The OpenAI client's classes by HTTP status: the host reports only the message, which begins with the status. */
const CLASS_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequestError'],
  [401, 'AuthenticationError'],
  [403, 'PermissionDeniedError'],
  [404, 'NotFoundError'],
  [409, 'ConflictError'],
  [422, 'UnprocessableEntityError'],
  [429, 'RateLimitError'],
])

const CLASS_OF_MESSAGE: ReadonlyMap<string, string> = new Map([
  ['Connection error.', 'APIConnectionError'],
  ['Request timed out.', 'APIConnectionTimeoutError'],
  ['Request was aborted.', 'APIUserAbortError'],
])

/** `TypeError: x` -> `TypeError` and `x`. Text without a class name is all message. */
function split(text: string): { type: string | undefined; message: string } {
  const colon = text.indexOf(': ')
  const name = colon > 0 && colon <= CLASS_NAME_LIMIT ? text.slice(0, colon) : ''
  const isClass = name !== '' && !name.includes(' ')
  return isClass ? { type: name, message: text.slice(colon + 2) } : { type: undefined, message: text }
}

function leadingStatus(message: string): number | undefined {
  if (message.length > 3 && message[3] !== ' ') return undefined
  const status = Number(message.slice(0, 3))
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

function classOfStatus(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  return CLASS_OF_STATUS.get(status) ?? (status >= 500 ? 'InternalServerError' : undefined)
}

/** The message is often a generic heading, with the exception in the span's data. */
export function failureOf(error: unknown): SpanFailure | undefined {
  if (error === undefined || error === null) return undefined
  const heading = textOf(peek(error, 'message')) ?? textOf(error) ?? 'failed'
  const { type, message } = split(textOf(peek(peek(error, 'data'), 'error')) ?? heading)
  const statusCode = leadingStatus(message)
  const known = CLASS_OF_MESSAGE.get(message) ?? classOfStatus(statusCode)
  return { type: type === undefined || type === 'Error' ? (known ?? type) : type, message, statusCode }
}

const GUARDRAIL = 'GuardrailTripwireTriggered'

export function exitOf(failure: SpanFailure, modelFailed: boolean): { isStopped: boolean; reason: string } {
  const { type = '' } = failure
  if (type.endsWith(GUARDRAIL)) return { isStopped: true, reason: 'guardrail' }
  if (type === 'AbortError' || type === 'APIUserAbortError') return { isStopped: true, reason: 'aborted' }
  if (type === 'MaxTurnsExceededError') return { isStopped: false, reason: 'max_turns' }
  if (modelFailed) return { isStopped: false, reason: 'model_error' }
  if (type === 'ToolCallError') return { isStopped: false, reason: 'tool_error' }
  return { isStopped: false, reason: type === '' || type === 'Error' ? 'error' : type }
}

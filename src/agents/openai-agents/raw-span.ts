import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'

export interface RawSpan {
  readonly id: string
  readonly traceId: string
  readonly parentId: string | undefined
  /** `task`, `agent`, `turn`, `response`, `generation`, `function`, `handoff`, `guardrail`, `custom`, … */
  readonly type: string
  /** The host's own object, which it fills until the span ends. */
  readonly data: unknown
  readonly startAt: number
  readonly endAt: number
  readonly error: unknown
}

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
class EventSpan implements RawSpan {
  readonly id: string
  readonly traceId: string
  readonly type: string
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
  return id === undefined || traceId === undefined ? undefined : new EventSpan(id, traceId, event)
}

import { type Attributes, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace, type Severity } from '../semconv/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { ToldEvent } from '../spans/span-definition.ts'

/** One log event, as it is sent. */
export interface LogEvent {
  readonly name: string
  readonly severity: Severity
  /** Epoch milliseconds. */
  readonly at: number
  /** What it is about. */
  readonly span?: Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'>
  readonly attributes: Attributes
}

export type TakeLog = (event: LogEvent) => void

/** Makes log events of what definitions tell. */
export class LogEvents {
  readonly #take: TakeLog
  readonly #namespace: string
  readonly #isMuted: () => boolean

  constructor(take: TakeLog, namespace: string, isMuted: () => boolean) {
    this.#take = take
    this.#namespace = namespace
    this.#isMuted = isMuted
  }

  /** @param identity what each span of the turn says */
  tell({ event, attributes }: ToldEvent, at: number, span: SpanContext, identity?: AttributeList): void {
    if (this.#isMuted()) return
    const row = LOG_EVENT[event]
    const name = resolveNamespace(row.name, this.#namespace)
    const all = new AttributeList().addAll(identity).putAll(attributes).toAttributes()
    this.#take({
      name,
      severity: row.severity,
      at,
      ...(isSpanContextValid(span) ? { span } : {}),
      attributes: { [LOG_ATTRIBUTE.eventName]: name, ...all },
    })
  }
}

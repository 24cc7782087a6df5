import { type Attributes, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import type { SafeText } from '../content/capture.ts'
import { peek } from '../contract/foreign.ts'
import { GENERAL, LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace, SEVERITY, type Severity } from '../semconv/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { type Complain, readAttributes } from '../spans/belongings.ts'
import type { Draw, ToldEvent } from '../spans/span-definition.ts'
import { plausibleAt } from './incoming.ts'
import type { NamedSpan } from './traceparent.ts'

/** One log event, or a line of the host's own, as it is sent: what `pipeline/log-record.ts` takes, which core does not know. */
export interface LogEvent {
  /** Absent = a line. */
  readonly name?: string
  /** Of a line. */
  readonly body?: SafeText
  readonly severity: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL'
  /** Epoch milliseconds. */
  readonly at: number
  /** What it is about. */
  readonly span?: Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'>
  readonly attributes: Attributes
}

/** What a host says beside a line of its log. */
export interface LogAbout {
  /** Default: `INFO` */
  readonly severity?: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL' | undefined
  /** Epoch milliseconds; default: now. */
  readonly at?: number | undefined
  /** Of your own: a flat map of text, numbers and booleans; masked and cut. */
  readonly attributes?: Readonly<Record<string, string | number | boolean | null | undefined>> | undefined
  /** What was thrown: its type and its message are written, not its stack, which has paths in it. */
  readonly error?: unknown
  /** W3C: the span that it stands beside, where that is not one of an open turn */
  readonly traceparent?: string | undefined
}

/** A line as a host handed it in: anything. */
export interface HostLine {
  readonly message: unknown
  readonly about: unknown
}

export type TakeLog = (event: LogEvent) => void

interface LogOptions {
  readonly log?: TakeLog | undefined
  readonly namespace: string
}

/** Makes log events of what definitions tell, and lines of what a host says itself. */
export class LogEvents {
  readonly #take: TakeLog
  readonly #namespace: string
  readonly #isMuted: () => boolean
  readonly #complain: Complain

  constructor({ log, namespace }: LogOptions, isMuted: () => boolean, complain: Complain) {
    this.#take = log ?? (() => undefined)
    this.#namespace = namespace
    this.#isMuted = isMuted
    this.#complain = complain
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

  line({ message, about }: HostLine, beside: NamedSpan | undefined, now: number, draw: Draw): void {
    if (this.#isMuted()) return
    const severity = peek(about, 'severity')
    const body = draw.capture.content(message, 'tool_output')?.text
    const error = peek(about, 'error')
    const attributes = new AttributeList()
      .addAll(beside?.turn?.identity)
      .set(GENERAL.exceptionType, draw.capture.id(peek(error, 'type') ?? peek(error, 'name')))
      .set(GENERAL.exceptionMessage, draw.capture.errorText(peek(error, 'message')))
    const own = readAttributes('log', peek(about, 'attributes'), draw, this.#complain)
    for (const [name, value] of own) attributes.set(name, value)
    this.#take({
      ...(body === undefined ? {} : { body }),
      severity: isSeverity(severity) ? severity : 'INFO',
      at: plausibleAt(peek(about, 'at')) ?? now,
      ...(beside === undefined ? {} : { span: beside.context }),
      attributes: attributes.toAttributes(),
    })
  }
}

function isSeverity(value: unknown): value is Severity {
  return typeof value === 'string' && Object.hasOwn(SEVERITY, value)
}

import { type Attributes, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import type { SafeText } from '../content/safe-text.ts'
import { peek, plausibleAt } from '../contract/foreign.ts'
import type { Severity } from '../contract/semconv/index.ts'
import { GENERAL, LOG_ATTRIBUTE, LOG_EVENT, resolveNamespace, SEVERITY } from '../contract/semconv/index.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AttributeOptions, SpanLogEvent } from './spans/span-definition.ts'
import { readAttributes } from './spans/turn-metadata.ts'
import type { NamedSpan } from './traceparent.ts'

/** A log event or a line of the host's log: the input of `pipeline/log-record.ts`, which core does not import. */
export interface LogRecordInput {
  readonly name?: string
  readonly body?: SafeText
  readonly severity: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL'
  readonly at: number
  readonly span?: Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'>
  readonly attributes: Attributes
}

/** Options of a host's log line. */
export interface LogAbout {
  /** Default: `INFO` */
  readonly severity?: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL' | undefined
  /** Epoch milliseconds; default: now. */
  readonly at?: number | undefined
  /** Custom attributes: a flat map of text, numbers and booleans; masked and truncated. */
  readonly attributes?: Readonly<Record<string, string | number | boolean | null | undefined>> | undefined
  /** The thrown error. Its type and message are written; its stack is not, because it contains paths. */
  readonly error?: unknown
  /** W3C: the span that the line belongs to, if it is not one of an open turn */
  readonly traceparent?: string | undefined
}

export interface HostLine {
  readonly message: unknown
  readonly about: unknown
}

export type EmitLog = (event: LogRecordInput) => void

interface LogOptions {
  readonly log?: EmitLog | undefined
  readonly namespace: string
  /** Returns true while records are read again, whose events have been sent. */
  readonly isReadAgain?: (() => boolean) | undefined
}

export class LogEvents {
  readonly #options: LogOptions

  constructor(options: LogOptions) {
    this.#options = options
  }

  emitSpanEvent({ event, attributes }: SpanLogEvent, at: number, span: SpanContext, identity?: AttributeList): void {
    if (this.#options.isReadAgain?.()) return
    const row = LOG_EVENT[event]
    const name = resolveNamespace(row.name, this.#options.namespace)
    const all = new AttributeList().addAll(identity).putAll(attributes).toAttributes()
    this.#options.log?.({
      name,
      severity: row.severity,
      at,
      ...(isSpanContextValid(span) ? { span } : {}),
      attributes: { [LOG_ATTRIBUTE.eventName]: name, ...all },
    })
  }

  emitHostLine(line: HostLine, beside: NamedSpan | undefined, now: number, options: AttributeOptions): void {
    if (this.#options.isReadAgain?.()) return
    const { message, about } = line
    const { id, content, errorText } = options.capture
    const severity = peek(about, 'severity')
    const body = content(message, 'tool_output')?.text
    const error = peek(about, 'error')
    const attributes = new AttributeList()
      .addAll(beside?.turn?.identity)
      .setNamed(GENERAL.exceptionType, id(peek(error, 'type') ?? peek(error, 'name')))
      .setNamed(GENERAL.exceptionMessage, errorText(peek(error, 'message')))
    const own = readAttributes('log', peek(about, 'attributes'), options)
    for (const [name, value] of own) attributes.setNamed(name, value)
    this.#options.log?.({
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

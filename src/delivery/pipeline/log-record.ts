import type { Attributes } from '@opentelemetry/api'
import { SEVERITY } from '../../contract/semconv/index.ts'
import { attributesJson, stringJson } from '../trace-log/index.ts'

/** An event worth searching for or alerting on, or a log line of the agent. */
export interface LogEvent {
  /** One of few fixed names, without ids. Absent for a log line. */
  readonly name?: string
  /** Text of a log line: masked and cut like content on spans */
  readonly body?: string
  /** `ERROR`: something went wrong; `WARN`: it may matter; `INFO`: a decision was made */
  readonly severity: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL'
  /** Epoch milliseconds. */
  readonly at: number
  /** The related span. */
  readonly span?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** Masked and cut, as on spans */
  readonly attributes: Attributes
}

export function recordJson({ name, body, severity, at, span, attributes }: LogEvent, observedAt: number): string {
  const event = name === undefined ? '' : `,"eventName":${stringJson(name)}`
  const text = body === undefined ? '' : `,"body":{"stringValue":${stringJson(body)}}`
  const about =
    span === undefined ? '' : `,"traceId":"${span.traceId}","spanId":"${span.spanId}","flags":${span.traceFlags}`
  return (
    `{"timeUnixNano":"${nanos(at)}","observedTimeUnixNano":"${nanos(observedAt)}"` +
    `,"severityNumber":${SEVERITY[severity]},"severityText":"${severity}"${event}${text}` +
    `,"attributes":${attributesJson(attributes)}${about}}`
  )
}

/** The JSON before the records of a request. */
export function requestHead(resource: Attributes, scope: string, version: string): string {
  return (
    `{"resourceLogs":[{"resource":{"attributes":${attributesJson(resource)}},"scopeLogs":[{"scope":` +
    `{"name":${stringJson(scope)},"version":${stringJson(version)}},"logRecords":[`
  )
}

function nanos(millis: number): string {
  return String(BigInt(Math.max(0, Math.trunc(millis * 1000))) * 1000n)
}

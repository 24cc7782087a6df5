import type { Attributes } from '@opentelemetry/api'
import { SEVERITY } from '../semconv/index.ts'
import { attributesJson, stringJson } from '../trace-log/index.ts'

/** Something that happened, for who looks for it or is to be told of it; or a line of the agent's own. */
export interface LogEvent {
  /** Few there are: no ids in it. Absent = it is a line. */
  readonly name?: string
  /** Of a line: masked and cut, as content on spans */
  readonly body?: string
  /** `ERROR`: something went wrong; `WARN`: it may matter; `INFO`: somebody decided */
  readonly severity: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'FATAL'
  /** Epoch milliseconds. */
  readonly at: number
  /** What it is about. */
  readonly span?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** Masked and cut, as on spans */
  readonly attributes: Attributes
}

/** A `LogRecord` of OTLP/JSON. */
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

/** What stands before the records of a request. */
export function requestHead(resource: Attributes, scope: string, version: string): string {
  return (
    `{"resourceLogs":[{"resource":{"attributes":${attributesJson(resource)}},"scopeLogs":[{"scope":` +
    `{"name":${stringJson(scope)},"version":${stringJson(version)}},"logRecords":[`
  )
}

function nanos(millis: number): string {
  return String(BigInt(Math.max(0, Math.trunc(millis * 1000))) * 1000n)
}

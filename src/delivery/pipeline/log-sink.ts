import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer'
import { SEVERITY } from '../../contract/semconv/index.ts'
import type { OtlpProtocol } from '../backends/backend-config.ts'
import { attributesJson, nanosText, type PlainResource, stringJson, UNSERIALISABLE } from '../trace-log/index.ts'
import type { ExportResult, Transport } from './delivery.ts'
import { exportResult } from './otlp-sinks.ts'
import { transformer } from './sdk.ts'

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

export interface QueuedLogEvent extends LogEvent {
  readonly observedAt: number
}

/** Log events are JSON, whatever the protocol of the spans. Only gRPC has no JSON. */
export class OtlpLogSink {
  readonly #transport: Transport
  readonly #isJson: boolean
  readonly #origin: LogOrigin

  constructor(protocol: OtlpProtocol, transport: Transport, resource: PlainResource, version: string) {
    this.#isJson = protocol !== 'grpc'
    this.#transport = transport
    this.#origin = { resource, instrumentationScope: { name: 'hookspan', version } }
  }

  async send(events: readonly QueuedLogEvent[], signal: AbortSignal): Promise<ExportResult> {
    try {
      return exportResult(await this.#transport.deliver([this.#serialize(events)], signal), events.length, this.#isJson)
    } catch {
      return { lost: events.length, failure: UNSERIALISABLE }
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  #serialize(events: readonly QueuedLogEvent[]): Uint8Array {
    if (this.#isJson) return Buffer.from(requestJson(events, this.#origin))
    const records = events.map(event => ({ ...recordOf(event), ...this.#origin }))
    return transformer().ProtobufLogsSerializer.serializeRequest(records) as Uint8Array
  }
}

type LogRecord = Parameters<(typeof ProtobufLogsSerializer)['serializeRequest']>[0][number]
type LogOrigin = Pick<LogRecord, 'resource' | 'instrumentationScope'>

function recordOf(event: QueuedLogEvent): Omit<LogRecord, keyof LogOrigin> {
  const { name, body, severity, at, span, attributes, observedAt } = event
  return {
    hrTime: hrTimeOf(at),
    hrTimeObserved: hrTimeOf(observedAt),
    severityNumber: SEVERITY[severity],
    severityText: severity,
    ...(name === undefined ? {} : { eventName: name }),
    body,
    attributes,
    droppedAttributesCount: 0,
    ...(span && { spanContext: span }),
  }
}

function requestJson(events: readonly QueuedLogEvent[], { resource, instrumentationScope }: LogOrigin): string {
  const { name, version = '' } = instrumentationScope
  return (
    `{"resourceLogs":[{"resource":{"attributes":${attributesJson(resource.attributes)}},"scopeLogs":[{"scope":` +
    `{"name":${stringJson(name)},"version":${stringJson(version)}},"logRecords":[${events.map(recordJson).join(',')}]}]}]}`
  )
}

function recordJson({ name, body, severity, at, span, attributes, observedAt }: QueuedLogEvent): string {
  const event = name === undefined ? '' : `,"eventName":${stringJson(name)}`
  const text = body === undefined ? '' : `,"body":{"stringValue":${stringJson(body)}}`
  const about =
    span === undefined ? '' : `,"traceId":"${span.traceId}","spanId":"${span.spanId}","flags":${span.traceFlags}`
  return (
    `{"timeUnixNano":"${nanosText(hrTimeOf(at))}","observedTimeUnixNano":"${nanosText(hrTimeOf(observedAt))}"` +
    `,"severityNumber":${SEVERITY[severity]},"severityText":"${severity}"${event}${text}` +
    `,"attributes":${attributesJson(attributes)}${about}}`
  )
}

function hrTimeOf(millis: number): HrTime {
  const micros = Math.max(0, Math.trunc(millis * 1000))
  return [Math.floor(micros / 1e6), (micros % 1e6) * 1000]
}

import type { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer'
import { PlainResource, readAttributes } from '../trace-log/index.ts'
import { transformer } from './sdk.ts'

type LogRecord = Parameters<(typeof ProtobufLogsSerializer)['serializeRequest']>[0][number]

/** A request as `LogEmitter` writes it: one resource, one scope. */
interface JsonRequest {
  readonly resourceLogs: readonly [
    {
      readonly resource: { readonly attributes: unknown }
      readonly scopeLogs: readonly [
        { readonly scope: LogRecord['instrumentationScope']; readonly logRecords: readonly JsonRecord[] },
      ]
    },
  ]
}

interface JsonRecord extends Pick<LogRecord, 'severityNumber' | 'severityText' | 'eventName'> {
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  readonly body?: { readonly stringValue: string }
  readonly attributes: unknown
  readonly traceId?: string
  readonly spanId?: string
  readonly flags?: number
}

export function logsProtobuf(json: string): Uint8Array | undefined {
  const [{ resource, scopeLogs }] = (JSON.parse(json) as JsonRequest).resourceLogs
  const [{ scope, logRecords }] = scopeLogs
  const origin = { resource: new PlainResource(readAttributes(resource.attributes)), instrumentationScope: scope }
  return transformer().ProtobufLogsSerializer.serializeRequest(
    logRecords.map(record => ({ ...logRecordOf(record), ...origin })),
  )
}

function logRecordOf(record: JsonRecord): Omit<LogRecord, 'resource' | 'instrumentationScope'> {
  const { timeUnixNano, observedTimeUnixNano, body, attributes, traceId, spanId, flags = 0, ...rest } = record
  return {
    ...rest,
    hrTime: hrTimeOf(timeUnixNano),
    hrTimeObserved: hrTimeOf(observedTimeUnixNano),
    body: body?.stringValue,
    attributes: readAttributes(attributes),
    droppedAttributesCount: 0,
    ...(traceId && spanId ? { spanContext: { traceId, spanId, traceFlags: flags } } : {}),
  }
}

const NANO_DIGITS = 9

function hrTimeOf(nanos: string): [number, number] {
  return [Number(nanos.slice(0, -NANO_DIGITS)), Number(nanos.slice(-NANO_DIGITS))]
}

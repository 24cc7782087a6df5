import type {
  IExportMetricsServiceResponse,
  IExportTraceServiceResponse,
  ISerializer,
} from '@opentelemetry/otlp-transformer'
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { OtlpProtocol } from '../backends/backend-config.ts'
import { jsonRequest, type SpanLine, sizeOf, UNSERIALISABLE } from '../trace-log/index.ts'
import type { DeliveryFailure, ExportResult, SpanSink, Transport, TransportResult } from './delivery.ts'
import { transformer } from './sdk.ts'

export const CONTENT_TYPES: Readonly<Record<OtlpProtocol, string>> = {
  'http/json': 'application/json',
  'http/protobuf': 'application/x-protobuf',
}

type TraceSerializer = ISerializer<ReadableSpan[], IExportTraceServiceResponse>
type MetricsSerializer = ISerializer<ResourceMetrics, IExportMetricsServiceResponse>

/** Sends spans as OTLP requests, assembled from lines as they stand in the log, over HTTP or to a file. */
export class OtlpSpanSink implements SpanSink {
  readonly #transport: Transport
  readonly #isJson: boolean
  readonly #serializer = (): Pick<TraceSerializer, 'deserializeResponse'> =>
    this.#isJson ? transformer().JsonTraceSerializer : transformer().ProtobufTraceSerializer

  constructor(protocol: OtlpProtocol, transport: Transport) {
    this.#isJson = protocol === 'http/json'
    this.#transport = transport
  }

  async export(lines: readonly SpanLine[], signal: AbortSignal): Promise<ExportResult> {
    try {
      const payload = this.#isJson ? jsonRequest(lines) : await protobufRequest(lines)
      return spanDelivery(await this.#transport.deliver(payload, signal), sizeOf(lines), this.#serializer)
    } catch {
      return { lost: sizeOf(lines), failure: UNSERIALISABLE }
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}

/**
 * Concatenated protobuf messages are one valid request. Encoding a line takes milliseconds, so the event loop runs between
 * lines.
 */
async function protobufRequest(lines: readonly SpanLine[]): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for (const line of lines) {
    if (pieces.length > 0) await new Promise(setImmediate)
    pieces.push(line.protobuf)
  }
  return pieces
}

/** The outcome for the spans of a delivery. A server may accept the request and still reject some spans. */
function spanDelivery(
  delivery: TransportResult,
  spans: number,
  serializer: () => Pick<TraceSerializer, 'deserializeResponse'>,
): ExportResult {
  if (!delivery.ok) {
    const { ok: _not, ...why } = delivery
    return { lost: spans, ...why }
  }
  const rejected = readAnswer(
    delivery,
    answer => serializer().deserializeResponse(answer).partialSuccess?.rejectedSpans,
  )
  const lost = Math.min(rejected, spans)
  return lost > 0 ? { lost, failure: { kind: 'rejected' } } : { lost: 0 }
}

export class OtlpMetricSink {
  readonly #transport: Transport
  readonly #isJson: boolean

  constructor(protocol: OtlpProtocol, transport: Transport) {
    this.#isJson = protocol === 'http/json'
    this.#transport = transport
  }

  serialize(metrics: ResourceMetrics): Uint8Array | DeliveryFailure {
    const payload = serialize(() => this.#serializer().serializeRequest(metrics))
    return payload.ok ? payload.bytes : payload.failure
  }

  /** Resolves with undefined if everything was accepted. Never rejects. */
  async send(payload: Uint8Array, signal: AbortSignal): Promise<DeliveryFailure | undefined> {
    const delivery = await this.#transport.deliver([payload], signal)
    if (!delivery.ok) return delivery.failure
    const rejected = readAnswer(
      delivery,
      answer => this.#serializer().deserializeResponse(answer).partialSuccess?.rejectedDataPoints,
    )
    return rejected > 0 ? { kind: 'rejected' } : undefined
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  #serializer(): MetricsSerializer {
    const { JsonMetricsSerializer, ProtobufMetricsSerializer } = transformer()
    return this.#isJson ? JsonMetricsSerializer : ProtobufMetricsSerializer
  }
}

/** Sends log events as OTLP/JSON requests. */
export class OtlpLogSink {
  readonly #transport: Transport
  readonly #head: () => string

  /** @param head returns the JSON before the records of each request */
  constructor(transport: Transport, head: () => string) {
    this.#transport = transport
    this.#head = head
  }

  /**
   * Never rejects.
   * @param records outputs of `recordJson`
   */
  async send(records: readonly string[], signal: AbortSignal): Promise<ExportResult> {
    const payload = Buffer.from(`${this.#head()}${records.join(',')}]}]}]}`)
    const delivery = await this.#transport.deliver([payload], signal)
    if (!delivery.ok) {
      const { ok: _not, ...why } = delivery
      return { lost: records.length, ...why }
    }
    const rejected = readAnswer(
      delivery,
      answer => transformer().JsonLogsSerializer.deserializeResponse(answer).partialSuccess?.rejectedLogRecords,
    )
    const lost = Math.min(rejected, records.length)
    return lost > 0 ? { lost, failure: { kind: 'rejected' } } : { lost: 0 }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}

type Payload =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly failure: DeliveryFailure }

function serialize(write: () => Uint8Array | undefined): Payload {
  try {
    const bytes = write()
    if (bytes) return { ok: true, bytes }
  } catch {
    // Falls through: the batch is counted as lost.
  }
  return { ok: false, failure: UNSERIALISABLE }
}

/** Many servers respond with an empty or non-OTLP body. Then nothing was rejected. */
function readAnswer(delivery: TransportResult, read: (answer: Uint8Array) => number | undefined): number {
  if (!delivery.ok || !delivery.answer || delivery.answer.byteLength === 0) return 0
  try {
    // OTLP/JSON encodes 64-bit numbers as strings.
    const count = Number(read(delivery.answer) ?? 0)
    return Number.isFinite(count) ? count : 0
  } catch {
    return 0
  }
}

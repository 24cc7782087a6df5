import type { OtlpProtocol } from '../backends/backend-config.ts'
import { jsonRequest, type SpanLine, sizeOf, UNSERIALISABLE } from '../trace-log/index.ts'
import type { ExportResult, SpanSink, Transport, TransportResult } from './delivery.ts'
import { transformer } from './sdk.ts'

export const CONTENT_TYPES: Readonly<Record<OtlpProtocol, string>> = {
  'http/json': 'application/json',
  'http/protobuf': 'application/x-protobuf',
  grpc: 'application/grpc',
}

export class OtlpSpanSink implements SpanSink {
  readonly #transport: Transport
  readonly #isJson: boolean

  constructor(protocol: OtlpProtocol, transport: Transport) {
    this.#isJson = protocol === 'http/json'
    this.#transport = transport
  }

  async export(lines: readonly SpanLine[], signal: AbortSignal): Promise<ExportResult> {
    try {
      const payload = this.#isJson ? jsonRequest(lines) : await protobufRequest(lines)
      return exportResult(await this.#transport.deliver(payload, signal), sizeOf(lines), this.#isJson)
    } catch {
      return { lost: sizeOf(lines), failure: UNSERIALISABLE }
    }
  }

  prepare(line: SpanLine): void {
    if (!this.#isJson) void line.protobuf
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}

/** Concatenated protobuf messages are one request. Encoding a line takes milliseconds, so the event loop runs in between. */
async function protobufRequest(lines: readonly SpanLine[]): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for (const line of lines) {
    if (pieces.length > 0) await new Promise(setImmediate)
    pieces.push(line.protobuf)
  }
  return pieces
}

/** `{}`, which says that nothing was rejected. */
const EMPTY_ANSWER_BYTES = 2

/** A server may accept the request and still reject a part of it. */
export function exportResult(delivery: TransportResult, sent: number, isJson: boolean): ExportResult {
  if (!delivery.ok) return { lost: sent, failure: delivery.failure, retryAfterMillis: delivery.retryAfterMillis }
  const { answer } = delivery
  const isEmpty = answer === undefined || answer.byteLength <= EMPTY_ANSWER_BYTES
  const lost = isEmpty ? 0 : Math.min(rejectedIn(answer, isJson), sent)
  return lost > 0 ? { lost, failure: { kind: 'rejected' } } : { lost: 0 }
}

/**
 * Many servers respond with an empty or non-OTLP body: nothing was rejected. The responses to all signals are the same in
 * protobuf, and in JSON except for the name of the count. OTLP/JSON encodes 64-bit numbers as strings.
 */
function rejectedIn(answer: Uint8Array, isJson: boolean): number {
  try {
    const { JsonTraceSerializer, ProtobufTraceSerializer } = transformer()
    const { partialSuccess } = (isJson ? JsonTraceSerializer : ProtobufTraceSerializer).deserializeResponse(answer)
    const counts: Readonly<Record<string, unknown>> = { ...partialSuccess }
    const count = Number(counts['rejectedSpans'] || counts['rejectedDataPoints'] || counts['rejectedLogRecords'] || 0)
    return Number.isFinite(count) ? count : 0
  } catch {
    return 0
  }
}

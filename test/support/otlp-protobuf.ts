import type { SinkRecord } from './otlp-sink.ts'

const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

/** Field numbers that spans and metrics have in common on their way down from a request. */
const GROUPS = 1
const SCOPES = 2
const RECORDS = 2

const SPAN_TRACE_ID = 1
const SPAN_ID = 2
const SPAN_NAME = 5
const METRIC_NAME = 1
const TRACE_ID_BYTES = 16

/** The spans or metrics of an OTLP request in protobuf: just enough of a reader to see that what was sent is whole. */
export function protobufRecords(request: Buffer): SinkRecord[] {
  return nested(request, GROUPS)
    .flatMap(group => nested(group, SCOPES))
    .flatMap(scope => nested(scope, RECORDS))
    .map(record)
}

function record(message: Buffer): SinkRecord {
  const first = nested(message, SPAN_TRACE_ID)[0]
  const name = nested(message, SPAN_NAME)[0]
  // A metric starts with its name, a span with the sixteen bytes of its trace id.
  if (!name || first?.length !== TRACE_ID_BYTES) return { name: String(nested(message, METRIC_NAME)[0] ?? '') }
  return {
    name: name.toString('utf8'),
    traceId: first.toString('hex'),
    spanId: String(nested(message, SPAN_ID)[0]?.toString('hex')),
  }
}

function nested(message: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message.readUInt8(at++)
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const [field, wire] = [tag >> 3, tag & 7]
    if (wire === VARINT) varint()
    else if (wire === FIXED_64) at += 8
    else if (wire === FIXED_32) at += 4
    else if (wire === BYTES) {
      const length = varint()
      if (field === wanted) found.push(message.subarray(at, at + length))
      at += length
    } else throw new Error(`not protobuf: wire type ${wire} at byte ${at}`)
  }
  return found
}

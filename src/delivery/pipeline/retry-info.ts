import type { IncomingHttpHeaders } from 'node:http2'

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** Field numbers of `google.rpc.Status`, `google.protobuf.Any`, `google.rpc.RetryInfo` and `google.protobuf.Duration`. */
const DETAILS = 3
const ANY = { typeUrl: 1, value: 2 } as const
const RETRY_DELAY = 1
const DURATION = { seconds: 1, nanos: 2 } as const

export function retryInfoMillis(headers: IncomingHttpHeaders): number | undefined {
  const details = headers['grpc-status-details-bin']
  if (typeof details !== 'string') return undefined
  try {
    for (const detail of valuesOf(Buffer.from(details, 'base64'), DETAILS)) {
      if (!String(valuesOf(detail, ANY.typeUrl)[0]).endsWith('/google.rpc.RetryInfo')) continue
      const [info = NOTHING] = valuesOf(detail, ANY.value)
      const [delay = NOTHING] = valuesOf(info, RETRY_DELAY)
      return numberOf(delay, DURATION.seconds) * 1000 + numberOf(delay, DURATION.nanos) / 1_000_000
    }
  } catch {
    // Not protobuf.
  }
  return undefined
}

const NOTHING: Buffer = Buffer.alloc(0)

function numberOf(message: Buffer, field: number): number {
  const [bytes] = valuesOf(message, field)
  return bytes === undefined ? 0 : readVarint(bytes, 0)[0]
}

/** The values of a field, without the length. */
function valuesOf(message: Buffer, wanted: number): Buffer[] {
  const values: Buffer[] = []
  for (let at = 0; at < message.length; ) {
    const [tag, start] = readVarint(message, at)
    const [from, to] = extentOf(message, tag % 8, start)
    if (Math.floor(tag / 8) === wanted) values.push(message.subarray(from, to))
    at = to
  }
  return values
}

function extentOf(message: Buffer, wireType: number, start: number): readonly [from: number, to: number] {
  if (wireType === VARINT) return [start, readVarint(message, start)[1]]
  if (wireType === FIXED64) return [start, start + 8]
  if (wireType === FIXED32) return [start, start + 4]
  if (wireType !== LENGTH_DELIMITED) throw new Error(`wire type ${wireType}`)
  const [length, from] = readVarint(message, start)
  return [from, from + length]
}

/** Throws at the end of the message. */
function readVarint(message: Buffer, start: number): readonly [value: number, end: number] {
  let value = 0
  for (let at = start, factor = 1; ; at++, factor *= 128) {
    const byte = message.readUInt8(at)
    value += (byte % 128) * factor
    if (byte < 128) return [value, at + 1]
  }
}

import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import type { DeliveryFailure, Signal, Transport, TransportResult } from './delivery.ts'
import { codeOf, NOT_HTTP2 } from './delivery.ts'
import type { Fail, OtlpTarget, Post, Settle } from './otlp-sender.ts'
import { byteLengthOf, deliverWithRetries, gzipped, limitConnect, MAX_ANSWER_BYTES, retryAfter } from './otlp-sender.ts'
import { http, http2 } from './sdk.ts'
import { TOO_LARGE } from './send-request.ts'

const SERVICES: Readonly<Record<Signal, string>> = {
  traces: 'trace.v1.TraceService',
  metrics: 'metrics.v1.MetricsService',
  logs: 'logs.v1.LogsService',
}

/** Frames begin with a byte for the compression and four for the length. A timeout has at most eight digits. */
const FRAME_HEAD_BYTES = 5
const MAX_TIMEOUT_MILLIS = 99_999_999

/** By code. The equivalent in HTTP is retried, reported and classified like a response over HTTP. */
const STATUSES: readonly (readonly [name: string, httpStatus: number])[] = [
  ['OK', 200],
  ['CANCELLED', 503],
  ['UNKNOWN', 500],
  ['INVALID_ARGUMENT', 400],
  ['DEADLINE_EXCEEDED', 504],
  ['NOT_FOUND', 404],
  ['ALREADY_EXISTS', 400],
  ['PERMISSION_DENIED', 403],
  ['RESOURCE_EXHAUSTED', 429],
  ['FAILED_PRECONDITION', 400],
  ['ABORTED', 503],
  ['OUT_OF_RANGE', 503],
  ['UNIMPLEMENTED', 404],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DATA_LOSS', 503],
  ['UNAUTHENTICATED', 401],
]
/** Servers answer a quota and a message that is too large with the same code. */
const TOO_LARGE_MESSAGE = /larger than (?:the )?max|too large|exceeds (?:the )?max/i

/** Sends one signal over gRPC: unary calls over one HTTP/2 connection, which is opened when it is needed. */
export class GrpcSender implements Transport {
  readonly #target: OtlpTarget
  readonly #path: string
  #session: ClientHttp2Session | undefined

  constructor(target: OtlpTarget, signal: Signal) {
    this.#target = target
    this.#path = `/opentelemetry.proto.collector.${SERVICES[signal]}/Export`
  }

  async deliver(payload: readonly Uint8Array[], signal: AbortSignal): Promise<TransportResult> {
    const { gzip } = this.#target
    const message = gzip ? [await gzipped(payload)] : payload
    const head = Buffer.alloc(FRAME_HEAD_BYTES)
    head.writeUInt8(Number(gzip))
    head.writeUInt32BE(byteLengthOf(message), 1)
    const frame = [head, ...message]
    return deliverWithRetries(this.#target, signal, this.#call, frame)
  }

  async close(): Promise<void> {
    this.#session?.destroy()
  }

  readonly #call: Post = (frame, more, settle, fail, leftMillis) => {
    const headers = {
      ...this.#target.headers,
      ...more,
      ...(this.#target.gzip ? { 'grpc-encoding': 'gzip' } : {}),
      te: 'trailers',
      'grpc-timeout': `${Math.min(Math.max(1, Math.ceil(leftMillis)), MAX_TIMEOUT_MILLIS)}m`,
    }
    // node:http2 sends a line break in a value.
    for (const [name, value] of Object.entries(headers)) http().validateHeaderValue(name, value)
    const session = this.#openSession()
    const stream = session.request({ ...headers, ':method': 'POST', ':path': this.#path })
    readResponse(stream, settle, fail)
    for (const piece of frame) stream.write(piece)
    stream.end()
    // A server that did not answer may be gone: the next call uses a new connection.
    return () => session.destroy()
  }

  #openSession(): ClientHttp2Session {
    const known = this.#session
    if (known && !known.closed && !known.destroyed) return known
    const { url, tls } = this.#target
    const session = http2().connect(url, tls)
    // A caller that waits for a call keeps the process alive itself: the session must not. Each stream reports the error.
    session.unref()
    session.on('error', () => undefined)
    limitConnect(session)
    this.#session = session
    return session
  }
}

function readResponse(stream: ClientHttp2Stream, settle: Settle, fail: Fail): void {
  const chunks: Buffer[] = []
  let size = 0
  let headers: IncomingHttpHeaders = {}
  let code = 'ECONNRESET'
  const addHeaders = (received: IncomingHttpHeaders): void => {
    headers = { ...headers, ...received }
  }
  stream.on('response', addHeaders).on('trailers', addHeaders)
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_ANSWER_BYTES) chunks.push(chunk)
  })
  stream.on('error', error => {
    code = networkCodeOf(error)
  })
  stream.on('close', () => {
    const result = resultOf(headers, stream.rstCode)
    if (!result) fail({ kind: 'network', code })
    else settle(result.ok ? { ok: true, answer: messageIn(Buffer.concat(chunks)) } : result)
  })
}

/** Undefined if the stream ended before the status. An HTTP status alone is the response of a proxy or of another server. */
function resultOf(headers: IncomingHttpHeaders, rstCode: number): TransportResult | undefined {
  const { 'grpc-status': code, ':status': httpStatus } = headers as Readonly<Record<string, unknown>>
  if (code === '0') return { ok: true }
  if (code !== undefined) {
    return { ok: false, failure: grpcFailure(Number(code), headers), retryAfterMillis: retryInfoMillis(headers) }
  }
  if (typeof httpStatus === 'number' && httpStatus !== 200) {
    const failure: DeliveryFailure = { kind: 'status', status: httpStatus }
    return { ok: false, failure, retryAfterMillis: retryAfter(headers['retry-after']) }
  }
  if (headers['content-type']?.startsWith('text/html')) return { ok: false, failure: { kind: 'page', status: 200 } }
  return httpStatus !== undefined && rstCode === 0 ? { ok: false, failure: grpcFailure(2, headers) } : undefined
}

function grpcFailure(code: number, headers: IncomingHttpHeaders): DeliveryFailure {
  const [grpc, status] = STATUSES[code] ?? [`gRPC status ${code}`, 500]
  const isTooLarge = grpc === 'RESOURCE_EXHAUSTED' && TOO_LARGE_MESSAGE.test(String(headers['grpc-message']))
  return { kind: 'status', status: isTooLarge ? TOO_LARGE : status, grpc }
}

/** A stream is cancelled because of the connection's error, or reset by the server. */
function networkCodeOf(error: Error): string {
  const code = codeOf(error.cause ?? error)
  return code.startsWith('ERR_HTTP2_') && code !== NOT_HTTP2 ? 'ECONNRESET' : code
}

/** The message of a unary response. Empty if it is compressed, which was not offered, or too long. */
function messageIn(frame: Buffer): Uint8Array {
  const isPlain = frame.length > FRAME_HEAD_BYTES && frame[0] === 0
  const end = isPlain ? FRAME_HEAD_BYTES + frame.readUInt32BE(1) : 0
  return end <= frame.length ? frame.subarray(FRAME_HEAD_BYTES, end) : Buffer.alloc(0)
}

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** Field numbers of `google.rpc.Status`, `google.protobuf.Any`, `google.rpc.RetryInfo` and `google.protobuf.Duration`. */
const DETAILS = 3
const ANY = { typeUrl: 1, value: 2 } as const
const RETRY_DELAY = 1
const DURATION = { seconds: 1, nanos: 2 } as const

function retryInfoMillis(headers: IncomingHttpHeaders): number | undefined {
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

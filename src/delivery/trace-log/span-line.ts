import { isUtf8 } from 'node:buffer'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { LineParser } from './line-parser.ts'
import { estimatedBytes, requestJson } from './span-json.ts'
import { requestProtobuf } from './span-protobuf.ts'

const HEAD: Buffer = Buffer.from('{"resourceSpans":[')
const COMMA: Buffer = Buffer.from(',')
const TAIL: Buffer = Buffer.from(']}')
/** Occurs once in each span. In a string its quotes would be escaped, and no colon follows a string value. */
const IN_EACH_SPAN: Buffer = Buffer.from('"startTimeUnixNano":')
/** The start of each span. A link starts differently. */
const SPAN_HEAD: Buffer = Buffer.from('{"traceId":"')
const SAMPLED = 1
export const TRACE_ID_CHARS = 32
const SPAN_ID_CHARS = 16
const BETWEEN_IDS = '","spanId":"'
const BETWEEN_TIMES = /^"(\d+)","endTimeUnixNano":"(\d+)"/
const TIMES_CHARS = 64
const NANOS_PER_MILLI = 1e6
const DIGITS_BELOW_MILLI = 6
const NOTHING: Buffer = Buffer.concat([HEAD, TAIL])

/** Id and times of a span, in milliseconds since the epoch. */
export interface SpanStamp {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** Spans of one line, as objects, OTLP/JSON or protobuf. Each form is derived once for all backends. */
export class SpanLine {
  /** True if parsing has failed. The line then has no spans. */
  isDamaged = false
  #spans: readonly ReadableSpan[] | undefined
  #size: number | undefined
  #json: Buffer | undefined
  #protobuf: Uint8Array | undefined
  readonly #parser: LineParser | undefined

  constructor(spans: readonly ReadableSpan[] | undefined, json?: Buffer, parser?: LineParser) {
    this.#spans = spans
    this.#size = spans?.length
    this.#json = json
    this.#parser = parser
  }

  /** Wraps a line of a file that looks like ours; parsed when its spans are needed. A crash of the machine may leave zeros. */
  static fromFile(json: Buffer, parser: LineParser): SpanLine | undefined {
    const isWhole = json.subarray(0, HEAD.length).equals(HEAD) && json.subarray(-TAIL.length).equals(TAIL)
    if (!isWhole || json.includes(0) || !isUtf8(json)) return undefined
    return new SpanLine(undefined, json, parser)
  }

  /** Number of spans. An estimate until the line is parsed. */
  get size(): number {
    this.#size ??= spansIn(this.json)
    return this.#size
  }

  get bytes(): number {
    return this.#json?.length ?? this.spans.reduce((sum, span) => sum + estimatedBytes(span), 0)
  }

  get spans(): readonly ReadableSpan[] {
    this.#spans ??= this.#read()
    return this.#spans
  }

  get json(): Buffer {
    this.#json ??= requestJson(this.spans)
    return this.#json
  }

  get protobuf(): Uint8Array {
    this.#protobuf ??= requestProtobuf(this.spans)
    return this.#protobuf
  }

  /** Ids and times of the spans in one of our lines, without parsing the rest. */
  *stamps(): Generator<SpanStamp, void> {
    const { json } = this
    for (let at = json.indexOf(SPAN_HEAD); at >= 0; at = json.indexOf(SPAN_HEAD, at + 1)) {
      const ids = at + SPAN_HEAD.length
      const traceId = json.toString('latin1', ids, ids + TRACE_ID_CHARS)
      const rest = ids + TRACE_ID_CHARS + BETWEEN_IDS.length
      const times = json.indexOf(IN_EACH_SPAN, rest) + IN_EACH_SPAN.length
      const [, start = '0', end = '0'] = BETWEEN_TIMES.exec(json.toString('latin1', times, times + TIMES_CHARS)) ?? []
      const key = `${traceId}${json.toString('latin1', rest, rest + SPAN_ID_CHARS)}`
      yield { key, start: millisOf(start), end: millisOf(end) }
    }
  }

  #read(): readonly ReadableSpan[] {
    const line = this.#parser?.read((this.#json ?? NOTHING).toString())
    const spans = line?.kind === 'spans' ? line.spans : []
    this.isDamaged = line?.kind !== 'spans'
    if (this.isDamaged) this.#json = NOTHING
    this.#size = spans.length
    return spans
  }
}

/** A number holds whole milliseconds exactly, but not the nanoseconds of the text: it rounds them to multiples of 256. */
function millisOf(nanos: string): number {
  return Number(nanos.slice(0, -DIGITS_BELOW_MILLI)) + Number(nanos.slice(-DIGITS_BELOW_MILLI)) / NANOS_PER_MILLI
}

export function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & SAMPLED) !== 0
}

export function spanKey(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext()
  return `${traceId}${spanId}`
}

export function sizeOf(lines: readonly SpanLine[]): number {
  let size = 0
  for (const line of lines) size += line.size
  return size
}

export function spansOf(lines: readonly SpanLine[]): readonly ReadableSpan[] {
  return lines.flatMap(({ spans }) => spans)
}

export function jsonRequest(lines: readonly SpanLine[]): readonly Uint8Array[] {
  const [first] = lines
  if (first !== undefined && lines.length === 1) return [first.json]
  const groups = lines.filter(({ size }) => size > 0).map(({ json }) => json.subarray(HEAD.length, -TAIL.length))
  return [HEAD, ...groups.flatMap((group, index) => (index === 0 ? [group] : [COMMA, group])), TAIL]
}

function spansIn(json: Buffer): number {
  let spans = 0
  for (let at = json.indexOf(IN_EACH_SPAN); at >= 0; at = json.indexOf(IN_EACH_SPAN, at + IN_EACH_SPAN.length)) spans++
  return spans
}

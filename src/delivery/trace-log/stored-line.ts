import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { durationOf, OriginCache, readSpan } from './read-span.ts'
import { DamagedLine, type OtlpFields, readCount, readFields, readList, readOptionalText } from './stored-fields.ts'

const HEADER = 'hookspan.segment'
const OPEN_NOTE = 'hookspan.open'
const VERSION = 1
const NANOS_PER_MILLI = 1_000_000
const BRACE = 0x7b

/** Attribute names with which the spans of a segment are completed. Empty = our own attributes were off. */
export interface SegmentMarks {
  readonly incomplete: string
  readonly finalStatus: string
  readonly spanKind: string
}

/** Backend -> destination (`destinationOf`), for the backends pending from the start of a segment. */
export type Destinations = ReadonlyMap<string, string>

/** The first line of a segment. */
export interface SegmentHeader {
  readonly marks: SegmentMarks
  readonly backends: Destinations
  /** Milliseconds after the end of its process within which another one may continue its open spans; 0 = never. */
  readonly continuedMillis: number
  /** See `LocalLogSettings`. Empty = its spans are pending for the backends. */
  readonly heldBy: string
}

export type StoredLine =
  | { readonly kind: 'spans'; readonly spans: readonly ReadableSpan[] }
  /** Spans that were open when the line was written. */
  | { readonly kind: 'open'; readonly spans: readonly ReadableSpan[] }
  | ({ readonly kind: 'header' } & SegmentHeader)
  | { readonly kind: 'other' }
  /** `problem` never quotes the line. */
  | { readonly kind: 'damaged'; readonly problem: string }

/**
 * The first line of a segment, without a line end.
 * @param continuedMillis as in `SegmentHeader`
 * @param heldBy as in `SegmentHeader`
 */
export function headerJson(
  { incomplete, finalStatus, spanKind }: SegmentMarks,
  destinations: Destinations,
  continuedMillis = 0,
  heldBy = '',
): string {
  // A backend may be named `__proto__`: `fromEntries` defines such a key, an assignment would not.
  const backends = Object.fromEntries(destinations)
  const continued = continuedMillis === 0 ? {} : { continuedMillis }
  const held = heldBy === '' ? {} : { heldBy }
  const marks = { incomplete, finalStatus, spanKind }
  return JSON.stringify({ [HEADER]: { version: VERSION, marks, backends, ...continued, ...held } })
}

/**
 * Parses the lines of segments. Equal resources and scopes of different lines are one object, because the serializers group
 * spans by identity.
 */
export class LineParser {
  readonly #origins = new OriginCache()

  /** Parses one line, without its end. Never throws: one bad span makes the whole line damaged. */
  read(text: string): StoredLine {
    try {
      const line = withoutHole(text)
      // The line was overwritten, by the file system or externally.
      if (line === '' && text !== '') return { kind: 'damaged', problem: 'it is empty' }
      return this.#read(line)
    } catch (error) {
      return { kind: 'damaged', problem: error instanceof DamagedLine ? error.message : 'it cannot be read' }
    }
  }

  #read(text: string): StoredLine {
    if (text.charCodeAt(0) !== BRACE && text.trim() === '') return { kind: 'other' }
    const line = readFields(parsed(text), 'it')
    if (line['resourceSpans'] !== undefined) return { kind: 'spans', spans: this.#spans(line, true) }
    if (line[OPEN_NOTE] !== undefined) {
      return { kind: 'open', spans: this.#spans(readFields(line[OPEN_NOTE], 'the note of open spans'), false) }
    }
    return line[HEADER] === undefined ? { kind: 'other' } : readHeader(line[HEADER])
  }

  #spans(request: OtlpFields, ended: boolean): ReadableSpan[] {
    const spans: ReadableSpan[] = []
    for (const value of readList(request['resourceSpans'], 'resourceSpans')) {
      const group = readFields(value, 'resourceSpans')
      const resource = this.#origins.resourceOf(group)
      for (const inner of readList(group['scopeSpans'], 'scopeSpans')) {
        const scoped = readFields(inner, 'scopeSpans')
        const instrumentationScope = this.#origins.scopeOf(scoped)
        for (const span of readList(scoped['spans'], 'spans')) {
          spans.push(readSpan(span, { resource, instrumentationScope }, ended))
        }
      }
    }
    return spans
  }
}

/** Ends a span whose process was killed. Adds `attributes`. The status stays unset. */
export function endedSpan(open: ReadableSpan, endAtMillis: number, attributes: Attributes): ReadableSpan {
  const { startTime, parentSpanContext } = open
  const context = open.spanContext()
  const endTime = laterOf(startTime, endAtMillis)
  return {
    name: open.name,
    kind: open.kind,
    spanContext: () => context,
    ...(parentSpanContext === undefined ? {} : { parentSpanContext }),
    startTime,
    endTime,
    duration: durationOf(startTime, endTime),
    ended: true,
    status: { code: 0 },
    attributes: { ...open.attributes, ...attributes },
    events: open.events,
    links: open.links,
    resource: open.resource,
    instrumentationScope: open.instrumentationScope,
    droppedAttributesCount: open.droppedAttributesCount,
    droppedEventsCount: open.droppedEventsCount,
    droppedLinksCount: open.droppedLinksCount,
  }
}

/** A clock that was set back must not make a span end before it starts. */
function laterOf(start: HrTime, millis: number): HrTime {
  if (!Number.isFinite(millis)) return start
  const seconds = Math.floor(millis / 1000)
  const time: HrTime = [seconds, Math.floor((millis - seconds * 1000) * NANOS_PER_MILLI)]
  return time[0] > start[0] || (time[0] === start[0] && time[1] > start[1]) ? time : start
}

/** After a crash of the machine, a file system may have left zeros instead of data. */
function withoutHole(text: string): string {
  let start = 0
  while (text.charCodeAt(start) === 0) start++
  return start === 0 ? text : text.slice(start)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new DamagedLine('it is not valid JSON')
  }
}

function readHeader(value: unknown): StoredLine {
  const header = readFields(value, 'the header')
  readCount(header['version'], 'the version', VERSION)
  const continuedMillis = readCount(header['continuedMillis'], 'a time', 0, Number.MAX_SAFE_INTEGER)
  const heldBy = readOptionalText(header['heldBy'], 'who judges') ?? ''
  return { kind: 'header', marks: readMarks(header), backends: readDestinations(header), continuedMillis, heldBy }
}

function readDestinations(header: OtlpFields): Destinations {
  const backends = Object.entries(readFields(header['backends'] ?? {}, 'the backends'))
  return new Map(backends.map(([name, place]) => [name, readOptionalText(place, 'a backend') ?? '']))
}

function readMarks(header: OtlpFields): SegmentMarks {
  const marks = readFields(header['marks'] ?? {}, 'the marks')
  return {
    incomplete: readOptionalText(marks['incomplete'], 'a mark') ?? '',
    finalStatus: readOptionalText(marks['finalStatus'], 'a mark') ?? '',
    spanKind: readOptionalText(marks['spanKind'], 'a mark') ?? '',
  }
}

import { type Attributes, isRecord, readAttributes } from './attribute-value.ts'
import { LineReader, type NumberedLine } from './line-reader.ts'

export type { Attributes } from './attribute-value.ts'

/** Whether it is work of its own, or one side of a call. */
export type StoredSpanKind = 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer'
/** `error`: it failed; `unset`: nothing is said. */
export type StoredSpanStatus = 'unset' | 'ok' | 'error'

/** Something that happened at a moment of a span. */
export interface StoredEvent {
  /** What happened */
  readonly name: string
  /** Epoch milliseconds with fractions. */
  readonly at: number
  /** What is told of it */
  readonly attributes: Attributes
}

/** That a span has to do with one that is not its parent. */
export interface StoredLink {
  /** Of the other span: 32 hex digits */
  readonly traceId: string
  /** Of the other span: 16 hex digits */
  readonly spanId: string
  /** What is told of it */
  readonly attributes: Attributes
}

/**
 * A span as it was read back from a file. The viewer's own type: it knows OTLP/JSON and nothing of what wrote it, so
 * it shows any OpenTelemetry trace. No text in it is to be trusted, ids included; `displayText` makes it printable.
 */
export interface StoredSpan {
  /** 32 hex digits */
  readonly traceId: string
  /** 16 hex digits */
  readonly spanId: string
  /** Absent on a root */
  readonly parentSpanId?: string
  /** The parent is in another process, or recorded by somebody else. */
  readonly parentIsRemote?: true
  /** As drawn: `tool.terminal` */
  readonly name: string
  /** Whether it is work of its own, or one side of a call */
  readonly kind: StoredSpanKind
  /** Epoch milliseconds with fractions. */
  readonly startAt: number
  /** Epoch milliseconds with fractions. */
  readonly endAt: number
  /** How it went */
  readonly status: StoredSpanStatus
  /** Of an error */
  readonly statusMessage?: string
  /** What is told of it */
  readonly attributes: Attributes
  /** In the order in which they happened */
  readonly events: readonly StoredEvent[]
  /** In the order in which they were added */
  readonly links: readonly StoredLink[]
  /** What is told of the process */
  readonly resource: Attributes
  /** What has recorded it */
  readonly scope: { readonly name: string; readonly version?: string }
  /** It had not ended when this was written; `endAt` is what is known of it so far. */
  readonly running?: true
}

/** What one line of a file was: spans, and notes of some that are running; or a line that could not be read. */
export type TraceFileEntry =
  | { readonly spans: readonly StoredSpan[]; readonly running: readonly StoredSpan[] }
  | { readonly line: number; readonly problem: string }

/** A line that is not OTLP/JSON. The message never quotes the line: it may hold anything. */
export class ExportLineError extends Error {
  override readonly name = 'ExportLineError'
}

const KINDS: readonly StoredSpanKind[] = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUSES: readonly StoredSpanStatus[] = ['unset', 'ok', 'error']

/**
 * Reads one line of OTLP/JSON, an `ExportTraceServiceRequest` or `TracesData`. A line of another signal, or the note
 * of something that is no span, holds no spans.
 *
 * @throws {ExportLineError} when the line is no JSON object, or a span in it has no id or no start
 */
export function readExportLine(line: string): StoredSpan[] {
  return readSpans(parseObject(line))
}

/** The one line of a trace log that is no OTLP: which spans its process has open. */
const OPEN_NOTE = 'hookspan.open'

function readNote(note: unknown): StoredSpan[] {
  if (!isRecord(note)) return []
  return readSpans(note).map(span => ({ ...span, endAt: span.startAt, running: true }))
}

function readSpans(request: Record<string, unknown>): StoredSpan[] {
  const spans: StoredSpan[] = []
  for (const resourceSpans of records(request['resourceSpans'], 'resourceSpans')) {
    const resource = readAttributes(isRecord(resourceSpans['resource']) ? resourceSpans['resource']['attributes'] : [])
    for (const scopeSpans of records(resourceSpans['scopeSpans'], 'scopeSpans')) {
      const scope = readScope(scopeSpans['scope'])
      for (const span of records(scopeSpans['spans'], 'spans')) spans.push(readSpan(span, resource, scope))
    }
  }
  return spans
}

/**
 * Reads a file of OTLP/JSON lines, a line at a time. Lines that cannot be read are reported and passed over; lines that
 * `mayMatter` (given their text) turns down are not even parsed. `onRead` is told of so many bytes more; what it throws ends
 * the reading.
 *
 * @throws the error of the file system when the file cannot be read
 */
export async function* readTraceFile(
  path: string,
  mayMatter: (line: string) => boolean = () => true,
  onRead?: (bytes: number) => void,
): AsyncGenerator<TraceFileEntry, void> {
  const reader = new LineReader(path)
  for await (const line of reader.read(onRead)) if ('problem' in line || mayMatter(line.text)) yield readEntry(line)
  const rest = reader.rest()
  if (rest !== undefined && ('problem' in rest || mayMatter(rest.text))) yield readEntry(rest)
}

/** One line of a file, never throwing. */
export function readEntry(line: NumberedLine): TraceFileEntry {
  if ('problem' in line) return line
  try {
    const request = parseObject(line.text)
    return { spans: readSpans(request), running: readNote(request[OPEN_NOTE]) }
  } catch (error) {
    if (error instanceof ExportLineError) return { line: line.line, problem: error.message }
    throw error
  }
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new ExportLineError('not valid JSON')
  }
  if (!isRecord(value)) throw new ExportLineError('not a JSON object')
  return value
}

function records(value: unknown, what: string): Record<string, unknown>[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || !value.every(isRecord)) throw new ExportLineError(`${what} is not a list of objects`)
  return value
}

function readSpan(span: Record<string, unknown>, resource: Attributes, scope: StoredSpan['scope']): StoredSpan {
  const startAt = readTime(span['startTimeUnixNano'])
  if (startAt === undefined) throw new ExportLineError('a span without startTimeUnixNano')
  const parentSpanId = readId(span['parentSpanId'])
  return {
    traceId: requireId(span['traceId'], 'traceId'),
    spanId: requireId(span['spanId'], 'spanId'),
    ...(parentSpanId !== undefined && { parentSpanId }),
    ...(parentSpanId !== undefined && isRemote(span['flags']) && { parentIsRemote: true }),
    name: text(span['name']),
    kind: readEnum(span['kind'], KINDS, 'SPAN_KIND_'),
    startAt,
    endAt: readTime(span['endTimeUnixNano']) ?? startAt,
    ...readStatus(span['status']),
    attributes: readAttributes(span['attributes']),
    events: records(span['events'], 'events').map(event => readEvent(event, startAt)),
    links: records(span['links'], 'links').map(readLink),
    resource,
    scope,
  }
}

function readScope(scope: unknown): StoredSpan['scope'] {
  if (!isRecord(scope)) return { name: '' }
  const version = text(scope['version'])
  return { name: text(scope['name']), ...(version !== '' && { version }) }
}

function readStatus(status: unknown): { status: StoredSpanStatus; statusMessage?: string } {
  if (!isRecord(status)) return { status: 'unset' }
  const message = text(status['message'])
  const code = readEnum(status['code'], STATUSES, 'STATUS_CODE_')
  return { status: code, ...(message !== '' && { statusMessage: message }) }
}

function readEvent(event: Record<string, unknown>, startAt: number): StoredEvent {
  const at = readTime(event['timeUnixNano']) ?? startAt
  return { name: text(event['name']), at, attributes: readAttributes(event['attributes']) }
}

function readLink(link: Record<string, unknown>): StoredLink {
  return {
    traceId: text(link['traceId']),
    spanId: text(link['spanId']),
    attributes: readAttributes(link['attributes']),
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function requireId(value: unknown, what: string): string {
  const id = readId(value)
  if (id === undefined) throw new ExportLineError(`a span without ${what}`)
  return id
}

/** All zeros is how some writers spell "none". */
function readId(value: unknown): string | undefined {
  return typeof value === 'string' && /[^0]/.test(value) ? value : undefined
}

/** Of two bits of the flags one says that it is known, the other that it is so. */
const REMOTE_PARENT = 0x300

function isRemote(flags: unknown): boolean {
  return typeof flags === 'number' && (flags & REMOTE_PARENT) === REMOTE_PARENT
}

/** Enums arrive as numbers or as their protobuf names. */
function readEnum<Name extends string>(value: unknown, names: readonly Name[], prefix: string): Name {
  const found =
    typeof value === 'string'
      ? names.find(name => value === prefix + name.toUpperCase())
      : names[typeof value === 'number' ? value : 0]
  return found ?? (names[0] as Name)
}

/** Nanoseconds do not fit into a double: they are divided as integers, so that round milliseconds stay round. */
function readTime(nanos: unknown): number | undefined {
  const digits = typeof nanos === 'number' && Number.isInteger(nanos) ? BigInt(nanos).toString() : nanos
  if (typeof digits !== 'string' || !/^\d{1,20}$/.test(digits)) return undefined
  const whole = BigInt(digits)
  return Number(whole / 1_000_000n) + Number(whole % 1_000_000n) / 1e6
}

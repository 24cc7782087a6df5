import { type Attributes, isRecord, parseJson, readAttributes } from './attribute-value.ts'
import { type NumberedLine, type OnRead, readFileLines } from './line-reader.ts'

export type { Attributes } from './attribute-value.ts'

/** The role of a span: an operation of its own, or one side of a call. */
export type StoredSpanKind = 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer'
/** `error`: it failed; `unset`: no status was recorded. */
export type StoredSpanStatus = 'unset' | 'ok' | 'error'

/** An event at a moment of a span. */
export interface StoredEvent {
  /** Name of the event */
  readonly name: string
  /** Epoch milliseconds with fractions. */
  readonly at: number
  /** Attributes of the event */
  readonly attributes: Attributes
}

/** A link to a span that is not the parent. */
export interface StoredLink {
  /** Trace id of the linked span: 32 hex digits */
  readonly traceId: string
  /** Span id of the linked span: 16 hex digits */
  readonly spanId: string
  /** Attributes of the link */
  readonly attributes: Attributes
}

/**
 * A span read back from a file. It depends on OTLP/JSON alone, so that the viewer shows any OpenTelemetry trace. All its text is
 * untrusted, ids included; `displayText` makes it printable.
 */
export interface StoredSpan {
  /** 32 hex digits */
  readonly traceId: string
  /** 16 hex digits */
  readonly spanId: string
  /** Absent on a root */
  readonly parentSpanId?: string
  /** The parent is in another process, or recorded by another program. */
  readonly parentIsRemote?: true
  /** Name of the span: `tool.terminal` */
  readonly name: string
  /** The role of the span: an operation of its own, or one side of a call */
  readonly kind: StoredSpanKind
  /** Epoch milliseconds with fractions. */
  readonly startAt: number
  /** Epoch milliseconds with fractions. */
  readonly endAt: number
  /** Status of the span */
  readonly status: StoredSpanStatus
  /** Message of an error */
  readonly statusMessage?: string
  /** Attributes of the span */
  readonly attributes: Attributes
  /** Ordered as they happened */
  readonly events: readonly StoredEvent[]
  /** Ordered as they were added */
  readonly links: readonly StoredLink[]
  /** Attributes of the process */
  readonly resource: Attributes
  /** The instrumentation that recorded it */
  readonly scope: { readonly name: string; readonly version?: string }
  /** It had not ended when this was written; `endAt` is the latest known time. */
  readonly running?: true
}

/** Adds the cost to a request that was recorded without one. Returns other spans as they are. */
export type SpanPricer = (span: StoredSpan) => StoredSpan

export type TraceFileEntry =
  | { readonly spans: readonly StoredSpan[]; readonly running: readonly StoredSpan[] }
  | { readonly line: number; readonly problem: string }

/** A line that is not OTLP/JSON. The message never quotes the line, which may contain secrets. */
export class ExportLineError extends Error {
  override readonly name = 'ExportLineError'
}

const KINDS: readonly StoredSpanKind[] = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUSES: readonly StoredSpanStatus[] = ['unset', 'ok', 'error']

/**
 * Reads one line of OTLP/JSON, an `ExportTraceServiceRequest` or `TracesData`. A line of another signal, or a note, gives no
 * spans.
 *
 * @throws {ExportLineError} when the line is no JSON object, or a span in it has no id or no start
 */
export function readExportLine(line: string): StoredSpan[] {
  return readSpans(parseObject(line))
}

/** The only non-OTLP line of a trace log: the spans that its process has open. */
const OPEN_NOTE = 'hookspan.open'

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
 * Reads a file of OTLP/JSON lines, one line at a time. Unreadable lines are reported and skipped. Lines for whose text
 * `mayMatter` returns false are not parsed. `onRead` is that of `readFileLines`.
 */
export async function* readTraceFile(
  path: string,
  mayMatter: (line: string) => boolean = () => true,
  onRead?: OnRead,
): AsyncGenerator<TraceFileEntry, void> {
  for await (const line of readFileLines(path, onRead))
    if ('problem' in line || mayMatter(line.text)) yield readEntry(line)
}

export function readEntry(line: NumberedLine): TraceFileEntry {
  if ('problem' in line) return line
  try {
    const request = parseObject(line.text)
    const note = request[OPEN_NOTE]
    const open = isRecord(note) ? readSpans(note) : []
    return { spans: readSpans(request), running: open.map(span => ({ ...span, endAt: span.startAt, running: true })) }
  } catch (error) {
    if (error instanceof ExportLineError) return { line: line.line, problem: error.message }
    throw error
  }
}

function parseObject(line: string): Record<string, unknown> {
  const value = parseJson(line)
  if (value === undefined) throw new ExportLineError('not valid JSON')
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
  const { flags } = span
  const isRemote = typeof flags === 'number' && (flags & REMOTE_PARENT) === REMOTE_PARENT
  const parentSpanId = readId(span['parentSpanId'])
  return {
    traceId: requireId(span['traceId'], 'traceId'),
    spanId: requireId(span['spanId'], 'spanId'),
    ...(parentSpanId !== undefined && { parentSpanId }),
    ...(parentSpanId !== undefined && isRemote && { parentIsRemote: true }),
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

function readLink({ traceId, spanId, attributes }: Record<string, unknown>): StoredLink {
  return { traceId: text(traceId), spanId: text(spanId), attributes: readAttributes(attributes) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function requireId(value: unknown, what: string): string {
  const id = readId(value)
  if (id === undefined) throw new ExportLineError(`a span without ${what}`)
  return id
}

/** Some writers encode a missing id as zeros. */
function readId(value: unknown): string | undefined {
  return typeof value === 'string' && /[^0]/.test(value) ? value : undefined
}

/** Two flag bits. One means that the remoteness of the parent is known, the other that the parent is remote. */
const REMOTE_PARENT = 0x300

function readEnum<Name extends string>(value: unknown, names: readonly Name[], prefix: string): Name {
  const found =
    typeof value === 'string'
      ? names.find(name => value === prefix + name.toUpperCase())
      : names[typeof value === 'number' ? value : 0]
  return found ?? (names[0] as Name)
}

/** Nanoseconds do not fit into a double. They are divided as integers, so that round milliseconds stay round. */
export function readTime(nanos: unknown): number | undefined {
  const digits = typeof nanos === 'number' && Number.isInteger(nanos) ? BigInt(nanos).toString() : nanos
  if (typeof digits !== 'string' || !/^\d{1,20}$/.test(digits)) return undefined
  const whole = BigInt(digits)
  return Number(whole / 1_000_000n) + Number(whole % 1_000_000n) / 1e6
}

import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { CRASHED } from './crashed-spans.ts'
import { type SegmentIdentity, segmentIdentity } from './segment-file.ts'
import { readHeader, SegmentReader } from './segment-reader.ts'
import { NOT_KEPT } from './settings.ts'
import { SpanLine } from './span-line.ts'
import type { StoredLine } from './stored-line.ts'

/** A clock may have been set back. */
const CLOCK_MILLIS = 3_600_000
const NANOS_PER_MILLI = 1_000_000n
const TRACE_ID_CHARS = 32

/** What segments say of a trace. */
interface HeldTrace {
  readonly spans: Timed[]
  /** Of spans that say it, by their keys: whether what they are the root of is kept. */
  readonly said: Map<string, boolean>
  /** Another process has gone on with it, and holds it. */
  isTakenUp: boolean
}

/** A span by its key, and when it was: nanoseconds since the epoch, as far as a number has room for them. */
interface Timed {
  readonly key: string
  /** Of its trace so many had ended before: clocks tell milliseconds alone. */
  readonly order: number
  readonly start: number
  readonly end: number
}

export interface HeldBack {
  /** A segment of a process that was killed, in which nothing is open any more. */
  readonly path: string
  /** As in `LocalLogSettings`. */
  readonly heldBy: string
  /** Where the segments of what is kept are. */
  readonly keptTraces: string
  /** As in `Continued`. */
  readonly isTakenUp: (key: string) => boolean
}

/**
 * The spans that a process which was killed had held back, or had just decided to send: of the traces in one of its segments,
 * those that nobody has judged, and those that are kept, as far as they do not stand in the log of what is kept. So nothing
 * is given twice, however often it is asked. Begun in earlier segments of the process, or of one that it has gone on with, a
 * trace is given from there on.
 *
 * @throws the error of the file system
 */
export async function* spansHeldBack({
  path,
  heldBy,
  keptTraces,
  isTakenUp,
}: HeldBack): AsyncGenerator<ReadableSpan[]> {
  const { traces, since } = await tracesIn(path, isTakenUp)
  const { marks, continuedMillis } = await readHeader(path)
  const { incomplete } = marks
  const paths = await segmentsOf(path, since, continuedMillis > 0 ? heldBy : undefined)
  for (const each of paths) await judge(each, { heldBy, incomplete }, traces)
  const wanted = new Set<string>()
  for (const trace of traces.values()) if (!trace.isTakenUp) addOwed(trace, wanted)
  if (wanted.size === 0) return
  for (const key of await writtenSince(keptTraces, since)) wanted.delete(key)
  const isMissing = (span: ReadableSpan): boolean => {
    const { traceId, spanId } = span.spanContext()
    return wanted.has(`${traceId}${spanId}`)
  }
  for (const each of paths.filter(each => startOf(each) <= startOf(path))) {
    for await (const line of linesOf(each)) {
      const spans = line instanceof SpanLine && names(line, wanted) ? line.spans.filter(isMissing) : []
      if (spans.length > 0) yield spans
    }
  }
}

/**
 * Adds the spans that are kept, or that nobody has judged. A trace may hold several turns, and is judged, as by `TraceHolder`, each
 * time that nothing of it is open. Where no root said anything then, a clock may have been wrong: such spans are left out only
 * between turns that are.
 */
function addOwed({ spans, said }: HeldTrace, owed: Set<string>): void {
  let [together, unsaid]: [string[], string[]] = [[], []]
  let [until, latest, isSaid] = [0, 0, false]
  let isLetGo: boolean | undefined
  const add = (keys: readonly string[]): void => {
    for (const key of keys) owed.add(key)
  }
  const close = (): void => {
    const verdicts = together.flatMap(key => said.get(key) ?? [])
    if (verdicts.length === 0) unsaid = unsaid.concat(together)
    else {
      const isKept = verdicts.includes(true)
      if (isKept) add(together)
      if (isKept || isLetGo === false) add(unsaid)
      isLetGo = !isKept
      unsaid = []
    }
    ;[together, isSaid] = [[], false]
  }
  for (const { key, order, start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start > until || (start === until && isSaid && order > latest)) close()
    together.push(key)
    ;[until, latest, isSaid] = [Math.max(until, end), Math.max(latest, order), isSaid || said.has(key)]
  }
  close()
  if (isLetGo !== true) add(unsaid)
}

/** `since`: when the first of them began, epoch milliseconds. */
async function tracesIn(
  path: string,
  isTakenUp: HeldBack['isTakenUp'],
): Promise<{ readonly traces: Map<string, HeldTrace>; readonly since: number }> {
  const traces = new Map<string, HeldTrace>()
  let since = Number.POSITIVE_INFINITY
  const meet = (key: string, startAt: number): void => {
    const traceId = key.slice(0, TRACE_ID_CHARS)
    const trace = traces.get(traceId) ?? { spans: [], said: new Map(), isTakenUp: false }
    trace.isTakenUp ||= isTakenUp(key)
    traces.set(traceId, trace)
    since = Math.min(since, startAt)
  }
  for await (const line of linesOf(path)) {
    if (line instanceof SpanLine) for (const { key, start } of line.stamps()) meet(key, millisOf(start))
    else if (line.kind === 'open') {
      for (const span of line.spans) {
        const { traceId, spanId } = span.spanContext()
        meet(`${traceId}${spanId}`, span.startTime[0] * 1000)
      }
    }
  }
  return { traces, since: since - CLOCK_MILLIS }
}

/** What was still open when the process was killed had not been judged, whatever a root had said before. */
async function judge(
  path: string,
  { heldBy, incomplete }: { readonly heldBy: string; readonly incomplete: string },
  traces: ReadonlyMap<string, HeldTrace>,
): Promise<void> {
  for await (const line of linesOf(path)) {
    if (!(line instanceof SpanLine)) continue
    for (const { key, start, end } of line.stamps()) {
      const spans = traces.get(key.slice(0, TRACE_ID_CHARS))?.spans
      spans?.push({ key, order: spans.length, start: Number(start), end: Number(end) })
    }
    if (!line.json.includes(heldBy) && !line.json.includes(CRASHED)) continue
    for (const span of line.spans) {
      const { traceId, spanId } = span.spanContext()
      const reason = span.attributes[heldBy]
      const isCrashed = span.attributes[incomplete] === CRASHED
      if (typeof reason !== 'string' && !isCrashed) continue
      traces.get(traceId)?.said.set(`${traceId}${spanId}`, reason !== NOT_KEPT)
    }
  }
}

function names(line: SpanLine, wanted: ReadonlySet<string>): boolean {
  for (const { key } of line.stamps()) if (wanted.has(key)) return true
  return false
}

/**
 * Those of the process that wrote a segment that were written to since then, oldest first; and, where what it held may have gone
 * from one process to the next (`heldBy`), those of the processes that may have had it before or after.
 */
async function segmentsOf(path: string, since: number, heldBy: string | undefined): Promise<string[]> {
  const own = identityOf(path)
  const found: string[] = []
  for (const each of await segmentsIn(dirname(path), since)) {
    const isOwn = each === path || (own !== undefined && identityOf(each)?.pid === own.pid)
    if (isOwn || (heldBy !== undefined && (await isHandedOn(each, heldBy)))) found.push(each)
  }
  return found
}

/** Of a process that did not hold anything, the backends have, or are owed, what it has written. */
async function isHandedOn(path: string, heldBy: string): Promise<boolean> {
  const header = await readHeader(path)
  return header.continuedMillis > 0 && header.heldBy === heldBy
}

/** Spans, by trace id and span id. */
async function writtenSince(directory: string, since: number): Promise<ReadonlySet<string>> {
  const written = new Set<string>()
  for (const path of await segmentsIn(directory, since)) {
    for await (const line of linesOf(path)) {
      if (line instanceof SpanLine) for (const { key } of line.stamps()) written.add(key)
    }
  }
  return written
}

async function segmentsIn(directory: string, since: number): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  const found: string[] = []
  for (const path of names.map(name => join(directory, name))) {
    if (identityOf(path) === undefined) continue
    if (((await stat(path).catch(() => undefined))?.mtimeMs ?? 0) >= since) found.push(path)
  }
  return found.sort((one, other) => startOf(one) - startOf(other))
}

async function* linesOf(path: string): AsyncGenerator<SpanLine | StoredLine, void> {
  const reader = new SegmentReader(path)
  try {
    yield* reader.found(0, (await stat(path)).size)
  } finally {
    await reader.close()
  }
}

function identityOf(path: string): SegmentIdentity | undefined {
  return segmentIdentity(basename(path))
}

function startOf(path: string): number {
  return identityOf(path)?.startAt ?? 0
}

function millisOf(nanos: string): number {
  return Number(BigInt(nanos) / NANOS_PER_MILLI)
}

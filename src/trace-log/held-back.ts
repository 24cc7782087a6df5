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

/** What a segment says of a trace. */
interface HeldTrace {
  isKept: boolean
  isNotKept: boolean
  /** Another process has gone on with it, and holds it. */
  isTakenUp: boolean
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
  const wanted = new Set([...traces].filter(([, trace]) => isOwed(trace)).map(([traceId]) => traceId))
  if (wanted.size === 0) return
  const written = await writtenSince(keptTraces, since)
  const isMissing = (span: ReadableSpan): boolean => {
    const { traceId, spanId } = span.spanContext()
    return wanted.has(traceId) && !written.has(`${traceId}${spanId}`)
  }
  for (const each of paths.filter(each => startOf(each) <= startOf(path))) {
    for await (const line of linesOf(each)) {
      const spans = line instanceof SpanLine && names(line, wanted) ? line.spans.filter(isMissing) : []
      if (spans.length > 0) yield spans
    }
  }
}

function isOwed({ isKept, isNotKept, isTakenUp }: HeldTrace): boolean {
  return !isTakenUp && (isKept || !isNotKept)
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
    const trace = traces.get(traceId) ?? { isKept: false, isNotKept: false, isTakenUp: false }
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
    if (!(line instanceof SpanLine) || !(line.json.includes(heldBy) || line.json.includes(CRASHED))) continue
    for (const span of line.spans) {
      const trace = traces.get(span.spanContext().traceId)
      const reason = span.attributes[heldBy]
      if (trace === undefined) continue
      if (reason === NOT_KEPT) trace.isNotKept = true
      else if (typeof reason === 'string' || span.attributes[incomplete] === CRASHED) trace.isKept = true
    }
  }
}

function names(line: SpanLine, wanted: ReadonlySet<string>): boolean {
  for (const { key } of line.stamps()) if (wanted.has(key.slice(0, TRACE_ID_CHARS))) return true
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

import { basename, dirname, join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { keptDirectory } from './checkpoint.ts'
import type { SegmentListing } from './segment-file.ts'
import { endedKeysIn, linesIn, listSegments, NO_HEADER, readHeader, segmentIdentity } from './segment-file.ts'
import { type LocalLogSettings, NOT_KEPT } from './settings.ts'
import { SpanLine, type SpanStamp, spanKey, TRACE_ID_CHARS } from './span-line.ts'

/** Tolerance for a clock that was set back. */
const CLOCK_MILLIS = 3_600_000
/** Marks spans that a process left open when it was killed. */
export const CRASHED = 'crashed'

interface BufferedTrace {
  readonly spans: Timed[]
  /** Root spans by span key: true if the turn is kept. */
  readonly decisions: Map<string, boolean>
  isContinuedHere: boolean
}

interface Timed extends SpanStamp {
  /** Number of spans of the trace that ended earlier. Clocks resolve milliseconds only. */
  readonly order: number
}

/**
 * The spans that a killed process had buffered, or had just decided to send. Of the traces in one of its segments these are
 * the undecided and the kept ones, except spans in the log of kept traces. Spans written there after one call are therefore
 * not yielded by the next. A trace is read from its start, in earlier segments of the process or of one that it continued.
 *
 * @throws the error of the file system
 */
export async function* undecidedSpans(
  path: string,
  heldBy: string,
  { directory, continued }: Pick<LocalLogSettings, 'directory' | 'continued'>,
): AsyncGenerator<ReadableSpan[]> {
  const { traces, since } = await tracesIn(path, continued?.isContinuedHere ?? (() => false))
  const { marks, continuedMillis } = await readHeader(path)
  const segments = await segmentsOf(path, since, continuedMillis > 0 ? heldBy : undefined)
  const startAt = segmentIdentity(basename(path))?.startAt ?? 0
  for (const each of segments) await readDecisions(each.path, heldBy, marks.incomplete, traces)
  const wanted = new Set<string>()
  for (const trace of traces.values()) if (!trace.isContinuedHere) addMissing(trace, wanted)
  if (wanted.size === 0) return
  for (const kept of await listSegments(join(keptDirectory(directory), 'traces'))) {
    if (kept.changedAt >= since) for await (const key of endedKeysIn(kept.path)) wanted.delete(key)
  }
  for (const each of segments.filter(each => each.startAt <= startAt)) {
    for await (const line of linesIn(each.path)) {
      // Parsed only if it holds such a span.
      if (!(line instanceof SpanLine) || ![...line.stamps()].some(({ key }) => wanted.has(key))) continue
      const spans = line.spans.filter(span => wanted.has(spanKey(span)))
      if (spans.length > 0) yield spans
    }
  }
}

/**
 * Adds the spans that are kept or undecided. A trace may hold several turns. Like in `TailSampler`, a decision applies to
 * all spans up to the moment when none is open. A group without a decided root may be due to a wrong clock: it is dropped
 * only if it lies between turns that are dropped.
 */
function addMissing({ spans, decisions }: BufferedTrace, missing: Set<string>): void {
  let [together, undecided]: [string[], string[]] = [[], []]
  let [until, latest, isDecided] = [0, 0, false]
  let isDropped: boolean | undefined
  const add = (keys: readonly string[]): void => {
    for (const key of keys) missing.add(key)
  }
  const close = (): void => {
    // A spread of very many spans would exceed the stack.
    if (!isDecided) undecided = undecided.concat(together)
    else {
      const isKept = together.some(key => decisions.get(key))
      if (isKept) add(together)
      if (isKept || isDropped === false) add(undecided)
      isDropped = !isKept
      undecided = []
    }
    ;[together, isDecided] = [[], false]
  }
  for (const { key, order, start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start > until || (start === until && isDecided && order > latest)) close()
    together.push(key)
    ;[until, latest, isDecided] = [Math.max(until, end), Math.max(latest, order), isDecided || decisions.has(key)]
  }
  close()
  if (isDropped !== true) add(undecided)
}

/** @returns `since`: start of the first span, epoch milliseconds */
async function tracesIn(
  path: string,
  isContinuedHere: (key: string) => boolean,
): Promise<{ readonly traces: Map<string, BufferedTrace>; readonly since: number }> {
  const traces = new Map<string, BufferedTrace>()
  let since = Number.POSITIVE_INFINITY
  const meet = (key: string, startAt: number): void => {
    const traceId = key.slice(0, TRACE_ID_CHARS)
    const trace = traces.get(traceId) ?? { spans: [], decisions: new Map(), isContinuedHere: false }
    trace.isContinuedHere ||= isContinuedHere(key)
    traces.set(traceId, trace)
    since = Math.min(since, startAt)
  }
  for await (const line of linesIn(path)) {
    if (line instanceof SpanLine) for (const { key, start } of line.stamps()) meet(key, start)
    else if (line.kind === 'open') {
      for (const span of line.spans) meet(spanKey(span), span.startTime[0] * 1000)
    }
  }
  return { traces, since: since - CLOCK_MILLIS }
}

/** Spans still open when the process was killed are undecided, regardless of earlier roots. */
async function readDecisions(
  path: string,
  heldBy: string,
  incomplete: string,
  traces: ReadonlyMap<string, BufferedTrace>,
): Promise<void> {
  for await (const line of linesIn(path)) {
    if (!(line instanceof SpanLine)) continue
    for (const { key, start, end } of line.stamps()) {
      const spans = traces.get(key.slice(0, TRACE_ID_CHARS))?.spans
      spans?.push({ key, order: spans.length, start, end })
    }
    if (!line.json.includes(heldBy) && !line.json.includes(CRASHED)) continue
    for (const span of line.spans) {
      const reason = span.attributes[heldBy]
      const isCrashed = span.attributes[incomplete] === CRASHED
      if (typeof reason !== 'string' && !isCrashed) continue
      traces.get(span.spanContext().traceId)?.decisions.set(spanKey(span), reason !== NOT_KEPT)
    }
  }
}

/** Segments of the same process since then. With `heldBy`, also those of processes that buffered the trace. */
async function segmentsOf(path: string, since: number, heldBy: string | undefined): Promise<SegmentListing[]> {
  const pid = segmentIdentity(basename(path))?.pid
  const found: SegmentListing[] = []
  for (const each of await listSegments(dirname(path))) {
    if (each.changedAt < since) continue
    const isOwn = each.pid === pid
    const header = isOwn || heldBy === undefined ? NO_HEADER : await readHeader(each.path)
    // If a process did not buffer traces, its spans are already sent or pending.
    if (isOwn || (header.continuedMillis > 0 && header.heldBy === heldBy)) found.push(each)
  }
  return found
}

/** Pending spans per backend of an open segment without an owner, if it had been sampled. Excludes dropped traces. */
export async function countUndecided(path: string, settings: LocalLogSettings): Promise<ReadonlyMap<string, number>> {
  const { heldBy, backends } = await readHeader(path)
  if (heldBy === '' || backends.size === 0) return new Map()
  let count = 0
  for await (const spans of undecidedSpans(path, heldBy, settings)) count += spans.length
  return new Map(count === 0 ? [] : [...backends.keys()].map(backend => [backend, count]))
}

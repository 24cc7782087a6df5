import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import {
  type CheckpointEntry,
  keptDirectory,
  listCheckpoints,
  readCheckpoint,
  segmentPath,
  segmentStartAt,
} from './checkpoint-file.ts'
import type { Destinations, StoredLine } from './line-parser.ts'
import { isAlive } from './owner.ts'
import { CRASHED } from './recovery.ts'
import { readHeader, type SegmentIdentity, SegmentReader, segmentIdentity } from './segment-file.ts'
import { type LocalLogSettings, NOT_KEPT } from './settings.ts'
import { SpanLine } from './span-line.ts'

/** Tolerance for a clock that was set back. */
const CLOCK_MILLIS = 3_600_000
const NANOS_PER_MILLI = 1_000_000n
const TRACE_ID_CHARS = 32

interface BufferedTrace {
  readonly spans: Timed[]
  /** Verdicts of root spans by span key: true if the turn is kept. */
  readonly decisions: Map<string, boolean>
  /** This process continues the trace and buffers it. */
  isContinuedHere: boolean
}

/** Key and times of a span. Nanoseconds since the epoch, within the precision of a number. */
interface Timed {
  readonly key: string
  /** Number of spans of the trace that ended earlier. Clocks resolve milliseconds only. */
  readonly order: number
  readonly start: number
  readonly end: number
}

export interface UndecidedSpansOptions {
  /** A segment of a killed process without open spans. */
  readonly path: string
  /** See `LocalLogSettings`. */
  readonly heldBy: string
  /** Directory of the segments of kept traces. */
  readonly keptTraces: string
  /** See `Continued`. */
  readonly isContinuedHere: (key: string) => boolean
}

/**
 * The spans that a killed process had buffered, or had just decided to send. Of the traces in one of its segments these are
 * the undecided and the kept ones, except spans in the log of kept traces. Spans written there after one call are therefore
 * not yielded by the next. A trace is read from its start, in earlier segments of the process or of one that it continued.
 *
 * @throws the error of the file system
 */
export async function* undecidedSpans({
  path,
  heldBy,
  keptTraces,
  isContinuedHere,
}: UndecidedSpansOptions): AsyncGenerator<ReadableSpan[]> {
  const { traces, since } = await tracesIn(path, isContinuedHere)
  const { marks, continuedMillis } = await readHeader(path)
  const { incomplete } = marks
  const paths = await segmentsOf(path, since, continuedMillis > 0 ? heldBy : undefined)
  for (const each of paths) await readDecisions(each, { heldBy, incomplete }, traces)
  const wanted = new Set<string>()
  for (const trace of traces.values()) if (!trace.isContinuedHere) addMissing(trace, wanted)
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
 * Adds the spans that are kept or undecided. A trace may hold several turns. Like in `TailSampler`, a verdict applies to
 * all spans up to the moment when none is open. A group without a root verdict may be due to a wrong clock: it is dropped
 * only if it lies between turns that are dropped.
 */
function addMissing({ spans, decisions: said }: BufferedTrace, owed: Set<string>): void {
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

/** @returns `since`: start of the first span, epoch milliseconds */
async function tracesIn(
  path: string,
  isContinuedHere: UndecidedSpansOptions['isContinuedHere'],
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

/** Spans still open when the process was killed are undecided, regardless of earlier roots. */
async function readDecisions(
  path: string,
  { heldBy, incomplete }: { readonly heldBy: string; readonly incomplete: string },
  traces: ReadonlyMap<string, BufferedTrace>,
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
      traces.get(traceId)?.decisions.set(`${traceId}${spanId}`, reason !== NOT_KEPT)
    }
  }
}

function names(line: SpanLine, wanted: ReadonlySet<string>): boolean {
  for (const { key } of line.stamps()) if (wanted.has(key)) return true
  return false
}

/**
 * Segments of the same process that were written since then, oldest first. With `heldBy`, also those of processes that may
 * have buffered the trace before or after.
 */
async function segmentsOf(path: string, since: number, heldBy: string | undefined): Promise<string[]> {
  const own = identityOf(path)
  const found: string[] = []
  for (const each of await segmentsIn(dirname(path), since)) {
    const isOwn = each === path || (own !== undefined && identityOf(each)?.pid === own.pid)
    if (isOwn || (heldBy !== undefined && (await isContinuedAndBuffered(each, heldBy)))) found.push(each)
  }
  return found
}

/** If a process did not buffer traces, its spans are already sent or pending. */
async function isContinuedAndBuffered(path: string, heldBy: string): Promise<boolean> {
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
    yield* reader.spanLines(0, (await stat(path)).size)
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

/** Undecided segments of killed processes with the same backends. */
export interface UndecidedEntry {
  /** The backends, at these addresses, that a process needs to sample them. */
  readonly destinations: Destinations
  readonly segments: number
  readonly bytes: number
  /** Start of the oldest one, epoch milliseconds. */
  readonly oldestAt: number
}

/**
 * Segments that killed processes had buffered and that are still undecided. Their checkpoints are pending for no backend,
 * so they are in no backlog. Never rejects. Empty if there is no directory.
 */
export async function readUndecided(stateDirectory: string): Promise<readonly UndecidedEntry[]> {
  const rows = new Map<string, UndecidedEntry>()
  // Sequential, like in `readBacklog`.
  for (const entry of await listCheckpoints(stateDirectory)) {
    const found = await undecidedIn(stateDirectory, entry)
    if (found === undefined) continue
    const key = JSON.stringify([...found.destinations].sort())
    rows.set(key, sum(rows.get(key), found))
  }
  return [...rows.values()].sort((one, other) => one.oldestAt - other.oldestAt)
}

async function undecidedIn(stateDirectory: string, entry: CheckpointEntry): Promise<UndecidedEntry | undefined> {
  if (entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())) return undefined
  if ((await readCheckpoint(entry))?.open !== true) return undefined
  const path = segmentPath(stateDirectory, entry.segment)
  const { heldBy, backends: destinations } = await readHeader(path)
  if (heldBy === '' || destinations.size === 0) return undefined
  const bytes = (await stat(path).catch(() => undefined))?.size ?? 0
  return { destinations, segments: 1, bytes, oldestAt: segmentStartAt(entry) }
}

function sum(before: UndecidedEntry | undefined, part: UndecidedEntry): UndecidedEntry {
  if (before === undefined) return part
  return {
    ...part,
    segments: before.segments + part.segments,
    bytes: before.bytes + part.bytes,
    oldestAt: Math.min(before.oldestAt, part.oldestAt),
  }
}

/** True if there is a log of kept traces. Then a process samples recovered traces even if it does not buffer its own. */
export function hasKeptLog(stateDirectory: string): boolean {
  return existsSync(keptDirectory(stateDirectory))
}

/**
 * Number of spans that each backend would have received from an open segment without an owner, if it had been sampled.
 * Excludes dropped traces and spans in the log of kept traces.
 *
 * @throws the error of the file system
 */
export async function countUndecided(
  path: string,
  { directory, continued }: Pick<LocalLogSettings, 'directory' | 'continued'>,
): Promise<ReadonlyMap<string, number>> {
  const { heldBy, backends } = await readHeader(path)
  if (heldBy === '' || backends.size === 0) return new Map()
  const keptTraces = join(keptDirectory(directory), 'traces')
  const isContinuedHere = continued?.isContinuedHere ?? (() => false)
  let count = 0
  for await (const spans of undecidedSpans({ path, heldBy, keptTraces, isContinuedHere })) count += spans.length
  return new Map(count === 0 ? [] : [...backends.keys()].map(backend => [backend, count]))
}

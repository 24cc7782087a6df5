import { existsSync, type Stats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Checkpoint, CheckpointEntry } from './checkpoint.ts'
import { isOwned, listCheckpoints, readCheckpoint, takeOverCheckpoint } from './checkpoint.ts'
import { isContinued as isContinuedSegment } from './continuation.ts'
import { type Destinations, endedSpan, type SegmentMarks } from './line-parser.ts'
import { isMissing, isOurs, logDirectories, makePrivate } from './private-file.ts'
import { SentRecord } from './resend-progress.ts'
import { linesIn, NO_HEADER, readHeader, SegmentFile, segmentIdentity } from './segment-file.ts'
import type { LogOptions, LogSegment, SegmentManager } from './segments.ts'
import { SpanLine, spanKey } from './span-line.ts'
import { CRASHED, undecidedSpans } from './undecided-spans.ts'

export class Recovery {
  readonly #parts: LogOptions
  readonly #stateDirectory: string
  readonly #segments: SegmentManager
  readonly #onCrashed: (crashed: readonly RecoveredTrace[]) => void
  /** Writes to the log of kept traces, if there is one. */
  readonly #writeKept: ((spans: readonly ReadableSpan[]) => Promise<void>) | undefined
  /** Resolves when the current run has ended. */
  running: Promise<void> | undefined
  #isStopped = false
  #isRefused = false

  constructor(
    parts: LogOptions,
    segments: SegmentManager,
    onCrashed: (crashed: readonly RecoveredTrace[]) => void,
    writeKept: ((spans: readonly ReadableSpan[]) => Promise<void>) | undefined,
  ) {
    this.#parts = parts
    this.#stateDirectory = parts.settings.directory
    this.#segments = segments
    this.#onCrashed = onCrashed
    this.#writeKept = writeKept
  }

  /** Resolves when everything possible is taken over, before it is delivered. Never rejects. */
  run(): Promise<void> {
    this.running ??= this.#recoverAll().finally(() => {
      this.running = undefined
    })
    return this.running
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.running
  }

  async #recoverAll(): Promise<void> {
    if (!this.#isPrivate()) return
    for (const entry of await listCheckpoints(this.#stateDirectory)) {
      if (this.#isStopped) return
      if (isOwned(entry)) continue
      try {
        await this.#recoverSegment(entry)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        this.#parts.report.debug(`trace log: ${entry.segment} is left for later (${code ?? String(error)})`)
      }
    }
  }

  /** Files that another user may have placed there are not sent. */
  #isPrivate(): boolean {
    const { report } = this.#parts
    try {
      for (const place of logDirectories(this.#stateDirectory))
        if (existsSync(place)) makePrivate(place, line => report.warn(line))
      return true
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException
      const line = `trace log: the contents of ${path ?? this.#stateDirectory} are not sent, because other users can write there (${code}). Make it yours alone (chmod 700), or set XDG_STATE_HOME to another place`
      if (!this.#isRefused) report.warn(line)
      this.#isRefused = true
      return false
    }
  }

  async #recoverSegment(entry: CheckpointEntry): Promise<void> {
    const { queues } = this.#parts
    const state = await readCheckpoint(entry)
    if (state === undefined) return
    const pending = [...state.delivered.keys()]
    const isMine = pending.length === 0 || pending.some(backend => queues.has(backend))
    if (!state.open && !isMine) return
    const checkpoint = takeOverCheckpoint(this.#stateDirectory, entry)
    if (checkpoint === undefined) return
    try {
      await this.#takeOver(checkpoint, entry)
    } catch (error) {
      checkpoint.release()
      throw error
    }
  }

  async #takeOver(checkpoint: Checkpoint, entry: CheckpointEntry): Promise<void> {
    const { segmentPath: path } = checkpoint
    const { report } = this.#parts
    const stats = await statOf(path)
    if (stats === undefined) return checkpoint.remove()
    if (!stats.isFile() || !isOurs(stats)) {
      report.warn(`trace log: ${path} is not a file of hookspan, and is not sent`)
      return checkpoint.remove()
    }
    if (checkpoint.isDamaged) {
      const consequence = 'its pending spans are unknown and are not sent, but can be read there'
      report.warn(`trace log: the state of ${path} is damaged; ${consequence}`)
    }
    checkpoint.cutTo(stats.size)
    if (checkpoint.open) await this.#endCrashed(checkpoint, writersHeartbeat(entry))
    const segment = this.#segments.addRecovered(checkpoint, (await stat(path)).size)
    await this.#recordMoved(segment)
    for (const backend of checkpoint.backends) this.#parts.queues.get(backend)?.enqueueSegment(segment)
    segment.releaseIfDone()
  }

  /** Records that data for an old address of a backend was sent to its current one. */
  async #recordMoved({ checkpoint, path, bytes }: LogSegment): Promise<void> {
    const { destinations } = this.#parts
    const pending = [...destinations].filter(([backend]) => checkpoint.backends.includes(backend))
    if (pending.length === 0) return
    const { backends: meant } = await readHeader(path)
    const moved = pending.filter(([backend, destination]) => destination !== meant.get(backend))
    const record = moved.length === 0 ? undefined : new SentRecord(this.#stateDirectory, checkpoint.segment)
    for (const [, destination] of moved) record?.set(destination, { since: 0, before: null, offset: bytes })
  }

  /**
   * Open spans and buffered traces may belong to a process that continues the dead one, as long as that process writes
   * (`paths`). A process that has itself continued them knows that they do not.
   */
  async #mayBeContinued(paths: readonly string[], heartbeatAt: number, continuedMillis: number): Promise<boolean> {
    if (continuedMillis === 0 || this.#parts.settings.continued !== undefined) return false
    const writtenAt = await Promise.all(paths.map(async path => (await statOf(path))?.mtimeMs ?? 0))
    return Date.now() < Math.max(heartbeatAt, ...writtenAt) + continuedMillis
  }

  /** Sends the spans that a killed process had buffered. */
  async #sendUndecided(path: string, heldBy: string, backends: Destinations): Promise<boolean> {
    if (backends.size === 0) return true
    if (this.#writeKept === undefined || !isDeepStrictEqual(backends, this.#parts.destinations)) return false
    for await (const spans of undecidedSpans(path, heldBy, this.#parts.settings)) await this.#writeKept(spans)
    return true
  }

  async #endCrashed(checkpoint: Checkpoint, heartbeatAt: number): Promise<void> {
    try {
      const { segmentPath } = checkpoint
      const { continuedMillis, heldBy, backends } = await readHeader(segmentPath)
      const laterPaths = await laterSegments(segmentPath, continuedMillis > 0)
      const mayBeContinued = await this.#mayBeContinued([segmentPath, ...laterPaths], heartbeatAt, continuedMillis)
      const crashed = await this.#endCrashedSpans(segmentPath, heartbeatAt, laterPaths, mayBeContinued)
      if (crashed === undefined) return
      if (crashed.length > 0) this.#onCrashed(crashed)
      const isJudged = heldBy === '' || (!mayBeContinued && (await this.#sendUndecided(segmentPath, heldBy, backends)))
      if (isJudged) checkpoint.close()
    } catch (error) {
      // For example on a full disk. Ended spans are delivered anyway. The next process ends the open ones.
      const { code = String(error) } = error as NodeJS.ErrnoException
      this.#parts.report.debug(`trace log: what was open in ${checkpoint.segment} cannot be ended now (${code})`)
    }
  }

  /**
   * Ends the open spans of a killed process in the segment itself. They keep their true start, and end at the last time at
   * which the process was known to be alive.
   *
   * @param laterPaths newer segments of the process, or of one that continued it. Spans mentioned there are not handled here
   * @returns the affected traces; undefined if some spans stay open
   * @throws the error of the file system
   */
  async #endCrashedSpans(
    path: string,
    heartbeatAt: number,
    laterPaths: readonly string[],
    mayBeContinued: boolean,
  ): Promise<readonly RecoveredTrace[] | undefined> {
    const { continued } = this.#parts.settings
    const { open, marks, lastAt: recordedAt } = await openSpansIn(path, laterPaths)
    for (const key of open.keys()) if (continued?.isContinuedHere(key)) open.delete(key)
    if (open.size === 0) return []
    if (mayBeContinued) return undefined
    const lastAt = lastKnownAt(recordedAt, (await stat(path)).mtimeMs, heartbeatAt)
    const spans = [...open.values()].sort((a, b) => millis(b.startTime) - millis(a.startTime))
    const end = (span: ReadableSpan): ReadableSpan => endedSpan(span, lastAt, marksOf(span, marks))
    await append(path, spans.map(end))
    return tracesOf(spans)
  }
}

/** The heartbeat of the writer, not of a process that took over the segment and died itself. */
function writersHeartbeat({ segment, owner, heartbeatAt }: CheckpointEntry): number {
  return owner !== undefined && owner.pid === segmentIdentity(`${segment}.jsonl`)?.pid ? heartbeatAt : 0
}

function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(error => {
    if (!isMissing(error)) throw error
    return undefined
  })
}

async function laterSegments(path: string, isContinued: boolean): Promise<string[]> {
  const own = segmentIdentity(basename(path))
  const later: string[] = []
  for (const name of await readdir(dirname(path))) {
    const other = segmentIdentity(name)
    if (own === undefined || other === undefined || other.startAt <= own.startAt) continue
    const otherPath = join(dirname(path), name)
    if (other.pid === own.pid || (isContinued && (await isContinuedSegment(otherPath)))) later.push(otherPath)
  }
  return later
}

const SPANS_PER_LINE = 128
const LINE_END: Buffer = Buffer.from('\n')
const LIVE_WITHIN_MILLIS = 60_000

export interface RecoveredTrace {
  readonly traceId: string
  readonly spanId: string
  readonly spans: number
}

function tracesOf(spans: readonly ReadableSpan[]): RecoveredTrace[] {
  const traces = new Map<string, RecoveredTrace>()
  for (const span of spans) {
    const { traceId, spanId } = span.spanContext()
    traces.set(traceId, { traceId, spanId, spans: (traces.get(traceId)?.spans ?? 0) + 1 })
  }
  return [...traces.values()]
}

/**
 * The last time at which the process was known to be alive. For live records, the times of the file and the heartbeat are
 * more accurate than the records. In a replay of old records only their own times count. A record may lie in the future.
 */
function lastKnownAt(recordedAt: number, writtenAt: number, heartbeatAt: number): number {
  const isLive = recordedAt > writtenAt - LIVE_WITHIN_MILLIS
  return isLive ? Math.max(writtenAt, heartbeatAt) : recordedAt
}

async function openSpansIn(
  path: string,
  laterPaths: readonly string[],
): Promise<{ readonly open: Map<string, ReadableSpan>; readonly marks: SegmentMarks; readonly lastAt: number }> {
  const open = new Map<string, ReadableSpan>()
  let { marks } = NO_HEADER
  let lastAt = 0
  for await (const line of linesIn(path)) {
    if (line instanceof SpanLine) {
      for (const { key, start, end } of line.stamps()) {
        lastAt = Math.max(lastAt, start, end)
        open.delete(key)
      }
    } else if (line.kind === 'open') {
      for (const span of line.spans) {
        lastAt = Math.max(lastAt, millis(span.startTime))
        open.set(spanKey(span), span)
      }
    } else if (line.kind === 'header') marks = line.marks
  }
  for (const later of open.size === 0 ? [] : laterPaths) {
    for await (const line of linesIn(later)) {
      if (line instanceof SpanLine) for (const { key } of line.stamps()) open.delete(key)
      else if (line.kind === 'open') for (const span of line.spans) open.delete(spanKey(span))
    }
  }
  return { open, marks, lastAt }
}

function marksOf(span: ReadableSpan, { incomplete, finalStatus, spanKind }: SegmentMarks): Attributes {
  const isRoot = spanKind === '' ? span.parentSpanContext === undefined : span.attributes[spanKind] === 'session'
  return {
    ...(incomplete === '' ? {} : { [incomplete]: CRASHED }),
    ...(isRoot && finalStatus !== '' ? { [finalStatus]: CRASHED } : {}),
  }
}

async function append(path: string, spans: readonly ReadableSpan[]): Promise<void> {
  const file = SegmentFile.open(path)
  try {
    // If the process died in the middle of a line, the remainder must not merge with the next line.
    if (!file.endsWithLine()) await file.append(LINE_END)
    for (let at = 0; at < spans.length; at += SPANS_PER_LINE) {
      const { json } = new SpanLine(spans.slice(at, at + SPANS_PER_LINE))
      await file.append(Buffer.concat([json, LINE_END]))
    }
  } finally {
    file.close()
  }
}

function millis([seconds, nanos]: HrTime): number {
  return seconds * 1000 + nanos / 1e6
}

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { Checkpoint, type CheckpointEntry, isOwned, listCheckpoints, takeOverCheckpoint } from './checkpoint.ts'
import { millisOf, nextPass, ResendProgress, SentRecord, type SentState, type SentTally } from './resend-progress.ts'
import { linesIn, listSegments, readHeader, type SegmentListing } from './segment-file.ts'
import { type LogOptions, LogSegment, type SegmentManager } from './segments.ts'
import { SpanLine } from './span-line.ts'

export interface ResendRequest {
  /** If absent, the trace log is sent, once per backend. Named files are sent on every request. */
  readonly files?: readonly string[]
  readonly traceId?: string | undefined
  readonly since: number
  readonly signal: AbortSignal
}

/**
 * - `sent`: everything requested has been received.
 * - `had`: the backend already has everything.
 * - `left`: a part has not been received.
 * - `owed`: already pending for the backend, which does not accept it.
 * - `running`: the file belongs to a running agent.
 * - `judged`: its traces were buffered for sampling. Kept ones are delivered from a log of their own.
 *   Dropped ones are sent only if the file is named.
 * - `unjudged`: like `judged`, but its process was killed before sampling, and no process has done it since.
 */
export type ResendState = 'sent' | 'had' | 'left' | 'owed' | 'running' | 'judged' | 'unjudged'

export interface ResendOutcome {
  readonly path: string
  readonly backend: string
  readonly state: ResendState
  readonly tally: SentTally
}

/** A named file has no `name`: it is sent regardless of the log. */
type TraceFile = Pick<SegmentListing, 'path' | 'bytes'> & Partial<Pick<SegmentListing, 'name'>>

type TraceStart = (traceId: string) => number

interface Task {
  readonly backend: string
  readonly segment: LogSegment
  readonly progress: ResendProgress
}

const NOTHING: SentTally = { traceIds: new Set(), spans: 0, from: Infinity, to: -Infinity }

/** Sends traces that were never pending for a backend: from before it was configured, or from files of other machines. */
export class Resend {
  readonly #parts: LogOptions
  readonly #stateDirectory: string
  readonly #segments: SegmentManager
  readonly #request: ResendRequest
  readonly #stuck = new Set<string>()
  readonly #outcomes: ResendOutcome[] = []
  readonly #tasks: Task[] = []
  readonly #backends: readonly string[]
  progress: { readonly done: number; readonly total: number } = { done: 0, total: 0 }
  /** Bytes of the files before the current one. */
  #sentBefore = 0
  #files: readonly TraceFile[] = []
  #checkpoints: ReadonlyMap<string, CheckpointEntry> = new Map()
  #begunAt: Promise<TraceStart> | undefined

  constructor(parts: LogOptions, segments: SegmentManager, request: ResendRequest) {
    this.#parts = parts
    this.#stateDirectory = parts.settings.directory
    this.#backends = [...parts.queues.keys()]
    this.#segments = segments
    this.#request = request
  }

  /** Final only after the shutdown of the pipeline, because more spans may arrive until then. */
  outcomes(): readonly ResendOutcome[] {
    const sent = this.#tasks.map(({ backend, segment: { path, bytes }, progress: { offset, tally } }) => {
      const state: ResendState = offset >= bytes ? 'sent' : 'left'
      return { path, backend, state, tally }
    })
    return [...this.#outcomes, ...sent]
  }

  async run(): Promise<void> {
    const { files, signal } = this.#request
    const named = files && [...new Set(files)].map(async path => ({ path, bytes: (await stat(path)).size }))
    this.#files = named ? await Promise.all(named) : await listSegments(join(this.#stateDirectory, 'traces'))
    // Read after the files: a segment's checkpoint is created before the segment.
    this.#checkpoints = new Map((await listCheckpoints(this.#stateDirectory)).map(entry => [entry.segment, entry]))
    const total = this.#files.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const file of this.#files) {
      this.progress = { done: this.#sentBefore, total }
      if (signal.aborted) this.#addOutcome(file, this.#backends, 'left')
      else await this.#sendFile(file)
      this.#sentBefore += file.bytes
    }
    this.progress = { done: total, total }
  }

  async #sendFile(file: TraceFile): Promise<void> {
    const segment = await this.#lockSegment(file)
    if (segment === undefined) return this.#addOutcome(file, this.#backends, 'running')
    const record = file.name === undefined ? undefined : new SentRecord(this.#stateDirectory, file.name)
    const candidates = await this.#candidates(file, segment)
    for (let isFirst = true, open = candidates; open.length > 0; isFirst = false) {
      // An earlier pass may be unfinished, and more may be requested now. The earlier pass is sent first.
      const tasks = await this.#tasksOf(segment, open, record)
      const busy = tasks.map(({ backend }) => backend)
      if (isFirst) this.#addOutcome(file, without(open, busy), 'had')
      await Promise.all(tasks.map(task => this.#deliver(task)))
      open = record === undefined ? [] : without(busy, [...this.#stuck])
    }
    // A request in flight to a stuck backend may still arrive, and must be recorded then.
    if (this.#stuck.size === 0) segment.cancelResends()
  }

  async #lockSegment({ path, name, bytes }: TraceFile): Promise<LogSegment | undefined> {
    if (name === undefined) return new LogSegment(Checkpoint.ofFile(path), bytes, true, this.#backends)
    const owned = [...this.#segments.owned].find(({ checkpoint }) => checkpoint.segment === name)
    if (owned !== undefined) return owned.isWritten ? undefined : owned
    const entry = this.#checkpoints.get(name)
    if (entry && isOwned(entry)) return undefined
    const checkpoint =
      entry === undefined
        ? Checkpoint.lock(this.#stateDirectory, name)
        : takeOverCheckpoint(this.#stateDirectory, entry)
    // It may have grown: the open spans of a dead process were ended.
    return checkpoint && this.#segments.addRecovered(checkpoint, (await stat(path)).size)
  }

  async #candidates(file: TraceFile, { checkpoint, path, bytes }: LogSegment): Promise<readonly string[]> {
    if (file.name === undefined) return this.#backends
    const { backends: meant, heldBy } = await readHeader(path)
    const isPending = (backend: string): boolean => (checkpoint.offsetOf(backend) ?? bytes) < bytes
    const pending = this.#backends.filter(isPending)
    const { destinations } = this.#parts
    const isMeant = (backend: string): boolean => meant.get(backend) === (destinations.get(backend) ?? '')
    const had = without(this.#backends, pending).filter(isMeant)
    this.#addOutcome(file, pending, 'owed')
    this.#addOutcome(file, had, heldBy === '' ? 'had' : checkpoint.open ? 'unjudged' : 'judged')
    return without(this.#backends, [...pending, ...had])
  }

  async #tasksOf(segment: LogSegment, backends: readonly string[], record?: SentRecord): Promise<readonly Task[]> {
    const tasks: Task[] = []
    for (const backend of backends) {
      const destination = this.#parts.destinations.get(backend) ?? ''
      const pass = nextPass(record?.get(destination), this.#request.since, segment.bytes)
      if (pass === undefined) continue
      const { since, before } = pass
      const begunAt = await this.#traceStartsFor(pass)
      const isSelected = (span: ReadableSpan): boolean => {
        const { traceId } = span.spanContext()
        if ((this.#request.traceId ?? traceId) !== traceId) return false
        const at = begunAt?.(traceId) ?? since
        return at >= since && (before === null || at < before)
      }
      const note = (offset: number): void => {
        record?.set(destination, { ...pass, offset })
        this.progress = { ...this.progress, done: this.#sentBefore + offset }
      }
      tasks.push({ backend, segment, progress: new ResendProgress(pass.offset, isSelected, note) })
    }
    return tasks
  }

  async #deliver(task: Task): Promise<void> {
    const { backend, segment, progress } = task
    this.#tasks.push(task)
    if (this.#stuck.has(backend)) return
    const queue = this.#parts.queues.get(backend)
    segment.checkpoint.resends.set(backend, progress)
    queue?.enqueueSegment(segment)
    await queue?.drainRecovered()
    if (progress.offset < segment.bytes) this.#stuck.add(backend)
  }

  #traceStartsFor({ since, before }: SentState): Promise<TraceStart> | undefined {
    if (since === 0 && before === null) return undefined
    this.#begunAt ??= traceStarts(this.#files, this.#request.signal)
    return this.#begunAt
  }

  #addOutcome({ path }: TraceFile, backends: readonly string[], state: ResendState): void {
    for (const backend of backends) this.#outcomes.push({ path, backend, state, tally: NOTHING })
  }
}

function without(backends: readonly string[], others: readonly string[]): readonly string[] {
  return backends.filter(backend => !others.includes(backend))
}

async function traceStarts(files: readonly TraceFile[], signal: AbortSignal): Promise<TraceStart> {
  const begun = new Map<string, number>()
  for (const { path, bytes } of files) {
    for await (const line of linesIn(path, 0, bytes)) {
      if (signal.aborted) break
      for (const span of line instanceof SpanLine ? line.spans : []) {
        const { traceId } = span.spanContext()
        begun.set(traceId, Math.min(begun.get(traceId) ?? Infinity, millisOf(span.startTime)))
      }
    }
  }
  return traceId => begun.get(traceId) ?? 0
}

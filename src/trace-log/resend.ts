import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { adoptCheckpoint, Checkpoint, type CheckpointEntry, listCheckpoints } from './checkpoint.ts'
import { segmentPath } from './checkpoint-file.ts'
import type { SegmentCustody } from './custody.ts'
import { isAlive } from './owner.ts'
import { millisOf, nextPass, ResendProgress, SentRecord, type SentState, type SentTally } from './resend-progress.ts'
import { Segment } from './segment.ts'
import { segmentIdentity } from './segment-file.ts'
import { readHeader, SegmentReader } from './segment-reader.ts'
import type { Destinations } from './stored-line.ts'

/** What somebody asks to be sent. */
export interface ResendRequest {
  /** Absent = the trace log: what each backend has not got, once. Files are sent as often as it is asked. */
  readonly files?: readonly string[]
  /** Only this one. */
  readonly traceId?: string | undefined
  /** Only traces that began then or later, epoch milliseconds; 0 for all. */
  readonly since: number
  /** No further file is begun after it. */
  readonly signal: AbortSignal
}

/**
 * `sent`: all that was wanted has arrived. `had`: nothing was left to send. `left`: some has not arrived. `owed`: it is kept
 * for the backend already, which does not take it. `running`: it belongs to an agent that is running. `judged`: its traces were
 * held until they were judged, and what is kept of them is delivered from a log of its own; what was let go is not sent unless
 * it is named. `unjudged`: as `judged`, but its process was killed before, and nobody has done it since.
 */
export type ResendState = 'sent' | 'had' | 'left' | 'owed' | 'running' | 'judged' | 'unjudged'

export interface ResendOutcome {
  readonly path: string
  readonly backend: string
  readonly state: ResendState
  readonly tally: SentTally
}

/** Gets what was adopted to one backend, or finds that it does not take it for now. */
export interface ResendTaker {
  adopt(segment: Segment): void
  drainAdopted(): Promise<void>
}

export interface ResendParts {
  readonly stateDirectory: string
  readonly custody: SegmentCustody
  readonly takers: ReadonlyMap<string, ResendTaker>
  readonly destinations: Destinations
}

interface TraceFile {
  readonly path: string
  /** Undefined for a file that is no part of the log. */
  readonly segment: string | undefined
  readonly bytes: number
}

type BegunAt = (traceId: string) => number

/** What is to be sent of one file to one backend. */
interface Task {
  readonly backend: string
  readonly segment: Segment
  readonly progress: ResendProgress
}

const NOTHING: SentTally = { traceIds: new Set(), spans: 0, from: Infinity, to: -Infinity }

/** Sends backends what they were never owed: traces from before they were named, or of files from elsewhere. */
export class Resend {
  readonly #parts: ResendParts
  readonly #request: ResendRequest
  /** Backends that do not take what they get for now. */
  readonly #stuck = new Set<string>()
  readonly #outcomes: ResendOutcome[] = []
  readonly #tasks: Task[] = []
  #progress = { done: 0, total: 0 }
  #files: readonly TraceFile[] = []
  #checkpoints: ReadonlyMap<string, CheckpointEntry> = new Map()
  #begunAt: Promise<BegunAt> | undefined

  constructor(parts: ResendParts, request: ResendRequest) {
    this.#parts = parts
    this.#request = request
  }

  /** Bytes that have been gone through, of all of them. */
  get progress(): { readonly done: number; readonly total: number } {
    return this.#progress
  }

  /** What has become of each file for each backend. Whole when the pipeline is shut down: until then more may arrive. */
  outcomes(): readonly ResendOutcome[] {
    const sent = this.#tasks.map(
      ({ backend, segment: { path, bytes }, progress: { offset, tally } }): ResendOutcome => {
        return { path, backend, state: offset >= bytes ? 'sent' : 'left', tally }
      },
    )
    return [...this.#outcomes, ...sent]
  }

  /** Resolves when each backend has what it is to get, or does not take it. @throws the error of the file system */
  async run(): Promise<void> {
    const { files, signal } = this.#request
    this.#files = files ? await namedFiles(files) : await segments(this.#parts.stateDirectory)
    // Read after the files: a segment has its checkpoint before it is there itself.
    this.#checkpoints = new Map(
      (await listCheckpoints(this.#parts.stateDirectory)).map(entry => [entry.segment, entry]),
    )
    const total = this.#files.reduce((sum, { bytes }) => sum + bytes, 0)
    let done = 0
    for (const file of this.#files) {
      if (signal.aborted) this.#say(file, this.#backends(), 'left')
      else await this.#sendFile(file, offset => (this.#progress = { done: done + offset, total }))
      done += file.bytes
      this.#progress = { done, total }
    }
  }

  async #sendFile(file: TraceFile, onSent: (offset: number) => void): Promise<void> {
    const segment = await this.#hold(file)
    if (segment === undefined) return this.#say(file, this.#backends(), 'running')
    const record = file.segment === undefined ? undefined : new SentRecord(this.#parts.stateDirectory, file.segment)
    const candidates = await this.#candidates(file, segment)
    for (let isFirst = true, open = candidates; open.length > 0; isFirst = false) {
      // Something may be left of an earlier time, and more be asked for now: that is sent first.
      const tasks = await this.#tasksOf(segment, open, record, onSent)
      const busy = tasks.map(({ backend }) => backend)
      if (isFirst) this.#say(file, without(open, busy), 'had')
      await Promise.all(tasks.map(task => this.#deliver(task)))
      open = record === undefined ? [] : without(busy, [...this.#stuck])
    }
    // What is in flight to a backend that is stuck may arrive after all, and is to be noted then.
    if (this.#stuck.size === 0) segment.stopSending()
  }

  /** Undefined when another process has it. */
  async #hold({ path, segment: name, bytes }: TraceFile): Promise<Segment | undefined> {
    const { stateDirectory, custody } = this.#parts
    if (name === undefined) {
      return new Segment(
        Checkpoint.ofFile(path),
        { bytes, isAdopted: true, backends: this.#backends() },
        () => undefined,
      )
    }
    const held = [...custody.held].find(({ checkpoint }) => checkpoint.segment === name)
    if (held !== undefined) return held.isWritten ? undefined : held
    const entry = this.#checkpoints.get(name)
    if (entry?.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())) return undefined
    const checkpoint =
      entry === undefined ? Checkpoint.hold(stateDirectory, name) : adoptCheckpoint(stateDirectory, entry)
    // It may have grown by what was open when its process died.
    return checkpoint && custody.adopt(checkpoint, (await stat(path)).size)
  }

  /** The backends that are not known to have it all. */
  async #candidates(file: TraceFile, { checkpoint, path, bytes }: Segment): Promise<readonly string[]> {
    if (file.segment === undefined) return this.#backends()
    const { backends: meant, heldBy } = await readHeader(path)
    const isOwed = (backend: string): boolean => (checkpoint.offsetOf(backend) ?? bytes) < bytes
    const owed = this.#backends().filter(isOwed)
    const had = without(this.#backends(), owed).filter(backend => meant.get(backend) === this.#destination(backend))
    this.#say(file, owed, 'owed')
    this.#say(file, had, heldBy === '' ? 'had' : checkpoint.open ? 'unjudged' : 'judged')
    return without(this.#backends(), [...owed, ...had])
  }

  async #tasksOf(
    segment: Segment,
    backends: readonly string[],
    record: SentRecord | undefined,
    onSent: (offset: number) => void,
  ): Promise<readonly Task[]> {
    const tasks: Task[] = []
    for (const backend of backends) {
      const destination = this.#destination(backend)
      const pass = nextPass(record?.get(destination), this.#request.since, segment.bytes)
      if (pass === undefined) continue
      const note = (state: SentState): void => {
        record?.set(destination, state)
        onSent(state.offset)
      }
      tasks.push({
        backend,
        segment,
        progress: new ResendProgress({
          pass,
          traceId: this.#request.traceId,
          begunAt: await this.#begunFor(pass),
          onSent: note,
        }),
      })
    }
    return tasks
  }

  async #deliver(task: Task): Promise<void> {
    const { backend, segment, progress } = task
    this.#tasks.push(task)
    if (this.#stuck.has(backend)) return
    const taker = this.#parts.takers.get(backend)
    segment.checkpoint.send(backend, progress)
    taker?.adopt(segment)
    await taker?.drainAdopted()
    if (progress.offset < segment.bytes) this.#stuck.add(backend)
  }

  #begunFor({ since, before }: SentState): Promise<BegunAt> | undefined {
    if (since === 0 && before === null) return undefined
    this.#begunAt ??= beginnings(this.#files, this.#request.signal)
    return this.#begunAt
  }

  #say({ path }: TraceFile, backends: readonly string[], state: ResendState): void {
    for (const backend of backends) this.#outcomes.push({ path, backend, state, tally: NOTHING })
  }

  #backends(): readonly string[] {
    return [...this.#parts.takers.keys()]
  }

  #destination(backend: string): string {
    return this.#parts.destinations.get(backend) ?? ''
  }
}

function without(backends: readonly string[], others: readonly string[]): readonly string[] {
  return backends.filter(backend => !others.includes(backend))
}

/** Oldest first. */
async function segments(stateDirectory: string): Promise<TraceFile[]> {
  const names = await readdir(join(stateDirectory, 'traces')).catch(() => [])
  const known = names.map(segmentIdentity).filter(identity => identity !== undefined)
  const files: TraceFile[] = []
  for (const { name } of known.sort((one, other) => one.startAt - other.startAt)) {
    const path = segmentPath(stateDirectory, name)
    const stats = await stat(path).catch(() => undefined)
    if (stats?.isFile()) files.push({ path, segment: name, bytes: stats.size })
  }
  return files
}

function namedFiles(paths: readonly string[]): Promise<TraceFile[]> {
  return Promise.all(
    [...new Set(paths)].map(async path => ({ path, segment: undefined, bytes: (await stat(path)).size })),
  )
}

/** When each trace began, as far as the files tell. */
async function beginnings(files: readonly TraceFile[], signal: AbortSignal): Promise<BegunAt> {
  const begun = new Map<string, number>()
  for (const { path, bytes } of files) {
    const reader = new SegmentReader(path)
    for await (const { line } of reader.lines(0, bytes)) {
      if (signal.aborted) break
      for (const span of line.kind === 'spans' ? line.spans : []) {
        const { traceId } = span.spanContext()
        begun.set(traceId, Math.min(begun.get(traceId) ?? Infinity, millisOf(span.startTime)))
      }
    }
    await reader.close()
  }
  return traceId => begun.get(traceId) ?? 0
}

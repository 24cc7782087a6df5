import { existsSync, type Stats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  adoptCheckpoint,
  type Checkpoint,
  type CheckpointEntry,
  listCheckpoints,
  readCheckpoint,
} from './checkpoint.ts'
import { isContinued as isContinuedSegment } from './continuation.ts'
import { type CrashedTrace, endCrashedSpans } from './crashed-spans.ts'
import type { SegmentCustody } from './custody.ts'
import { isAlive } from './owner.ts'
import { isOwnFile, placesOf, tighten } from './private-place.ts'
import { SentRecord } from './resend-progress.ts'
import type { Segment } from './segment.ts'
import { segmentIdentity } from './segment-file.ts'
import { readHeader } from './segment-reader.ts'
import type { Continued, Report } from './settings.ts'
import type { Destinations } from './stored-line.ts'

/** Who delivers what was left behind to one backend. */
export interface Adopter {
  adopt(segment: Segment): void
  /**
   * A segment goes. Returns who is to be told how many spans it held for this backend at this moment: what is in memory of
   * them is still sent, the rest is lost.
   */
  gone(segment: Segment, reason: string): (owed: number) => void
  /** Spans that another process had left, and that are lost. */
  lose(spans: number, reason: string): void
}

export interface RecoveryParts {
  readonly stateDirectory: string
  readonly custody: SegmentCustody
  readonly adopters: ReadonlyMap<string, Adopter>
  /** Of the adopters. */
  readonly destinations: Destinations
  readonly report: Report
  /** Where this process has gone on with what those before it had left open: it has noted all of that. */
  readonly continued: Continued | undefined
  /** Sends what a process that was killed had held back, of a segment that is held by this attribute; absent where nobody can. */
  readonly sendHeld?: ((path: string, heldBy: string) => Promise<void>) | undefined
  /** Spans that a process that was killed had left open. */
  readonly onCrashed: (crashed: readonly CrashedTrace[]) => void
}

/** Takes care of what processes that have died left behind: ends what was open, and delivers what is owed. */
export class Recovery {
  readonly #parts: RecoveryParts
  #running: Promise<void> | undefined
  #isStopped = false
  #isRefused = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Resolves when everything that can be is adopted; not when it is delivered. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#adoptAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async idle(): Promise<void> {
    await this.#running
  }

  /** Takes no more; resolves when what is being taken has been. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #adoptAll(): Promise<void> {
    if (!this.#isPrivate()) return
    for (const entry of await listCheckpoints(this.#parts.stateDirectory)) {
      if (this.#isStopped) return
      if (entry.owner !== undefined && isAlive(entry.owner, entry.heartbeatAt, Date.now())) continue
      try {
        await this.#adopt(entry)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        this.#parts.report.debug(`trace log: ${entry.segment} is left for later (${code ?? String(error)})`)
      }
    }
  }

  /** What others may have put there is not sent. */
  #isPrivate(): boolean {
    const { stateDirectory, report } = this.#parts
    try {
      for (const place of placesOf(stateDirectory)) if (existsSync(place)) tighten(place, line => report.warn(line))
      return true
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException
      const line = `trace log: what is in ${path ?? stateDirectory} is not sent, because others may write there (${code}). Make it yours alone (chmod 700), or set XDG_STATE_HOME to another place`
      if (!this.#isRefused) report.warn(line)
      this.#isRefused = true
      return false
    }
  }

  async #adopt(entry: CheckpointEntry): Promise<void> {
    const { stateDirectory, adopters } = this.#parts
    const state = await readCheckpoint(entry)
    if (state === undefined) return
    const owed = Object.keys(state.delivered)
    const isMine = owed.length === 0 || owed.some(backend => adopters.has(backend))
    if (!state.open && !isMine) return
    const checkpoint = adoptCheckpoint(stateDirectory, entry)
    if (checkpoint === undefined) return
    try {
      await this.#takeOver(checkpoint, entry)
    } catch (error) {
      checkpoint.release()
      throw error
    }
  }

  async #takeOver(checkpoint: Checkpoint, entry: CheckpointEntry): Promise<void> {
    const { custody, adopters } = this.#parts
    const stats = await statOf(checkpoint.segmentPath)
    if (stats === undefined) {
      checkpoint.remove()
      return
    }
    if (!isOwnFile(stats)) {
      this.#parts.report.warn(`trace log: ${checkpoint.segmentPath} is no file of ours, and is not sent`)
      checkpoint.remove()
      return
    }
    if (checkpoint.isDamaged) {
      this.#parts.report.warn(
        `trace log: what backends had not got of ${checkpoint.segmentPath} is not known any more, and is not sent; it can be read there`,
      )
    }
    checkpoint.cutTo(stats.size)
    if (checkpoint.open) await this.#endCrashed(checkpoint, writersHeartbeat(entry))
    const segment = custody.adopt(checkpoint, (await stat(checkpoint.segmentPath)).size)
    await this.#noteMoved(segment)
    for (const backend of checkpoint.backends) adopters.get(backend)?.adopt(segment)
    segment.settle()
  }

  /** What was meant for another address goes to the one that its backend has now: that one has it then. */
  async #noteMoved({ checkpoint, path, bytes }: Segment): Promise<void> {
    const { stateDirectory, destinations } = this.#parts
    const owed = checkpoint.backends.filter(backend => destinations.has(backend))
    if (owed.length === 0) return
    const { backends: meant } = await readHeader(path)
    const moved = owed.flatMap(backend => {
      const destination = destinations.get(backend)
      return destination === undefined || destination === meant.get(backend) ? [] : [destination]
    })
    const record = moved.length === 0 ? undefined : new SentRecord(stateDirectory, checkpoint.segment)
    for (const destination of moved) record?.set(destination, { since: 0, before: null, offset: bytes })
  }

  /**
   * Only a process that goes on with what others have left knows that it is none of that. One that has gone on with it may hold
   * what was not judged, for as long as it writes (`paths`).
   */
  async #isLeftToOthers(paths: readonly string[], heartbeatAt: number, continuedMillis: number): Promise<boolean> {
    if (continuedMillis === 0 || this.#parts.continued !== undefined) return false
    const writtenAt = await Promise.all(paths.map(async path => (await statOf(path))?.mtimeMs ?? 0))
    return Date.now() < Math.max(heartbeatAt, ...writtenAt) + continuedMillis
  }

  /** False where that is left to a process that sends to the same backends. */
  async #sendHeld(path: string, heldBy: string, backends: Destinations): Promise<boolean> {
    const { sendHeld, destinations } = this.#parts
    if (backends.size === 0) return true
    if (sendHeld === undefined || !isSame(backends, destinations)) return false
    await sendHeld(path, heldBy)
    return true
  }

  async #endCrashed(checkpoint: Checkpoint, heartbeatAt: number): Promise<void> {
    try {
      const { segmentPath } = checkpoint
      const { continuedMillis, heldBy, backends } = await readHeader(segmentPath)
      const laterPaths = await laterSegments(segmentPath, continuedMillis > 0)
      const isLeftToOthers = await this.#isLeftToOthers([segmentPath, ...laterPaths], heartbeatAt, continuedMillis)
      const crashed = await endCrashedSpans(segmentPath, {
        heartbeatAt,
        laterPaths,
        isLeftToOthers,
        isTakenUp: this.#parts.continued?.isTakenUp ?? (() => false),
      })
      if (crashed === undefined) return
      if (crashed.length > 0) this.#parts.onCrashed(crashed)
      const isJudged = heldBy === '' || (!isLeftToOthers && (await this.#sendHeld(segmentPath, heldBy, backends)))
      if (isJudged) checkpoint.close()
    } catch (error) {
      // On a full disk, say. What has ended is delivered all the same; the rest is for the next process.
      const { code = String(error) } = error as NodeJS.ErrnoException
      this.#parts.report.debug(`trace log: what was open in ${checkpoint.segment} cannot be ended now (${code})`)
    }
  }
}

/** The same backends, at the same addresses. */
function isSame(one: Destinations, other: Destinations): boolean {
  return one.size === other.size && [...one].every(([backend, destination]) => other.get(backend) === destination)
}

/** Not that of a process that had taken it over, and died itself. */
function writersHeartbeat({ segment, owner, heartbeatAt }: CheckpointEntry): number {
  return owner !== undefined && owner.pid === segmentIdentity(`${segment}.jsonl`)?.pid ? heartbeatAt : 0
}

/** Undefined where there is none. @throws the error of the file system when it cannot be said */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Those that were begun later by the same process, or by one that has gone on with what is open in it. */
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

import { existsSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { CheckpointEntry } from './checkpoint-file.ts'
import {
  checkpointDirectory,
  checkpointPath,
  FREE,
  isOffset,
  isOwned,
  parseCheckpointName,
  segmentPath,
} from './checkpoint-file.ts'
import { ownerToken, thisOwner } from './owner.ts'
import { createOwnFile, isMissing, OPEN, readOwnFile, saveOwnFile } from './private-file.ts'
import type { ResendProgress } from './resend-progress.ts'

export interface CheckpointContent {
  readonly open: boolean
  /** Number of acknowledged bytes of the segment by backend. */
  readonly delivered: ReadonlyMap<string, number>
  readonly isDamaged: boolean
}

const NOTHING: CheckpointContent = { open: false, delivered: new Map(), isDamaged: false }
/**
 * An unreadable checkpoint counts as open and as pending for no backend: crashed spans can still be found in the segment,
 * and nothing is sent twice. The caller must report it, because undelivered data is lost.
 */
const DAMAGED: CheckpointContent = { open: true, delivered: new Map(), isDamaged: true }

function checkpointText(open: boolean, delivered: ReadonlyMap<string, number>): string {
  // A backend may be named `__proto__`: `fromEntries` defines such a key, an assignment would not.
  return JSON.stringify({ open, delivered: Object.fromEntries(delivered) })
}

function parseCheckpoint(text: string): CheckpointContent {
  try {
    const { open, delivered } = JSON.parse(text) as { open: unknown; delivered: unknown }
    if (typeof open !== 'boolean' || !isOffsets(delivered)) return DAMAGED
    return { open, delivered: new Map(Object.entries(delivered)), isDamaged: false }
  } catch {
    return DAMAGED
  }
}

function isOffsets(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isOffset)
}

export async function readCheckpoint({ path }: CheckpointEntry): Promise<CheckpointContent | undefined> {
  const text = await readFile(path, { encoding: 'utf8', flag: OPEN.read }).catch(() => undefined)
  return text === undefined ? undefined : parseCheckpoint(text)
}

/** `taken`: another process considered this one dead. Only `ours` may be written. */
type Ownership = 'ours' | 'taken' | 'free' | 'removed'

/**
 * The state of one segment: whether it has open spans, and the acknowledged offset of each backend. Every change is saved
 * at once. A change that could not be saved is saved with the next change or heartbeat. If the process ends before that,
 * some spans are sent twice, but none is lost.
 */
export class Checkpoint {
  readonly segment: string
  readonly segmentPath: string
  readonly isDamaged: boolean
  readonly #stateDirectory: string
  readonly #path: string
  readonly #delivered: Map<string, number>
  /** Requested sends to backends for which nothing of the segment is pending. Not saved in this file. */
  readonly #resends = new Map<string, ResendProgress>()
  #open: boolean
  #ownership: Ownership = 'ours'
  #isSaved = true

  constructor(stateDirectory: string, segment: string, content: CheckpointContent, path?: string) {
    this.segment = segment
    this.segmentPath = path ?? segmentPath(stateDirectory, segment)
    this.isDamaged = content.isDamaged
    this.#stateDirectory = stateDirectory
    this.#path = ownPath(stateDirectory, segment)
    this.#delivered = new Map(content.delivered)
    this.#open = content.open
  }

  static create(stateDirectory: string, segment: string, backends: readonly string[]): Checkpoint {
    const delivered = new Map(backends.map(backend => [backend, 0]))
    createOwnFile(ownPath(stateDirectory, segment), checkpointText(true, delivered))
    return new Checkpoint(stateDirectory, segment, { open: true, delivered, isDamaged: false })
  }

  /** Locks a segment that is pending for no backend. Undefined if another process owns it. */
  static lock(stateDirectory: string, segment: string): Checkpoint | undefined {
    createOwnFile(ownPath(stateDirectory, segment), checkpointText(NOTHING.open, NOTHING.delivered))
    const checkpoint = new Checkpoint(stateDirectory, segment, NOTHING)
    if (!checkpoint.#isTaken()) return checkpoint
    checkpoint.remove()
    return undefined
  }

  static ofFile(path: string): Checkpoint {
    const checkpoint = new Checkpoint(dirname(path), basename(path), NOTHING, path)
    checkpoint.#ownership = 'removed'
    return checkpoint
  }

  get open(): boolean {
    return this.#open
  }

  get backends(): readonly string[] {
    return [...this.#delivered.keys()]
  }

  /** Acknowledged bytes. Undefined if nothing is pending or requested for the backend. */
  offsetOf(backend: string): number | undefined {
    return this.resendOf(backend)?.offset ?? this.#delivered.get(backend)
  }

  resendOf(backend: string): ResendProgress | undefined {
    return this.#resends.get(backend)
  }

  setResend(backend: string, progress: ResendProgress | undefined): void {
    if (progress === undefined) this.#resends.delete(backend)
    else this.#resends.set(backend, progress)
  }

  advance(backend: string, offset: number): boolean {
    this.#resends.get(backend)?.advance(offset)
    const before = this.#delivered.get(backend)
    if (before === undefined || !(offset > before)) return this.#ensureSaved()
    this.#delivered.set(backend, offset)
    return this.#save()
  }

  /** Limits offsets to the size of the file, which may have lost its end in a crash of the machine. */
  cutTo(bytes: number): void {
    const beyond = [...this.#delivered].filter(([, offset]) => offset > bytes)
    for (const [backend] of beyond) this.#delivered.set(backend, bytes)
    if (beyond.length > 0) this.#save()
  }

  close(): boolean {
    if (!this.#open) return this.#ensureSaved()
    this.#open = false
    return this.#save()
  }

  cancelDelivery(backend: string): void {
    this.#resends.delete(backend)
    if (this.#delivered.delete(backend)) this.#save()
  }

  /** Removes the file if the checkpoint is closed and every backend has acknowledged `bytes`. Returns true if it is gone. */
  removeIfDone(bytes: number): boolean {
    const offsets = [...this.#delivered.values(), ...[...this.#resends.values()].map(({ offset }) => offset)]
    const isOwed = this.#open || offsets.some(offset => offset < bytes)
    if (this.#ownership === 'ours' && !isOwed) this.remove()
    return this.#ownership === 'removed'
  }

  release(): void {
    this.#ensureSaved()
    if (this.#ownership !== 'ours') return
    this.#ownership = 'free'
    try {
      renameSync(this.#path, checkpointPath(this.#stateDirectory, this.segment, FREE))
    } catch {
      // The file keeps our name, and is taken over after this process has ended.
    }
  }

  /** Updates the heartbeat. False if the checkpoint was released, removed, or taken by another process. */
  touch(): boolean {
    if (!this.#isSaved) this.#save()
    if (this.#ownership !== 'ours') return false
    try {
      updateHeartbeat(this.#path)
    } catch (error) {
      if (isMissing(error)) this.#save()
    }
    return this.#ownership === 'ours'
  }

  remove(): void {
    if (this.#ownership !== 'ours') return
    try {
      unlinkSync(this.#path)
      this.#ownership = 'removed'
    } catch (error) {
      if (isMissing(error)) this.#ownership = 'removed'
    }
  }

  #ensureSaved(): boolean {
    return this.#isSaved || this.#save()
  }

  #save(): boolean {
    this.#isSaved = false
    if (this.#ownership !== 'ours') return false
    this.#isSaved = saveOwnFile(this.#path, checkpointText(this.#open, this.#delivered), this.#mayRecreate)
    return this.#isSaved
  }

  /** A deleted file is recreated, unless it was taken: then a new file would be a second checkpoint of the segment. */
  readonly #mayRecreate = (): boolean => {
    if (this.#isTaken()) this.#ownership = 'taken'
    return this.#ownership === 'ours'
  }

  #isTaken(): boolean {
    try {
      const others = readdirSync(checkpointDirectory(this.#stateDirectory)).filter(
        name => name !== basename(this.#path),
      )
      return others.map(parseCheckpointName).some(name => name?.segment === this.segment && !name.isTemporary)
    } catch {
      return false
    }
  }
}

/**
 * Takes over a free checkpoint or that of a dead process. Returns undefined if its owner lives, if another process was first,
 * or if it cannot be read now. A damaged one is taken, too: see `DAMAGED`.
 */
export function takeOverCheckpoint(stateDirectory: string, entry: CheckpointEntry): Checkpoint | undefined {
  const { segment } = entry
  const path = ownPath(stateDirectory, segment)
  try {
    // The heartbeat may be newer than the directory listing.
    const isTaken = isOwned({ ...entry, heartbeatAt: statSync(entry.path).mtimeMs })
    // Another checkpoint of this segment can only be held by this process. Its file must not be overwritten.
    if (isTaken || existsSync(path)) return undefined
    // Before the rename: under our name with the old heartbeat, a process on another machine would consider us dead.
    updateHeartbeat(entry.path)
    renameSync(entry.path, path)
  } catch {
    return undefined
  }
  try {
    return new Checkpoint(stateDirectory, segment, parseCheckpoint(readOwnFile(path).toString()))
  } catch {
    // For example for lack of file descriptors. The content may be intact, so the file is put back.
    new Checkpoint(stateDirectory, segment, DAMAGED).release()
    return undefined
  }
}

function updateHeartbeat(path: string): void {
  const now = new Date()
  utimesSync(path, now, now)
}

function ownPath(stateDirectory: string, segment: string): string {
  return checkpointPath(stateDirectory, segment, ownerToken(thisOwner()))
}

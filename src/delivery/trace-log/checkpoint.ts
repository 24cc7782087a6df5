import { existsSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { CheckpointContent, CheckpointEntry } from './checkpoint-file.ts'
import {
  checkpointDirectory,
  checkpointPath,
  checkpointText,
  codeOf,
  createCheckpointFile,
  FREE,
  isOffset,
  parseCheckpoint,
  parseCheckpointName,
  segmentPath,
  writeCheckpointFile,
} from './checkpoint-file.ts'
import { isAlive, ownerToken, thisOwner } from './owner.ts'
import { readOwnFile } from './private-file.ts'
import type { ResendProgress } from './resend-progress.ts'

export { type CheckpointEntry, listCheckpoints, readCheckpoint } from './checkpoint-file.ts'

/** `taken`: another process considered this one dead. Only `ours` may be written. */
type Ownership = 'ours' | 'taken' | 'free' | 'removed'

const NOTHING: CheckpointContent = { open: false, delivered: new Map(), isDamaged: false }

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
    createCheckpointFile(ownPath(stateDirectory, segment), checkpointText(true, delivered))
    return new Checkpoint(stateDirectory, segment, { open: true, delivered, isDamaged: false })
  }

  /** Locks a segment that is pending for no backend. Undefined if another process owns it. */
  static lock(stateDirectory: string, segment: string): Checkpoint | undefined {
    createCheckpointFile(ownPath(stateDirectory, segment), checkpointText(NOTHING.open, NOTHING.delivered))
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
    if (before === undefined || !isOffset(offset) || offset <= before) return this.#ensureSaved()
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
      if (codeOf(error) === 'ENOENT') this.#save()
    }
    return this.#ownership === 'ours'
  }

  remove(): void {
    if (this.#ownership !== 'ours') return
    try {
      unlinkSync(this.#path)
      this.#ownership = 'removed'
    } catch (error) {
      if (codeOf(error) === 'ENOENT') this.#ownership = 'removed'
    }
  }

  #ensureSaved(): boolean {
    return this.#isSaved || this.#save()
  }

  #save(): boolean {
    this.#isSaved = false
    if (this.#ownership !== 'ours') return false
    const text = checkpointText(this.#open, this.#delivered)
    try {
      writeCheckpointFile(this.#path, text)
      this.#isSaved = true
    } catch (error) {
      this.#isSaved = codeOf(error) === 'ENOENT' && this.#recreate(text)
    }
    return this.#isSaved
  }

  /** Recreates a deleted file, unless it was taken: then a new file would be a second checkpoint of the segment. */
  #recreate(text: string): boolean {
    if (this.#isTaken()) {
      this.#ownership = 'taken'
      return false
    }
    try {
      createCheckpointFile(this.#path, text)
      return true
    } catch {
      return false
    }
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
 * or if it cannot be read now. A damaged one is taken, too: see `parseCheckpoint`.
 */
export function takeOverCheckpoint(stateDirectory: string, entry: CheckpointEntry): Checkpoint | undefined {
  const path = ownPath(stateDirectory, entry.segment)
  try {
    // Another checkpoint of this segment can only be held by this process. Its file must not be overwritten.
    if (isOwnedByLiving(entry) || existsSync(path)) return undefined
    // Before the rename: under our name with the old heartbeat, a process on another machine would consider us dead.
    updateHeartbeat(entry.path)
    renameSync(entry.path, path)
  } catch {
    return undefined
  }
  return openTakenOver(stateDirectory, entry.segment, path)
}

function openTakenOver(stateDirectory: string, segment: string, path: string): Checkpoint | undefined {
  try {
    return new Checkpoint(stateDirectory, segment, parseCheckpoint(readOwnFile(path).toString()))
  } catch {
    // For example for lack of file descriptors. The content may be intact, so the file is put back.
    new Checkpoint(stateDirectory, segment, { open: true, delivered: new Map(), isDamaged: true }).release()
    return undefined
  }
}

/** The heartbeat may be newer than the directory listing. */
function isOwnedByLiving({ owner, path }: CheckpointEntry): boolean {
  return owner !== undefined && isAlive(owner, statSync(path).mtimeMs, Date.now())
}

function updateHeartbeat(path: string): void {
  const now = new Date()
  utimesSync(path, now, now)
}

function ownPath(stateDirectory: string, segment: string): string {
  return checkpointPath(stateDirectory, segment, ownerToken(thisOwner()))
}

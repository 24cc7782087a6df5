import { existsSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import {
  type CheckpointContent,
  type CheckpointEntry,
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
import { readOwnFile } from './private-place.ts'
import type { ResendProgress } from './resend-progress.ts'

export { type CheckpointEntry, listCheckpoints, readCheckpoint } from './checkpoint-file.ts'

/** `taken`: somebody took us for dead. From every custody but `ours` nothing is written any more. */
type Custody = 'ours' | 'taken' | 'free' | 'removed'

const NOTHING: CheckpointContent = { open: false, delivered: new Map(), isDamaged: false }

/**
 * What has become of one segment: whether spans are open in it, and up to where each backend has it. Every change is
 * saved at once. What could not be saved is kept in memory and saved with the next change or heartbeat; a process that
 * ends before that has some of it sent twice, never lost.
 */
export class Checkpoint {
  readonly segment: string
  readonly segmentPath: string
  /** What a dead process left could not be read: it counts as open, and as owed to nobody. */
  readonly isDamaged: boolean
  readonly #stateDirectory: string
  readonly #path: string
  readonly #delivered: Map<string, number>
  /** What somebody asks to be sent to backends that are owed nothing of it: not kept in this file. */
  readonly #resends = new Map<string, ResendProgress>()
  #open: boolean
  #custody: Custody = 'ours'
  #isSaved = true

  /** Of a file that is there already, under the name of this process: see `create` and `adoptCheckpoint`. */
  constructor(stateDirectory: string, segment: string, content: CheckpointContent, path?: string) {
    this.segment = segment
    this.segmentPath = path ?? segmentPath(stateDirectory, segment)
    this.isDamaged = content.isDamaged
    this.#stateDirectory = stateDirectory
    this.#path = ownPath(stateDirectory, segment)
    this.#delivered = new Map(content.delivered)
    this.#open = content.open
  }

  /** For a new segment, open and owed to `backends` from its start. @throws the error of the file system */
  static create(stateDirectory: string, segment: string, backends: readonly string[]): Checkpoint {
    const delivered = new Map(backends.map(backend => [backend, 0]))
    createCheckpointFile(ownPath(stateDirectory, segment), checkpointText(true, delivered))
    return new Checkpoint(stateDirectory, segment, { open: true, delivered, isDamaged: false })
  }

  /**
   * For a segment that owes nobody anything, so that no other process sends or removes it. Undefined when another one
   * has it. @throws the error of the file system
   */
  static hold(stateDirectory: string, segment: string): Checkpoint | undefined {
    createCheckpointFile(ownPath(stateDirectory, segment), checkpointText(NOTHING.open, NOTHING.delivered))
    const checkpoint = new Checkpoint(stateDirectory, segment, NOTHING)
    if (!checkpoint.#isTaken()) return checkpoint
    checkpoint.remove()
    return undefined
  }

  /** Of a file that is no part of the log: nothing is written down about it. */
  static ofFile(path: string): Checkpoint {
    const checkpoint = new Checkpoint(dirname(path), basename(path), NOTHING, path)
    checkpoint.#custody = 'removed'
    return checkpoint
  }

  /** Spans may be open in the segment that nobody has ended. */
  get open(): boolean {
    return this.#open
  }

  /** To whom the segment is owed. */
  get backends(): readonly string[] {
    return [...this.#delivered.keys()]
  }

  /** Bytes that the backend has acknowledged; undefined when it is owed nothing, and is to be sent nothing. */
  offsetOf(backend: string): number | undefined {
    return this.resendTo(backend)?.offset ?? this.#delivered.get(backend)
  }

  resendTo(backend: string): ResendProgress | undefined {
    return this.#resends.get(backend)
  }

  /** For a backend that is owed nothing of it; undefined ends it. */
  send(backend: string, progress: ResendProgress | undefined): void {
    if (progress === undefined) this.#resends.delete(backend)
    else this.#resends.set(backend, progress)
  }

  /** Never moves back. Returns whether everything is saved. */
  advance(backend: string, offset: number): boolean {
    this.resendTo(backend)?.advance(offset)
    const before = this.#delivered.get(backend)
    if (before === undefined || !isOffset(offset) || offset <= before) return this.#saved()
    this.#delivered.set(backend, offset)
    return this.#save()
  }

  /** The file has only so many bytes: a machine that went down may have lost the end of it. */
  cutTo(bytes: number): void {
    const beyond = [...this.#delivered].filter(([, offset]) => offset > bytes)
    for (const [backend] of beyond) this.#delivered.set(backend, bytes)
    if (beyond.length > 0) this.#save()
  }

  /** No span is open any more. Returns whether everything is saved. */
  close(): boolean {
    if (!this.#open) return this.#saved()
    this.#open = false
    return this.#save()
  }

  /** The backend is owed nothing more of this segment: it gave up, or the segment was pruned. */
  forgive(backend: string): void {
    this.#resends.delete(backend)
    if (this.#delivered.delete(backend)) this.#save()
  }

  /** Removes the file if the checkpoint is closed and every backend has `bytes`. Returns whether it is gone. */
  settle(bytes: number): boolean {
    const offsets = [...this.#delivered.values(), ...[...this.#resends.values()].map(({ offset }) => offset)]
    const isOwed = this.#open || offsets.some(offset => offset < bytes)
    if (this.#custody === 'ours' && !isOwed) this.remove()
    return this.#custody === 'removed'
  }

  /** Lets another process go on with it; this one is done with it. */
  release(): void {
    this.#saved()
    if (this.#custody !== 'ours') return
    this.#custody = 'free'
    try {
      renameSync(this.#path, checkpointPath(this.#stateDirectory, this.segment, FREE))
    } catch {
      // It stays under our name, and is adopted after our end.
    }
  }

  /** Says that we live. False when the checkpoint is not ours any more: released, removed, or somebody took us for dead. */
  touch(): boolean {
    this.#saved()
    if (this.#custody !== 'ours') return false
    try {
      beat(this.#path)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') this.#save()
    }
    return this.#custody === 'ours'
  }

  /** Whatever it is still owed. Nothing happens when it is not ours any more. */
  remove(): void {
    if (this.#custody !== 'ours') return
    try {
      unlinkSync(this.#path)
      this.#custody = 'removed'
    } catch (error) {
      if (codeOf(error) === 'ENOENT') this.#custody = 'removed'
    }
  }

  #saved(): boolean {
    return this.#isSaved || this.#save()
  }

  #save(): boolean {
    this.#isSaved = this.#custody === 'ours' && this.#write(checkpointText(this.#open, this.#delivered))
    return this.#isSaved
  }

  #write(text: string): boolean {
    try {
      writeCheckpointFile(this.#path, text)
      return true
    } catch (error) {
      return codeOf(error) === 'ENOENT' && this.#writeAnew(text)
    }
  }

  /** A file that was deleted is made again. If it was taken, that would be a second checkpoint of the segment. */
  #writeAnew(text: string): boolean {
    if (this.#isTaken()) {
      this.#custody = 'taken'
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
 * Takes over what a dead process left, or what is free. Undefined when its owner lives, when somebody else was first, or
 * when it cannot be read now. A damaged one is taken: see `Checkpoint.isDamaged`.
 */
export function adoptCheckpoint(stateDirectory: string, entry: CheckpointEntry): Checkpoint | undefined {
  const path = ownPath(stateDirectory, entry.segment)
  try {
    // Another checkpoint of this segment can only be one that we hold; its file must not be written over.
    if (isHeld(entry) || existsSync(path)) return undefined
    // Before the renaming: under our name with the old heartbeat, a process of another machine would take us for dead.
    beat(entry.path)
    renameSync(entry.path, path)
  } catch {
    return undefined
  }
  return openAdopted(stateDirectory, entry.segment, path)
}

function openAdopted(stateDirectory: string, segment: string, path: string): Checkpoint | undefined {
  try {
    return new Checkpoint(stateDirectory, segment, parseCheckpoint(readOwnFile(path).toString()))
  } catch {
    // For want of descriptors, say: what it holds is not known to be damaged, so it is put back.
    new Checkpoint(stateDirectory, segment, { open: true, delivered: new Map(), isDamaged: true }).release()
    return undefined
  }
}

/** The heartbeat may be younger than the list. */
function isHeld({ owner, path }: CheckpointEntry): boolean {
  return owner !== undefined && isAlive(owner, statSync(path).mtimeMs, Date.now())
}

function beat(path: string): void {
  const now = new Date()
  utimesSync(path, now, now)
}

function ownPath(stateDirectory: string, segment: string): string {
  return checkpointPath(stateDirectory, segment, ownerToken(thisOwner()))
}

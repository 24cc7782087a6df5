import { existsSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isAlive, type Owner, ownerToken, parseOwner, thisOwner } from './owner.ts'
import { createOwnFile, isMissing, OPEN, readOwnFile, saveOwnFile } from './private-file.ts'
import { isOffset, type ResendProgress } from './resend-progress.ts'
import { segmentIdentity } from './segment-file.ts'

/** `<segment>.<owner>.json`: the name contains the owner. */
const NAME = /^(\d{1,15}-\d{1,10})\.([^.]+)\.json(\.tmp)?$/
const DAY_MILLIS = 86_400_000
const FREE = 'free'

export interface CheckpointEntry {
  readonly segment: string
  readonly owner: Owner | undefined
  readonly path: string
  readonly segmentPath: string
  readonly heartbeatAt: number
}

/** The log of kept traces, used with tail sampling. It has the same layout as the state directory. */
export function keptDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'kept')
}

function segmentPath(stateDirectory: string, segment: string): string {
  return join(stateDirectory, 'traces', `${segment}.jsonl`)
}

function checkpointDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'spool')
}

function checkpointPath(stateDirectory: string, segment: string, holder: string = ownerToken(thisOwner())): string {
  return join(checkpointDirectory(stateDirectory), `${segment}.${holder}.json`)
}

function parseCheckpointName(name: string) {
  const [match, segment = '', holder = '', temporary] = NAME.exec(name) ?? []
  const owner = parseOwner(holder)
  if (match === undefined || (owner === undefined && holder !== FREE)) return undefined
  return { segment, owner, isTemporary: temporary !== undefined }
}

/** Oldest segment first. Foreign files are ignored. Temporary files are removed after a day. Never rejects. */
export async function listCheckpoints(stateDirectory: string): Promise<CheckpointEntry[]> {
  const names = await readdir(checkpointDirectory(stateDirectory)).catch(() => [])
  const entries = await Promise.all(names.map(name => look(stateDirectory, name)))
  const found = entries.filter(entry => entry !== undefined)
  return found.sort((a, b) => segmentStartAt(a) - segmentStartAt(b) || (a.segment < b.segment ? -1 : 1))
}

async function look(stateDirectory: string, fileName: string): Promise<CheckpointEntry | undefined> {
  const path = join(checkpointDirectory(stateDirectory), fileName)
  const name = parseCheckpointName(fileName)
  const stats = name && (await lstat(path).catch(() => undefined))
  if (!name || !stats?.isFile()) return undefined
  const { segment, owner, isTemporary } = name
  if (!isTemporary) {
    return { segment, owner, path, segmentPath: segmentPath(stateDirectory, segment), heartbeatAt: stats.mtimeMs }
  }
  if (stats.mtimeMs < Date.now() - DAY_MILLIS) await rm(path, { force: true }).catch(() => undefined)
  return undefined
}

/** True if the owner is alive. Without an owner, or if it is dead, any process may take the checkpoint over. */
export function isOwned({ owner, heartbeatAt }: CheckpointEntry, now: number = Date.now()): boolean {
  return owner !== undefined && isAlive(owner, heartbeatAt, now)
}

export function segmentStartAt({ segment }: CheckpointEntry): number {
  return segmentIdentity(`${segment}.jsonl`)?.startAt ?? 0
}

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
  readonly resends: Map<string, ResendProgress> = new Map()
  open: boolean
  #ownership: Ownership = 'ours'
  #isSaved = true

  constructor(stateDirectory: string, segment: string, content: CheckpointContent, path?: string) {
    this.segment = segment
    this.segmentPath = path ?? segmentPath(stateDirectory, segment)
    this.isDamaged = content.isDamaged
    this.#stateDirectory = stateDirectory
    this.#path = checkpointPath(stateDirectory, segment)
    this.#delivered = new Map(content.delivered)
    this.open = content.open
  }

  static create(stateDirectory: string, segment: string, backends: readonly string[]): Checkpoint {
    const delivered = new Map(backends.map(backend => [backend, 0]))
    createOwnFile(checkpointPath(stateDirectory, segment), checkpointText(true, delivered))
    return new Checkpoint(stateDirectory, segment, { open: true, delivered, isDamaged: false })
  }

  /** Locks a segment that is pending for no backend. Undefined if another process owns it. */
  static lock(stateDirectory: string, segment: string): Checkpoint | undefined {
    createOwnFile(checkpointPath(stateDirectory, segment), checkpointText(NOTHING.open, NOTHING.delivered))
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

  get backends(): readonly string[] {
    return [...this.#delivered.keys()]
  }

  /** Acknowledged bytes. Undefined if nothing is pending or requested for the backend. */
  offsetOf(backend: string): number | undefined {
    return this.resends.get(backend)?.offset ?? this.#delivered.get(backend)
  }

  advance(backend: string, offset: number): boolean {
    this.resends.get(backend)?.advance(offset)
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
    if (!this.open) return this.#ensureSaved()
    this.open = false
    return this.#save()
  }

  cancelDelivery(backend: string): void {
    this.resends.delete(backend)
    if (this.#delivered.delete(backend)) this.#save()
  }

  /** Removes the file if the checkpoint is closed and every backend has acknowledged `bytes`. Returns true if it is gone. */
  removeIfDone(bytes: number): boolean {
    const offsets = [...this.#delivered.values(), ...[...this.resends.values()].map(({ offset }) => offset)]
    if (!this.open && offsets.every(offset => offset >= bytes)) this.remove()
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
    this.#isSaved = saveOwnFile(this.#path, checkpointText(this.open, this.#delivered), this.#mayRecreate)
    return this.#isSaved
  }

  /** A deleted file is recreated, unless it was taken: then a new file would be a second checkpoint of the segment. */
  readonly #mayRecreate = (): boolean => {
    if (this.#isTaken()) this.#ownership = 'taken'
    return this.#ownership === 'ours'
  }

  #isTaken(): boolean {
    try {
      const names = readdirSync(checkpointDirectory(this.#stateDirectory))
      const others = names.filter(name => name !== basename(this.#path)).map(parseCheckpointName)
      return others.some(other => other?.segment === this.segment && !other.isTemporary)
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
  const path = checkpointPath(stateDirectory, segment)
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

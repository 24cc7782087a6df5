import { renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Owner, parseOwner } from './owner.ts'
import { makePrivateDirectory, OPEN, PRIVATE_FILE, withOwnFile } from './private-place.ts'
import { segmentIdentity } from './segment-file.ts'

/** A write of so much goes into one page of memory: no signal comes between its parts. */
const IN_PLACE_BYTES = 4096
const BLANKS: Buffer = Buffer.alloc(IN_PLACE_BYTES, ' ')
const NAME = /^(\d{1,15}-\d{1,10})\.([^.]+)\.json(\.tmp)?$/

/** In the place of an owner: whoever comes may take it. */
export const FREE = 'free'

export interface CheckpointName {
  readonly segment: string
  /** Absent = free. */
  readonly owner: Owner | undefined
  /** What a process that was killed while it saved has left. */
  readonly isTemporary: boolean
}

/** What a checkpoint says about its segment. */
export interface CheckpointContent {
  /** Spans may be open in it that nobody has ended. */
  readonly open: boolean
  /** Backend → bytes of the segment that it has acknowledged. */
  readonly delivered: ReadonlyMap<string, number>
  readonly isDamaged: boolean
}

/** The log of what is kept and to be sent, where traces are held until they are judged: as the state directory is laid out. */
export function keptDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'kept')
}

export function segmentPath(stateDirectory: string, segment: string): string {
  return join(stateDirectory, 'traces', `${segment}.jsonl`)
}

export function checkpointDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'spool')
}

export function checkpointPath(stateDirectory: string, segment: string, holder: string): string {
  return join(checkpointDirectory(stateDirectory), `${segment}.${holder}.json`)
}

/** Undefined for a file that is none of ours. */
export function parseCheckpointName(name: string): CheckpointName | undefined {
  const [match, segment = '', holder = '', temporary] = NAME.exec(name) ?? []
  const owner = parseOwner(holder)
  if (match === undefined || (owner === undefined && holder !== FREE)) return undefined
  return { segment, owner, isTemporary: temporary !== undefined }
}

export function checkpointText(open: boolean, delivered: ReadonlyMap<string, number>): string {
  // `fromEntries` defines what an assignment would not: a backend may be called `__proto__`.
  return JSON.stringify({ open, delivered: Object.fromEntries(delivered) })
}

/**
 * What cannot be read counts as open and as owed to nobody: crashed spans can still be told from the segment, and
 * nothing is sent twice. Whoever meets it says so, for what had not been delivered will not be.
 */
export function parseCheckpoint(text: string): CheckpointContent {
  try {
    const { open, delivered } = JSON.parse(text) as { open: unknown; delivered: unknown }
    if (typeof open === 'boolean' && isOffsets(delivered)) {
      return { open, delivered: new Map(Object.entries(delivered)), isDamaged: false }
    }
  } catch {
    // Answered below.
  }
  return { open: true, delivered: new Map(), isDamaged: true }
}

function isOffsets(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isOffset)
}

export function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Makes the directory, too. @throws the error of the file system; `EEXIST` when there is one already */
export function createCheckpointFile(path: string, text: string): void {
  makePrivateDirectory(dirname(path))
  try {
    writeFileSync(path, text, { flag: 'wx', mode: PRIVATE_FILE })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') removeQuietly(path)
    throw error
  }
}

/**
 * All or nothing, also when the process is killed in it. Written in place, because some file systems flush a file to the
 * disk before it is renamed onto another one, which takes milliseconds; and because that works on a full disk.
 *
 * @throws the error of the file system; `ENOENT` when there is none
 */
export function writeCheckpointFile(path: string, text: string): void {
  withOwnFile(path, OPEN.change, (descriptor, { size }) => {
    const bytes = Buffer.from(text)
    const length = Math.max(bytes.length, size)
    if (length > IN_PLACE_BYTES) replaceCheckpointFile(path, text)
    else writeAtOnce(descriptor, Buffer.concat([bytes, BLANKS], length))
  })
}

/** To cut the file to its new length would be a second step: blanks behind it do no harm. */
function writeAtOnce(descriptor: number, bytes: Uint8Array): void {
  if (writeSync(descriptor, bytes, 0, bytes.length, 0) < bytes.length) throw new Error('written in part')
}

function replaceCheckpointFile(path: string, text: string): void {
  const temporary = `${path}.tmp`
  try {
    // It may be what a process that was killed has left.
    removeQuietly(temporary)
    writeFileSync(temporary, text, { flag: 'wx', mode: PRIVATE_FILE })
    renameSync(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It stays, and does no harm.
  }
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

const DAY_MILLIS = 86_400_000

/** A checkpoint as it lies in the directory. */
export interface CheckpointEntry {
  readonly segment: string
  /** Undefined = free: whoever comes may take it. */
  readonly owner: Owner | undefined
  readonly path: string
  /** Epoch milliseconds. */
  readonly heartbeatAt: number
}

export interface CheckpointState {
  /** Spans may be open in the segment that nobody has ended. */
  readonly open: boolean
  /** Backend → bytes of the segment that it has acknowledged. Has no prototype: a backend may have any name. */
  readonly delivered: Readonly<Record<string, number>>
  /** Nothing could be read from it: it counts as open, and as owed to nobody. */
  readonly isDamaged: boolean
}

/**
 * By the start of the segment, oldest first. Foreign files are passed over; temporary ones of processes that were killed
 * are removed after a day. Never rejects; none where there is no directory.
 */
export async function listCheckpoints(stateDirectory: string): Promise<CheckpointEntry[]> {
  const directory = checkpointDirectory(stateDirectory)
  const names = await readdir(directory).catch(() => [])
  const entries = await Promise.all(names.map(name => look(join(directory, name), parseCheckpointName(name))))
  return entries.filter(entry => entry !== undefined).sort(bySegmentStart)
}

/** Undefined when it is gone: settled meanwhile, or taken over. */
export async function readCheckpoint(entry: CheckpointEntry): Promise<CheckpointState | undefined> {
  const text = await readFile(entry.path, { encoding: 'utf8', flag: OPEN.read }).catch(() => undefined)
  if (text === undefined) return undefined
  const { open, delivered, isDamaged } = parseCheckpoint(text)
  return { open, delivered: Object.assign(Object.create(null), Object.fromEntries(delivered)), isDamaged }
}

async function look(path: string, name: CheckpointName | undefined): Promise<CheckpointEntry | undefined> {
  const stats = name && (await lstat(path).catch(() => undefined))
  if (!name || !stats?.isFile()) return undefined
  if (!name.isTemporary) return { segment: name.segment, owner: name.owner, path, heartbeatAt: stats.mtimeMs }
  if (stats.mtimeMs < Date.now() - DAY_MILLIS) await rm(path, { force: true }).catch(() => undefined)
  return undefined
}

/** Epoch milliseconds. */
export function segmentStartAt({ segment }: CheckpointEntry): number {
  return segmentIdentity(`${segment}.jsonl`)?.startAt ?? 0
}

function bySegmentStart(one: CheckpointEntry, other: CheckpointEntry): number {
  return segmentStartAt(one) - segmentStartAt(other) || (one.segment < other.segment ? -1 : 1)
}

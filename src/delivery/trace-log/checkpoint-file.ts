import { renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { lstat, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Owner, parseOwner } from './owner.ts'
import { makePrivateDirectory, OPEN, PRIVATE_FILE, withOwnFile } from './private-file.ts'
import { segmentIdentity } from './segment-file.ts'

/** A write of this size fits into one page of memory, so no signal can interrupt it. */
const IN_PLACE_BYTES = 4096
const BLANKS: Buffer = Buffer.alloc(IN_PLACE_BYTES, ' ')
const NAME = /^(\d{1,15}-\d{1,10})\.([^.]+)\.json(\.tmp)?$/

export const FREE = 'free'

export interface CheckpointName {
  readonly segment: string
  readonly owner: Owner | undefined
  readonly isTemporary: boolean
}

export interface CheckpointContent {
  readonly open: boolean
  readonly delivered: ReadonlyMap<string, number>
  readonly isDamaged: boolean
}

/** The log of kept traces, used with tail sampling. It has the same layout as the state directory. */
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

export function parseCheckpointName(name: string): CheckpointName | undefined {
  const [match, segment = '', holder = '', temporary] = NAME.exec(name) ?? []
  const owner = parseOwner(holder)
  if (match === undefined || (owner === undefined && holder !== FREE)) return undefined
  return { segment, owner, isTemporary: temporary !== undefined }
}

export function checkpointText(open: boolean, delivered: ReadonlyMap<string, number>): string {
  // A backend may be named `__proto__`: `fromEntries` defines such a key, an assignment would not.
  return JSON.stringify({ open, delivered: Object.fromEntries(delivered) })
}

/**
 * An unreadable checkpoint counts as open and as pending for no backend: crashed spans can still be found in the segment,
 * and nothing is sent twice. The caller must report it, because undelivered data is lost.
 */
export function parseCheckpoint(text: string): CheckpointContent {
  try {
    const { open, delivered } = JSON.parse(text) as { open: unknown; delivered: unknown }
    if (typeof open === 'boolean' && isOffsets(delivered)) {
      return { open, delivered: new Map(Object.entries(delivered)), isDamaged: false }
    }
  } catch {
    // Handled below.
  }
  return { open: true, delivered: new Map(), isDamaged: true }
}

function isOffsets(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isOffset)
}

export function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

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
 * Atomic, even if the process is killed. Written in place for two reasons: some file systems flush a file to the disk before a
 * rename, which takes milliseconds, and this works on a full disk. Truncating the file would be a second step, so blanks are
 * added, which are harmless.
 *
 * @throws the error of the file system; `ENOENT` if the file does not exist
 */
export function writeCheckpointFile(path: string, text: string): void {
  withOwnFile(path, OPEN.change, (descriptor, { size }) => {
    const bytes = Buffer.from(text)
    const length = Math.max(bytes.length, size)
    if (length > IN_PLACE_BYTES) return replaceCheckpointFile(path, text)
    const padded = Buffer.concat([bytes, BLANKS], length)
    if (writeSync(descriptor, padded, 0, length, 0) < length) throw new Error('written in part')
  })
}

function replaceCheckpointFile(path: string, text: string): void {
  const temporary = `${path}.tmp`
  try {
    // A killed process may have left it.
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
    // The file stays, which is harmless.
  }
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

const DAY_MILLIS = 86_400_000

export interface CheckpointEntry {
  readonly segment: string
  readonly owner: Owner | undefined
  readonly path: string
  readonly heartbeatAt: number
}

export interface CheckpointState {
  readonly open: boolean
  /** Backend -> number of acknowledged bytes of the segment. Has no prototype: a backend may have any name. */
  readonly delivered: Readonly<Record<string, number>>
  readonly isDamaged: boolean
}

/** Oldest segment first. Foreign files are ignored. Temporary files are removed after a day. Never rejects. */
export async function listCheckpoints(stateDirectory: string): Promise<CheckpointEntry[]> {
  const directory = checkpointDirectory(stateDirectory)
  const names = await readdir(directory).catch(() => [])
  const entries = await Promise.all(names.map(name => look(join(directory, name), parseCheckpointName(name))))
  return entries.filter(entry => entry !== undefined).sort(bySegmentStart)
}

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

export function segmentStartAt({ segment }: CheckpointEntry): number {
  return segmentIdentity(`${segment}.jsonl`)?.startAt ?? 0
}

function bySegmentStart(one: CheckpointEntry, other: CheckpointEntry): number {
  return segmentStartAt(one) - segmentStartAt(other) || (one.segment < other.segment ? -1 : 1)
}

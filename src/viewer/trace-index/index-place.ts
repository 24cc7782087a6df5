import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  acquireLock,
  isAlive,
  isOnThisHost,
  type Lock,
  lockHolder,
  ownerToken,
  parseOwner,
  thisOwner,
} from '../../delivery/trace-log/index.ts'
import { makePrivateDirectory } from '../../delivery/trace-log/private-file.ts'
import type { EngineName } from './answers.ts'
import { type Database, openDatabase, removeDatabase, removeLeftLock } from './database.ts'
import { prepareTables, SCHEMA_VERSION, versionOf } from './schema.ts'

const FILE = 'traces.db'
const INDEX = /^(?:native|wasm)-\d+$/
const UNUSED_MILLIS = 7 * 86_400_000
const TEMPORARY = /^hookspan-index-([^.]+)\.\w+$/

/** The directory of a log's index. One per engine and version, because they must not share a file. */
export function indexDirectory(stateDirectory: string, engine: EngineName): string {
  return join(stateDirectory, 'index', `${engine}-${SCHEMA_VERSION}`)
}

export interface OpenIndex {
  readonly database: Database
  readonly isWriter: boolean
  /** Renews the lock for processes that cannot check this pid. @throws the error of the file system when the lock is gone */
  touch(): void
  /** Closes the database. Removes it if it is temporary, or if it is worthless and this process writes it. */
  close(isWorthless?: boolean): void
}

/** Opens an index that lives as long as this process. @throws the error of the file system, or SQLite's */
export async function openTemporary(engine: EngineName): Promise<OpenIndex> {
  removeLeftTemporary()
  const directory = mkdtempSync(join(tmpdir(), `hookspan-index-${ownerToken(thisOwner())}.`))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  try {
    const database = await openWritten(join(directory, FILE), engine)
    // Runs even if the process exits without closing the index.
    process.once('exit', remove)
    const close = (): void => {
      database.close()
      process.off('exit', remove)
      remove()
    }
    return { database, isWriter: true, touch: () => undefined, close }
  } catch (error) {
    remove()
    throw error
  }
}

function removeLeftTemporary(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = parseOwner(TEMPORARY.exec(name)?.[1] ?? '')
    if (owner === undefined || !isOnThisHost(owner) || isAlive(owner, 0, Date.now())) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // It belongs to another user.
    }
  }
}

/**
 * Opens the index beside a log. If another process writes it, it is opened read-only, or a temporary one is opened if the engine
 * cannot share.
 *
 * @throws the error of the file system, or SQLite's
 */
export async function openKept(stateDirectory: string, engine: EngineName): Promise<OpenIndex> {
  const directory = indexDirectory(stateDirectory, engine)
  makePrivateDirectory(join(stateDirectory, 'index'))
  makePrivateDirectory(directory)
  const path = join(directory, FILE)
  const lock = acquireLock(directory, Date.now)
  if ('touch' in lock) {
    removeUnused(join(stateDirectory, 'index'), Date.now())
    return openOwn(path, engine, lock)
  }
  return engine === 'native' ? openOther(path, engine) : openTemporary(engine)
}

/** Removes indexes of other engines or versions, left by a Node or a hookspan that is no longer used. */
function removeUnused(place: string, now: number): void {
  for (const name of readdirSync(place)) {
    const directory = join(place, name)
    const stats = INDEX.test(name) ? lstatSync(directory) : undefined
    if (stats?.isDirectory() !== true || now - stats.mtimeMs < UNUSED_MILLIS) continue
    try {
      if (lockHolder(directory, Date.now) === undefined) rmSync(directory, { recursive: true, force: true })
    } catch {
      // Retried at the next start.
    }
  }
}

async function openOwn(path: string, engine: EngineName, lock: Lock): Promise<OpenIndex> {
  try {
    // Its owner was killed: the lock held here means that no other process uses the database.
    removeLeftLock(path)
    const database = await openWritten(path, engine).catch(() => {
      // The file is damaged or not our index. Its content is still in the log, so it is rebuilt.
      removeDatabase(path)
      return openWritten(path, engine)
    })
    const close = (isWorthless = false): void => {
      database.close()
      if (isWorthless) removeDatabase(path)
      letGo(dirname(path), lock)
    }
    return { database, isWriter: true, touch: () => lock.touch(), close }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * Frees the lock only if this process still holds it. The directory may have been removed, and recreated and locked by another
 * process.
 */
function letGo(directory: string, lock: Lock): void {
  try {
    const holder = lockHolder(directory, Date.now)
    if (holder !== undefined && ownerToken(holder) === ownerToken(thisOwner())) lock.release()
  } catch {
    // Without a directory there is no lock.
  }
}

async function openWritten(path: string, engine: EngineName): Promise<Database> {
  const database = await openDatabase(path, engine)
  try {
    prepareTables(database)
    // Reads the tables, so that damage is detected here rather than later.
    database.all('SELECT * FROM segment, state')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opens another process's index for reading. Falls back to a temporary one, because the writer may still be creating it. */
async function openOther(path: string, engine: EngineName): Promise<OpenIndex> {
  const database = await openDatabase(path, engine, true).catch(() => undefined)
  if (database !== undefined && isPrepared(database)) {
    return { database, isWriter: false, touch: () => undefined, close: () => database.close() }
  }
  database?.close()
  return openTemporary(engine)
}

function isPrepared(database: Database): boolean {
  try {
    return versionOf(database) === SCHEMA_VERSION
  } catch {
    return false
  }
}

/** True if no living process writes it. @throws Error in one line */
export function isWithoutWriter(stateDirectory: string, engine: EngineName): boolean {
  return lockHolder(indexDirectory(stateDirectory, engine), Date.now) === undefined
}

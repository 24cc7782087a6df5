import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  isAlive,
  isHere,
  type Lock,
  lockHolder,
  ownerToken,
  parseOwner,
  takeLock,
  thisOwner,
} from '../trace-log/index.ts'
import { makePrivateDirectory } from '../trace-log/private-place.ts'
import type { EngineName } from './answers.ts'
import { type Database, openDatabase, removeDatabase, removeLeftLock } from './database.ts'
import { prepareTables, SCHEMA_VERSION, versionOf } from './schema.ts'

const FILE = 'traces.db'
const INDEX = /^(?:native|wasm)-\d+$/
const UNUSED_MILLIS = 7 * 86_400_000
const TEMPORARY = /^hookspan-index-([^.]+)\.\w+$/

/** Where the index of a log is kept: one directory for each engine and version, because they must not share a file. */
export function indexDirectory(stateDirectory: string, engine: EngineName): string {
  return join(stateDirectory, 'index', `${engine}-${SCHEMA_VERSION}`)
}

/** A database that is open, and whether it is ours to write. */
export interface OpenIndex {
  readonly database: Database
  readonly isWriter: boolean
  /** Says that we live, to those who cannot look. @throws the error of the file system when the lock is gone */
  touch(): void
  /** Closes it; one that is temporary is removed, and one that is worthless if it is ours. */
  close(isWorthless?: boolean): void
}

/** An index for as long as this process needs it. @throws the error of the file system, or SQLite's */
export async function openTemporary(engine: EngineName): Promise<OpenIndex> {
  removeLeftTemporary()
  const directory = mkdtempSync(join(tmpdir(), `hookspan-index-${ownerToken(thisOwner())}.`))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  try {
    const database = await openWritten(join(directory, FILE), engine)
    // What runs last in a process that is ended in another way.
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

/** Of processes of this machine that were killed. */
function removeLeftTemporary(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = parseOwner(TEMPORARY.exec(name)?.[1] ?? '')
    if (owner === undefined || !isHere(owner) || isAlive(owner, 0, Date.now())) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // It is another user's.
    }
  }
}

/**
 * The index that is kept beside a log. While another process writes it, it is read only; where the engine cannot do that there is a
 * temporary one.
 *
 * @throws the error of the file system, or SQLite's
 */
export async function openKept(stateDirectory: string, engine: EngineName): Promise<OpenIndex> {
  const directory = indexDirectory(stateDirectory, engine)
  makePrivateDirectory(join(stateDirectory, 'index'))
  makePrivateDirectory(directory)
  const path = join(directory, FILE)
  const lock = takeLock(directory, Date.now)
  if ('touch' in lock) {
    removeUnused(join(stateDirectory, 'index'), Date.now())
    return openOwn(path, engine, lock)
  }
  return engine === 'native' ? openOther(path, engine) : openTemporary(engine)
}

/** Of another engine, or of another version: of a Node, or of a hookspan, that is used no more. */
function removeUnused(place: string, now: number): void {
  for (const name of readdirSync(place)) {
    const directory = join(place, name)
    const stats = INDEX.test(name) ? lstatSync(directory) : undefined
    if (stats?.isDirectory() !== true || now - stats.mtimeMs < UNUSED_MILLIS) continue
    try {
      if (lockHolder(directory, Date.now) === undefined) rmSync(directory, { recursive: true, force: true })
    } catch {
      // It is for the next time.
    }
  }
}

async function openOwn(path: string, engine: EngineName, lock: Lock): Promise<OpenIndex> {
  try {
    // Whoever had made it has been killed: nobody else uses the database.
    removeLeftLock(path)
    const database = await openWritten(path, engine).catch(() => {
      // It is damaged, or no index of ours. What is in it is in the log, too.
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
    lock.free()
    throw error
  }
}

/** Somebody may have removed the directory, and another process have made it, and its lock, again. */
function letGo(directory: string, lock: Lock): void {
  try {
    const holder = lockHolder(directory, Date.now)
    if (holder !== undefined && ownerToken(holder) === ownerToken(thisOwner())) lock.free()
  } catch {
    // Where there is no directory, there is no lock.
  }
}

async function openWritten(path: string, engine: EngineName): Promise<Database> {
  const database = await openDatabase(path, engine)
  try {
    prepareTables(database)
    // What is damaged is found out here rather than later.
    database.all('SELECT * FROM segment, state')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Its writer may only just be making it. */
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

/** Whether no process that lives writes it. @throws Error in one line */
export function isWithoutWriter(stateDirectory: string, engine: EngineName): boolean {
  return lockHolder(indexDirectory(stateDirectory, engine), Date.now) === undefined
}

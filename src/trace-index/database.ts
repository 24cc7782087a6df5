import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { PRIVATE_FILE } from '../trace-log/private-place.ts'
import type { EngineName } from './answers.ts'

export type Value = string | number | null

/** One connection to an SQLite database, in whichever engine. Statements are prepared once. What throws is SQLite's error. */
export interface Database {
  readonly engine: EngineName
  run(sql: string, ...values: readonly Value[]): void
  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined
  all<Row>(sql: string, ...values: readonly Value[]): Row[]
  /** Several statements, without values. */
  exec(sql: string): void
  close(): void
}

/** What both engines have. */
interface Statement {
  run(...values: readonly unknown[]): unknown
  get(...values: readonly unknown[]): unknown
  all(...values: readonly unknown[]): unknown[]
  finalize?(): void
}

interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** The part of Node's own module that is used: there are no types of it for the oldest Node that we run on. */
interface NativeModule {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => Connection
}

/** Undefined where this Node has none. Whether the module is there counts, not the version. */
function nativeModule(): NativeModule | undefined {
  return process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as NativeModule | undefined
}

/** The engine to use: the one that is asked for, else Node's own where it has one. */
export function engineHere(asked?: EngineName): EngineName {
  return asked ?? (nativeModule() === undefined ? 'wasm' : 'native')
}

/** Statements whose text depends on what is asked. */
const MOST_STATEMENTS = 200

/** Large transactions are written from memory; what is searched for stays there. */
const CACHE = 'PRAGMA cache_size = -32768; PRAGMA synchronous = NORMAL;'
/** Others may read beside us. */
const SHARED = 'PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 33554432; PRAGMA busy_timeout = 2000;'
/** It has no shared memory: what others could read would not be what stands there. */
const ALONE = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE;'

/**
 * Opens a database file, and makes it when there is none. Only one process may write it, and the WASM engine only be used
 * by that one: who calls this has seen to it.
 *
 * @throws SQLite's error when the file is no database
 */
export async function openDatabase(path: string, engine: EngineName, readOnly = false): Promise<Database> {
  // Before it gets anything: SQLite would make it as open as the user's other files are.
  if (!readOnly && !existsSync(path)) closeSync(openSync(path, 'a', PRIVATE_FILE))
  const connection = engine === 'native' ? openNative(path, readOnly) : await openWasm(path)
  try {
    if (!readOnly) connection.exec(engine === 'native' ? SHARED : ALONE)
    connection.exec(readOnly ? 'PRAGMA busy_timeout = 2000;' : CACHE)
  } catch (error) {
    connection.close()
    throw error
  }
  return new CachedStatements(connection, engine)
}

/** The database and all that SQLite may have put beside it, locks of processes that were killed included. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  removeLeftLock(path)
}

/**
 * The WASM engine locks by making a directory, which a process that is killed leaves. Who calls this knows that no other process
 * uses the database.
 */
export function removeLeftLock(path: string): void {
  rmSync(`${path}.lock`, { recursive: true, force: true })
}

function openNative(path: string, readOnly: boolean): Connection {
  const sqlite = nativeModule()
  if (sqlite === undefined) throw new Error('this Node has no node:sqlite')
  return new sqlite.DatabaseSync(path, { readOnly })
}

async function openWasm(path: string): Promise<Connection> {
  const { default: sqlite } = await import('node-sqlite3-wasm')
  const database = new sqlite.Database(path)
  return {
    exec: sql => database.exec(sql),
    close: () => database.close(),
    prepare: sql => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => statement.run(values as Value[]),
        get: (...values) => statement.get(values as Value[]) ?? undefined,
        all: (...values) => statement.all(values as Value[]),
        finalize: () => statement.finalize(),
      }
    },
  }
}

class CachedStatements implements Database {
  readonly engine: EngineName
  readonly #connection: Connection
  readonly #statements = new Map<string, Statement>()

  constructor(connection: Connection, engine: EngineName) {
    this.#connection = connection
    this.engine = engine
  }

  run(sql: string, ...values: readonly Value[]): void {
    this.#prepared(sql).run(...values)
  }

  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: readonly Value[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[]
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** The lock of the WASM engine stays as long as there are statements. */
  close(): void {
    this.#finalize()
    this.#connection.close()
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= MOST_STATEMENTS) this.#finalize()
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #finalize(): void {
    for (const statement of this.#statements.values()) statement.finalize?.()
    this.#statements.clear()
  }
}

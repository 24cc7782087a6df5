import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { PRIVATE_FILE } from '../../delivery/trace-log/private-file.ts'
import type { EngineName } from './answers.ts'

export type Value = string | number | null

/** One connection to an SQLite database, in either engine. Statements are prepared once. Errors are SQLite's own. */
export interface Database {
  readonly engine: EngineName
  run(sql: string, ...values: readonly Value[]): void
  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined
  all<Row>(sql: string, ...values: readonly Value[]): Row[]
  exec(sql: string): void
  close(): void
}

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

/** The part of `node:sqlite` that is used. The types of the oldest supported Node do not include the module. */
interface NativeModule {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => Connection
}

/** Undefined if this Node has no `node:sqlite`. Checks for the module, not for the version. */
function nativeModule(): NativeModule | undefined {
  return process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as NativeModule | undefined
}

export function engineHere(asked?: EngineName): EngineName {
  return asked ?? (nativeModule() === undefined ? 'wasm' : 'native')
}

/** Limits the cache of prepared statements, because some statements depend on the query. */
const MAX_STATEMENTS = 200

/** Large transactions are written from memory, and searched pages stay there. */
const CACHE = 'PRAGMA cache_size = -32768; PRAGMA synchronous = NORMAL;'
/** Other processes may read at the same time. */
const SHARED = 'PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 33554432; PRAGMA busy_timeout = 2000;'
/** The WASM engine has no shared memory: other processes would read inconsistent data. */
const ALONE = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE;'

/**
 * Opens a database file, and creates it if there is none. Only one process may write it, and only that one may use the WASM
 * engine. The caller must hold the lock.
 *
 * @throws SQLite's error when the file is no database
 */
export async function openDatabase(path: string, engine: EngineName, readOnly = false): Promise<Database> {
  // Created with private permissions first: SQLite would use the user's default ones.
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

/** Removes the database and all files that SQLite puts beside it, locks of killed processes included. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  removeLeftLock(path)
}

/**
 * Removes the lock directory of the WASM engine, which a killed process leaves behind. The caller must know that no other process
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
    if (this.#statements.size >= MAX_STATEMENTS) this.#finalize()
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #finalize(): void {
    for (const statement of this.#statements.values()) statement.finalize?.()
    this.#statements.clear()
  }
}

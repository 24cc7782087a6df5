import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { StoredSpan } from '../../../src/reading/stored-span.ts'
import type {
  ChildTraces,
  EngineName,
  Numbers,
  NumbersQuery,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
  TurnRow,
} from '../../../src/viewer/trace-index/answers.ts'
import { openDatabase } from '../../../src/viewer/trace-index/database.ts'
import { indexDirectory } from '../../../src/viewer/trace-index/index-place.ts'
import { type IndexSubject, LocalIndex } from '../../../src/viewer/trace-index/local-index.ts'
import { readTrace } from '../../../src/viewer/trace-index/read-places.ts'
import { ScratchReplay } from '../../cli/scratch-replay.ts'
import { afterwards } from '../../support/afterwards.ts'

const hasNative = process.getBuiltinModule('node:sqlite' as 'node:fs') !== undefined
/** Those that there are in this Node. */
export const ENGINES: readonly EngineName[] = hasNative ? ['native', 'wasm'] : ['wasm']

/** The files of a log, by name. */
export type LogTexts = readonly (readonly [string, string])[]

/** A state directory with a trace log that a test writes by hand. */
export class LogScene {
  readonly stateDirectory: string
  readonly #opened: Opened[] = []

  constructor() {
    const directory = mkdtempSync(join(tmpdir(), 'hookspan-index-test-'))
    this.stateDirectory = join(directory, 'hookspan')
    mkdirSync(this.traces, { recursive: true, mode: 0o700 })
    afterwards(() => rmSync(directory, { recursive: true, force: true }))
    afterwards(() => {
      for (const opened of this.#opened) opened.close()
    })
  }

  /** Its log is what the fixtures leave. */
  static of(log: LogTexts): LogScene {
    const scene = new LogScene()
    for (const [name, text] of log) scene.append(name, text)
    return scene
  }

  get traces(): string {
    return join(this.stateDirectory, 'traces')
  }

  /** The segment of a process that began so many milliseconds after the others. */
  path(name: string): string {
    return join(this.traces, name)
  }

  append(name: string, text: string): void {
    appendFileSync(this.path(name), text)
  }

  lines(name: string, ...lines: readonly string[]): void {
    this.append(name, lines.map(line => `${line}\n`).join(''))
  }

  replace(name: string, text: string): void {
    writeFileSync(this.path(name), text)
  }

  remove(name: string): void {
    rmSync(this.path(name))
  }

  database(engine: EngineName): string {
    return join(indexDirectory(this.stateDirectory, engine), 'traces.db')
  }

  open(engine: EngineName, pause?: () => Promise<void>, now?: () => number): Promise<Opened> {
    return this.openSubject({ kind: 'log', stateDirectory: this.stateDirectory }, engine, pause, now)
  }

  async openSubject(
    subject: IndexSubject,
    engine: EngineName,
    pause?: () => Promise<void>,
    now?: () => number,
  ): Promise<Opened> {
    const opened = new Opened(await LocalIndex.open({ subject, engine }, pause, now))
    this.#opened.push(opened)
    return opened
  }

  /** All that there is, in an index that is closed again. */
  async indexed(engine: EngineName): Promise<void> {
    const opened = await this.open(engine)
    await opened.catchUp()
    opened.close()
  }

  /** What a database holds, but for numbers that depend on the order in which things came. */
  async contents(engine: EngineName): Promise<Readonly<Record<string, readonly unknown[]>>> {
    return contentsOf(this.database(engine), engine)
  }
}

/** The log that replays leave, each called with its arguments. */
export async function replayed(...calls: readonly (readonly string[])[]): Promise<LogTexts> {
  const scratch = new ScratchReplay()
  try {
    for (const args of calls) {
      const { code, stderr } = await scratch.replay([...args])
      if (code !== 0) throw new Error(stderr)
    }
    const traces = join(scratch.stateDirectory, 'traces')
    return readdirSync(traces).map(name => [name, readFileSync(join(traces, name), 'utf8')] as const)
  } finally {
    scratch.remove()
  }
}

/** An index that is asked as the page would ask. */
export class Opened {
  readonly index: LocalIndex
  #isOpen = true

  constructor(index: LocalIndex) {
    this.index = index
  }

  /** Returns the traces that have changed. */
  async catchUp(): Promise<readonly string[]> {
    const traceIds = new Set<string>()
    for (let step = await this.index.step(); step !== undefined; step = await this.index.step()) {
      for (const id of step.traceIds) traceIds.add(id)
    }
    await this.index.lookWhatIsOpen()
    return [...traceIds].sort()
  }

  status(): SourceStatus {
    const status = this.index.status()
    if (status === undefined) throw new Error('it cannot be said')
    return status
  }

  sessions(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#ask('sessions', query)
  }

  session(id: string): Promise<SessionDetail | undefined> {
    return this.#ask('session', id)
  }

  numbers(query: NumbersQuery = {}): Promise<Numbers> {
    return this.#ask('numbers', query)
  }

  children(traceId: string): Promise<readonly ChildTraces[]> {
    return this.#ask('children', traceId)
  }

  async trace(traceId: string): Promise<readonly StoredSpan[]> {
    return readTrace(traceId, await this.#ask('lines', traceId))
  }

  /** Of all sessions. */
  async turns(): Promise<ReadonlyMap<string, TurnRow>> {
    const turns = new Map<string, TurnRow>()
    for (const { id } of (await this.sessions({ limit: 500 })).rows) {
      for (const turn of (await this.session(id))?.turns ?? []) turns.set(turn.traceId, turn)
    }
    return turns
  }

  async found(query: SessionQuery): Promise<readonly string[]> {
    return (await this.sessions(query)).rows.map(({ id }) => id)
  }

  close(): void {
    if (this.#isOpen) this.index.close()
    this.#isOpen = false
  }

  async #ask<Answer>(question: Parameters<LocalIndex['ask']>[0], given: unknown): Promise<Answer> {
    return (await this.index.ask(question, given as never)) as Answer
  }
}

const CONTENTS: Readonly<Record<string, string>> = {
  spans: `SELECT segment.path AS path, place % (1 << 34) AS at, nth, length, trace_id, span_id, parent_id, span.start_at AS start_at,
    end_at, flags, kept.text AS kept, named.text AS named, rest FROM span JOIN trace ON trace.id = span.trace
    JOIN kept ON kept.id = span.kept JOIN kept AS named ON named.id = span.named
    JOIN segment ON segment.id = place >> 34 ORDER BY path, at`,
  traces: `SELECT trace.*, session.key AS session, root % (1 << 34) AS root, 0 AS id, 0 AS revision FROM trace
    JOIN session ON session.id = trace.session ORDER BY trace_id`,
  sessions: `SELECT session.*, trace.trace_id AS last_trace, 0 AS id FROM session JOIN trace ON trace.id = last_trace ORDER BY key`,
  used: 'SELECT kind, name, trace_id FROM used JOIN trace ON trace.id = used.trace ORDER BY kind, name, trace_id',
  figures:
    'SELECT * FROM figure WHERE count <> 0 OR input <> 0 OR output <> 0 OR nanodollars <> 0 ORDER BY day, kind, agent, name, outcome, bucket',
  segments: 'SELECT path, low, high, text_low, text_high, tail, unreadable FROM segment ORDER BY path',
  words: 'SELECT term, doc FROM terms ORDER BY term',
}

async function contentsOf(path: string, engine: EngineName): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const database = await openDatabase(path, engine)
  try {
    database.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab (main, words, 'row')")
    const rows = Object.entries(CONTENTS).map(([name, sql]) => {
      const all = database.all<Record<string, unknown>>(sql)
      return [
        name,
        all.map(row => ({ ...row, ...(typeof row['path'] === 'string' && { path: basename(row['path']) }) })),
      ]
    })
    return Object.fromEntries(rows) as Readonly<Record<string, readonly unknown[]>>
  } finally {
    database.close()
  }
}

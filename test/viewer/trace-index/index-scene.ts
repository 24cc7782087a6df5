import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { StoredSpan } from '../../../src/reading/stored-span.ts'
import type {
  ChildTraces,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
  TurnRow,
  Usage,
  UsageQuery,
} from '../../../src/viewer/trace-index/answers.ts'
import { type IndexQuery, type IndexSubject, LocalIndex } from '../../../src/viewer/trace-index/local-index.ts'
import { readTrace } from '../../../src/viewer/trace-index/log-file.ts'
import { ScratchReplay } from '../../cli/scratch-replay.ts'
import { afterwards } from '../../support/afterwards.ts'

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

  get snapshot(): string {
    return join(this.stateDirectory, 'index', 'traces.jsonl')
  }

  open(pause?: () => Promise<void>, now?: () => number): Opened {
    return this.openSubject({ kind: 'log', stateDirectory: this.stateDirectory }, pause, now)
  }

  openSubject(subject: IndexSubject, pause?: () => Promise<void>, now?: () => number): Opened {
    const opened = new Opened(new LocalIndex(subject, pause, now))
    this.#opened.push(opened)
    return opened
  }

  /** Indexes everything, and closes the index. */
  async indexed(): Promise<void> {
    const opened = this.open()
    await opened.catchUp()
    opened.close()
  }

  /** The files and lines of the snapshot, and every answer of an index that continues from it. */
  async contents(): Promise<unknown> {
    const [, files = '[]', ...traces] = readFileSync(this.snapshot, 'utf8').split('\n')
    const named = (JSON.parse(files) as { path: string }[]).map(file => ({ ...file, path: basename(file.path) }))
    const lines = traces.slice(0, -1).map(line => {
      const [traceId, places] = JSON.parse(line) as [string, number[]]
      const kept = Array.from({ length: places.length / 3 }, (_, n) => places.slice(n * 3, n * 3 + 3))
      return [traceId, kept.map(([file = 0, ...place]) => [named[file]?.path, ...place].join(' ')).sort()] as const
    })
    const opened = this.open()
    await opened.catchUp()
    const byName = <Row extends { readonly path: string }>(a: Row, b: Row): number => (a.path < b.path ? -1 : 1)
    return { files: named.sort(byName), lines: Object.fromEntries(lines), ...(await opened.everything()) }
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
    await this.index.readOpenTraces()
    return [...traceIds].sort()
  }

  status(): SourceStatus {
    return this.index.status()
  }

  sessions(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#query('sessions', query)
  }

  session(id: string): Promise<SessionDetail | undefined> {
    return this.#query('session', id)
  }

  usage(query: UsageQuery = {}): Promise<Usage> {
    return this.#query('usage', { timeZone: 'UTC', ...query })
  }

  children(traceId: string): Promise<readonly ChildTraces[]> {
    return this.#query('children', traceId)
  }

  async trace(traceId: string): Promise<readonly StoredSpan[]> {
    return readTrace(traceId, await this.#query('lines', traceId))
  }

  /** Of all sessions. */
  async turns(): Promise<ReadonlyMap<string, TurnRow>> {
    const turns = new Map<string, TurnRow>()
    for (const { id } of (await this.sessions({ limit: 500 })).rows) {
      for (const turn of (await this.session(id))?.turns ?? []) turns.set(turn.traceId, turn)
    }
    return turns
  }

  async everything(): Promise<Readonly<Record<string, unknown>>> {
    const { path: _, ...status } = this.status()
    const turns = await this.turns()
    const traces: unknown[] = []
    for (const id of [...turns.keys()].sort()) traces.push([await this.trace(id), await this.children(id)])
    const sessions = (await this.sessions({ limit: 500 })).rows
    return { status, turns, traces, sessions, usage: await this.usage(), open: this.index.openTraces }
  }

  async found(query: SessionQuery): Promise<readonly string[]> {
    return (await this.sessions(query)).rows.map(({ id }) => id)
  }

  close(): void {
    if (this.#isOpen) {
      this.index.stop()
      this.index.save()
    }
    this.#isOpen = false
  }

  async #query<Answer>(query: IndexQuery, given: unknown): Promise<Answer> {
    return (await this.index.query(query, given as never)) as Answer
  }
}

import { realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isAlive, listCheckpoints } from '../../delivery/trace-log/index.ts'
import { fileErrorReason } from '../../delivery/trace-log/private-file.ts'
import type { PricesConfig } from '../../plugin/config/prices.ts'
import { createSpanPricer } from '../../plugin/prices/span-prices.ts'
import { listSegments } from '../../reading/trace-log.ts'
import type { OpenTraceRow, SourceStatus } from './answers.ts'
import { Indexer, type Step } from './indexer.ts'
import type { LinePlace } from './log-file.ts'
import type { SessionSource } from './session-queries.ts'
import { queryChildren, querySession, querySessions, sessionTitle, titleOf } from './session-queries.ts'
import { loadSnapshot, saveSnapshot } from './snapshot.ts'
import { linesOf, TraceTable } from './trace-table.ts'
import { queryUsage } from './usage-queries.ts'

export type IndexSubject = (
  | { readonly kind: 'log'; readonly stateDirectory: string }
  | { readonly kind: 'directory' | 'file'; readonly path: string }
) & {
  /** Prices of requests that were recorded without a cost. Without it, they have none. */
  readonly prices?: PricesConfig
}

export type IndexQuery = 'sessions' | 'session' | 'children' | 'lines' | 'usage'

const QUERIES: Readonly<Record<IndexQuery, (source: SessionSource, given: never) => unknown>> = {
  sessions: querySessions,
  session: querySession,
  children: queryChildren,
  lines: linesOfTrace,
  usage: ({ table, now }, query) => queryUsage(table, query, now),
}

/** Limit per trace: more would not fit into memory. */
const MAX_LINES = 50_000
/** Reading the log again costs about as long as a snapshot when this much has been indexed since. */
const SAVE_BYTES = 16_777_216

function linesOfTrace({ table }: SessionSource, traceId: string): LinePlace[] {
  const entry = table.traces.get(traceId)
  return entry === undefined ? [] : linesOf(entry).slice(0, MAX_LINES)
}

/** An index in this thread. The caller advances it with `step`, and may query it between two slices of a step. */
export class LocalIndex {
  readonly #subject: IndexSubject
  readonly #stateDirectory: string | undefined
  readonly #tracesPath: string
  readonly #pause: () => Promise<void>
  readonly #now: () => number
  readonly #table: TraceTable
  readonly #indexer: Indexer
  #open: ReadonlyMap<string, OpenTraceRow> = new Map()
  #savedProgress: string
  #unsavedBytes = 0
  #failure: string | undefined
  #saveFailure: string | undefined
  #isStopped = false

  constructor(subject: IndexSubject, pause: () => Promise<void> = async () => undefined, now: () => number = Date.now) {
    this.#subject = subject
    this.#stateDirectory = subject.kind === 'log' ? subject.stateDirectory : undefined
    this.#tracesPath = subject.kind === 'log' ? join(subject.stateDirectory, 'traces') : subject.path
    this.#now = now
    this.#pause = async () => {
      await pause()
      if (this.#isStopped) throw new Error('the index is closed')
    }
    const saved = this.#stateDirectory && loadSnapshot(this.#stateDirectory, subject.prices)
    const { table, files } = saved || { table: new TraceTable(), files: [] }
    this.#table = table
    const price = createSpanPricer(() => subject.prices)
    this.#indexer = new Indexer({ table, files, list: () => this.#listFiles(), pause: this.#pause, price })
    this.#savedProgress = this.#progress
  }

  get isUpToDate(): boolean {
    return this.#indexer.isUpToDate
  }

  get openTraces(): readonly OpenTraceRow[] {
    return [...this.#open.values()]
  }

  async step(): Promise<Step | undefined> {
    try {
      const before = this.#indexedBytes
      const step = await this.#indexer.step()
      this.#failure = undefined
      this.#unsavedBytes += Math.abs(this.#indexedBytes - before)
      if (step === undefined && this.#unsavedBytes >= SAVE_BYTES) this.save()
      return step
    } catch (error) {
      if (this.#isStopped) return undefined
      const { code, syscall } = error as NodeJS.ErrnoException
      if (code === undefined || syscall === undefined) throw error
      this.#failure = `cannot read ${this.#tracesPath}: ${fileErrorReason(error)}`
      return undefined
    }
  }

  async readOpenTraces(): Promise<void> {
    const open = await readOpenTraces(this.#table, this.#stateDirectory, this.#now())
    this.#open = new Map(open.map(trace => [trace.traceId, trace] as const))
  }

  async query(query: IndexQuery, given: never): Promise<unknown> {
    const log = { table: this.#table, files: this.#indexer.files, pause: this.#pause }
    return QUERIES[query]({ ...log, open: this.#open, now: this.#now() }, given)
  }

  status(): SourceStatus {
    const { files } = this.#indexer
    const turns = [...this.#table.traces.values()].flatMap(({ facts }) => facts?.turn ?? [])
    const bytes = files.reduce((sum, file) => sum + Math.max(file.high, this.#indexer.bytesOf(file)), 0)
    const indexedBytes = this.#indexedBytes
    const isWhole = indexedBytes === bytes || turns.length === 0
    return {
      path: this.#tracesPath,
      bytes,
      indexedBytes,
      traceCount: turns.length,
      spanCount: turns.reduce((sum, { spanCount }) => sum + spanCount, 0),
      unreadableCount: files.reduce((sum, { unreadable }) => sum + unreadable, 0),
      indexedSince: isWhole
        ? undefined
        : turns.reduce((first, { startAt }) => Math.min(first, startAt), turns[0]?.startAt ?? 0),
      failure: this.#failure ?? this.#saveFailure,
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Saves a snapshot, so that the next process continues from here. Call when no step is in progress. */
  save(): void {
    const progress = this.#progress
    if (this.#stateDirectory === undefined || this.#savedProgress === progress) return
    try {
      saveSnapshot(this.#stateDirectory, { table: this.#table, files: this.#indexer.files }, this.#subject.prices)
      this.#saveFailure = undefined
    } catch (error) {
      this.#saveFailure = `cannot keep the index in ${this.#stateDirectory}: ${fileErrorReason(error)}`
    }
    this.#savedProgress = progress
    this.#unsavedBytes = 0
  }

  get #indexedBytes(): number {
    return this.#indexer.files.reduce((sum, { low, high }) => sum + high - low, 0)
  }

  /** A snapshot depends on this alone. The number of bytes is not enough: a file may replace another of its length. */
  get #progress(): string {
    return JSON.stringify(this.#indexer.files.map(({ path, low, high, hash }) => [path, low, high, hash]))
  }

  async #listFiles(): Promise<readonly string[]> {
    return this.#subject.kind === 'file' ? [await realpath(this.#subject.path)] : listSegments(this.#tracesPath)
  }
}

/** A machine crash leaves many traces that look open. */
const MAX_TRACES = 300

/**
 * Open traces, the latest activity first.
 *
 * @param stateDirectory only for our own log, in which each process records the file it writes
 */
async function readOpenTraces(
  table: TraceTable,
  stateDirectory: string | undefined,
  now: number,
): Promise<OpenTraceRow[]> {
  const found = [...table.traces.values()].flatMap(entry => {
    const { turn, open } = entry.facts ?? {}
    return turn === undefined || open === undefined ? [] : [{ entry, turn, open }]
  })
  const latest = found.sort((a, b) => b.turn.lastAt - a.turn.lastAt).slice(0, MAX_TRACES)
  const owned = latest.length === 0 ? undefined : await ownedFiles(stateDirectory, now)
  const rows: OpenTraceRow[] = []
  for (const { entry, turn, open } of latest) {
    const { paths, ...facts } = open
    const isOwned = owned === undefined || paths.some(path => owned.has(basename(path)))
    const { traceId, sessionId, agent, model, startAt, lastAt, tokens, cost } = turn
    const row = { traceId, sessionId, agent, model, startAt, silentSince: lastAt, tokens, cost }
    rows.push({
      ...row,
      title: await titleOf(entry),
      sessionTitle: await sessionTitle(table, sessionId),
      state: isOwned ? 'open' : 'owner-dead',
      isOwnerAlive: owned !== undefined && isOwned,
      ...facts,
    })
  }
  return rows
}

async function ownedFiles(stateDirectory: string | undefined, now: number): Promise<ReadonlySet<string> | undefined> {
  if (stateDirectory === undefined) return undefined
  const entries = await listCheckpoints(stateDirectory)
  const owned = entries.filter(({ owner, heartbeatAt }) => owner !== undefined && isAlive(owner, heartbeatAt, now))
  return new Set(owned.map(({ segment }) => `${segment}.jsonl`))
}

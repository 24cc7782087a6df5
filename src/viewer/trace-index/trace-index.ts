import { Worker } from 'node:worker_threads'
import { createSpanPricer } from '../../plugin/prices/span-prices.ts'
import type { SpanPricer, StoredSpan } from '../../reading/stored-span.ts'
import type {
  ChildTraces,
  OpenTraceRow,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
  TraceChange,
  Usage,
  UsageQuery,
} from './answers.ts'
import type { IndexThreadMessage, IndexThreadRequest } from './index-thread.ts'
import type { IndexQuery, IndexSubject } from './local-index.ts'
import { type LinePlace, readTrace } from './log-file.ts'

export type TraceIndexOptions = Readonly<{ subject: IndexSubject; thread?: URL }>

/** The path is valid both in the compiled sources and in the published package, where this file has the same depth. */
const THREAD = new URL('../trace-index/index-thread.js', import.meta.url)

/**
 * Below 2 GiB, V8 lets the heap grow less between two collections: four fifths of the memory, for a tenth more CPU time while it
 * indexes. A young generation of the usual size, 48 MiB, would take a sixth of the memory, and save no time.
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 1_536, maxYoungGenerationSizeMb: 12 }

interface PendingQuery {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export class TraceIndex {
  readonly #thread: Worker
  readonly #price: SpanPricer
  readonly #pending = new Map<number, PendingQuery>()
  readonly #followers = new Set<ChangeStream>()
  readonly #ended: Promise<void>
  #lastId = 0
  #status: SourceStatus | undefined
  #open: readonly OpenTraceRow[] = []
  #failure: Error | undefined
  #onReady: () => void = () => undefined

  private constructor({ thread = THREAD, subject }: TraceIndexOptions) {
    this.#price = createSpanPricer(() => subject.prices)
    this.#thread = new Worker(thread, { workerData: subject, name: 'hookspan index', resourceLimits: HEAP_LIMITS })
    this.#thread.on('message', (message: IndexThreadMessage) => this.#handleMessage(message))
    this.#thread.on('error', error => this.#fail(error instanceof Error ? error : new Error(String(error))))
    this.#ended = new Promise(resolve => {
      this.#thread.once('exit', () => {
        this.#fail(new Error('the index is closed'))
        resolve()
      })
    })
  }

  static async open(options: TraceIndexOptions): Promise<TraceIndex> {
    const index = new TraceIndex(options)
    await Promise.race([index.#ended, new Promise<void>(resolve => (index.#onReady = resolve))])
    if (index.#status === undefined) throw index.#failure ?? new Error('the index is closed')
    return index
  }

  status(): SourceStatus {
    if (this.#status === undefined) throw this.#failure ?? new Error('the index is closed')
    const failure = this.#failure?.message ?? this.#status.failure
    return { ...this.#status, failure }
  }

  sessions(query: SessionQuery): Promise<SessionPage> {
    return this.#query('sessions', query)
  }

  session(id: string): Promise<SessionDetail | undefined> {
    return this.#query('session', id)
  }

  /**
   * All spans of a trace, running ones included (`running: true`), each once, as they were written. Empty if there is no such
   * trace. Limited to the first 50 000; `TurnRow.spanCount` has the total.
   */
  async trace(traceId: string): Promise<readonly StoredSpan[]> {
    const spans = await readTrace(traceId, await this.#query<readonly LinePlace[]>('lines', traceId))
    return spans.map(this.#price)
  }

  children(traceId: string): Promise<readonly ChildTraces[]> {
    return this.#query('children', traceId)
  }

  usage(query: UsageQuery): Promise<Usage> {
    return this.#query('usage', query)
  }

  open(): readonly OpenTraceRow[] {
    return this.#open
  }

  /** Changes from now on, at most four per second. Ends with `return()`, or when the index is closed. */
  changes(): AsyncIterableIterator<TraceChange> {
    const changes = new ChangeStream(each => this.#followers.delete(each))
    this.#followers.add(changes)
    if (this.#failure !== undefined) void changes.return()
    return changes
  }

  async close(): Promise<void> {
    this.#post('close')
    await this.#ended
  }

  #query<Answer>(query: IndexQuery, given: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      const id = ++this.#lastId
      this.#pending.set(id, { resolve: answer => resolve(answer as Answer), reject })
      this.#post({ id, query, given })
    })
  }

  #post(request: IndexThreadRequest): void {
    this.#thread.postMessage(request)
  }

  #handleMessage(message: IndexThreadMessage): void {
    if ('status' in message) {
      this.#status = message.status
      this.#open = message.open
      this.#onReady()
      const { change } = message
      if (change !== undefined) for (const follower of this.#followers) follower.addChange(change)
      return
    }
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if ('answer' in message) pending?.resolve(message.answer)
    else pending?.reject(new Error(message.problem))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const pending of this.#pending.values()) pending.reject(this.#failure)
    this.#pending.clear()
    for (const follower of [...this.#followers]) void follower.return()
  }
}

const MIN_MILLIS = 250
const MAX_NAMED = 1_000

/** A stream of changes for one follower. Changes that come faster than the rate limit are merged into one. */
export class ChangeStream implements AsyncIterableIterator<TraceChange> {
  readonly #onEnd: (changes: ChangeStream) => void
  readonly #traceIds = new Set<string>()
  #isMore = false
  #hasChanged = false
  #hasEnded = false
  #emittedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #readers: ((result: IteratorResult<TraceChange>) => void)[] = []

  constructor(onEnd: (changes: ChangeStream) => void) {
    this.#onEnd = onEnd
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  addChange({ traceIds, isMore }: TraceChange): void {
    for (const id of traceIds) if (this.#traceIds.size < MAX_NAMED) this.#traceIds.add(id)
    this.#isMore ||= isMore || traceIds.some(id => !this.#traceIds.has(id))
    this.#hasChanged = true
    this.#emit()
  }

  next(): Promise<IteratorResult<TraceChange>> {
    return new Promise(resolve => {
      this.#readers.push(resolve)
      this.#emit()
    })
  }

  async return(): Promise<IteratorResult<TraceChange>> {
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.#onEnd(this)
    this.#emit()
    return { done: true, value: undefined }
  }

  #emit(): void {
    if (this.#hasEnded) {
      for (const resolve of this.#readers.splice(0)) resolve({ done: true, value: undefined })
      return
    }
    if (!this.#hasChanged || this.#readers.length === 0) return
    const early = this.#emittedAt + MIN_MILLIS - performance.now()
    if (early > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#emit()
      }, early)
      return
    }
    this.#emittedAt = performance.now()
    const value = { traceIds: [...this.#traceIds], isMore: this.#isMore }
    this.#traceIds.clear()
    this.#isMore = false
    this.#hasChanged = false
    this.#readers.shift()?.({ done: false, value })
  }
}

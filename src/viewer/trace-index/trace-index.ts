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

/** Undefined: the index is closed. */
type ChangeListener = (change: TraceChange | undefined) => void

/** The data source of the viewer's server. Calls after `close` reject. */
export type TraceSource = Pick<TraceIndex, keyof TraceIndex>

export class TraceIndex {
  readonly #thread: Worker
  readonly #price: SpanPricer
  readonly #pending = new Map<number, Readonly<Record<'resolve' | 'reject', (result: unknown) => void>>>()
  readonly #followers = new Set<ChangeListener>()
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

  children(traceId: string): Promise<ChildTraces> {
    return this.#query('children', traceId)
  }

  usage(query: UsageQuery): Promise<Usage> {
    return this.#query('usage', query)
  }

  open(): readonly OpenTraceRow[] {
    return this.#open
  }

  /** Calls the listener with each change, at most four times per second. Returns a function that removes the listener. */
  follow(listener: ChangeListener): () => void {
    this.#followers.add(listener)
    if (this.#failure !== undefined) listener(undefined)
    return () => this.#followers.delete(listener)
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
      if (change !== undefined) for (const follower of this.#followers) follower(change)
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
    for (const follower of this.#followers) follower(undefined)
  }
}

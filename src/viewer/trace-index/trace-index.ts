import { Worker } from 'node:worker_threads'
import type { StoredSpan } from '../../reading/stored-span.ts'
import type {
  Change,
  ChildTraces,
  Numbers,
  NumbersQuery,
  OpenTrace,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SourceStatus,
} from './answers.ts'
import { Changes } from './changes.ts'
import type { Asked, Told } from './index-thread.ts'
import type { IndexSettings, Question } from './local-index.ts'
import { type LinePlace, readTrace } from './read-places.ts'

export interface TraceIndexOptions extends IndexSettings {
  readonly thread?: URL
}

/** The path is valid both in the compiled sources and in the published package, where this file has the same depth. */
const THREAD = new URL('../trace-index/index-thread.js', import.meta.url)

interface Waiting {
  resolve(answer: unknown): void
  reject(error: Error): void
}

/** An index in a worker thread, which keeps it up to date until it is closed. */
export class TraceIndex {
  readonly #thread: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #followers = new Set<Changes>()
  readonly #ended: Promise<void>
  #lastId = 0
  #status: SourceStatus | undefined
  #open: readonly OpenTrace[] = []
  #failure: Error | undefined
  #onFirst: () => void = () => undefined

  private constructor({ thread = THREAD, ...settings }: TraceIndexOptions) {
    this.#thread = new Worker(thread, { workerData: settings, name: 'hookspan index' })
    this.#thread.on('message', (told: Told) => this.#hear(told))
    this.#thread.on('error', error => this.#fail(error instanceof Error ? error : new Error(String(error))))
    this.#ended = new Promise(resolve => {
      this.#thread.once('exit', () => {
        this.#fail(new Error('the index is closed'))
        resolve()
      })
    })
  }

  /** Resolves when the index can be queried. @throws Error in one line when there can be no index */
  static async open(options: TraceIndexOptions): Promise<TraceIndex> {
    const index = new TraceIndex(options)
    await Promise.race([index.#ended, new Promise<void>(resolve => (index.#onFirst = resolve))])
    if (index.#status === undefined) throw index.#failure ?? new Error('the index is closed')
    return index
  }

  status(): SourceStatus {
    if (this.#status === undefined) throw this.#failure ?? new Error('the index is closed')
    const failure = this.#failure?.message ?? this.#status.failure
    return { ...this.#status, failure }
  }

  sessions(query: SessionQuery): Promise<SessionPage> {
    return this.#ask('sessions', query)
  }

  session(id: string): Promise<SessionDetail | undefined> {
    return this.#ask('session', id)
  }

  async trace(traceId: string): Promise<readonly StoredSpan[]> {
    return readTrace(traceId, await this.#ask<readonly LinePlace[]>('lines', traceId))
  }

  children(traceId: string): Promise<readonly ChildTraces[]> {
    return this.#ask('children', traceId)
  }

  numbers(query: NumbersQuery): Promise<Numbers> {
    return this.#ask('numbers', query)
  }

  open(): readonly OpenTrace[] {
    return this.#open
  }

  changes(): AsyncIterableIterator<Change> {
    const changes = new Changes(each => this.#followers.delete(each))
    this.#followers.add(changes)
    if (this.#failure !== undefined) void changes.return()
    return changes
  }

  async close(): Promise<void> {
    this.#post('close')
    await this.#ended
  }

  #ask<Answer>(question: Question, given: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve: answer => resolve(answer as Answer), reject })
      this.#post({ id, question, given })
    })
  }

  #post(asked: Asked): void {
    this.#thread.postMessage(asked)
  }

  #hear(told: Told): void {
    if ('status' in told) {
      this.#status = told.status
      this.#open = told.open
      this.#onFirst()
      const { change } = told
      if (change !== undefined) for (const follower of this.#followers) follower.add(change)
      return
    }
    const waiting = this.#waiting.get(told.id)
    this.#waiting.delete(told.id)
    if ('answer' in told) waiting?.resolve(told.answer)
    else waiting?.reject(new Error(told.problem))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure)
    this.#waiting.clear()
    for (const follower of [...this.#followers]) void follower.return()
  }
}

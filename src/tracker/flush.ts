import { OnDemand } from '../contract/on-demand.ts'

/** Pause of flushes that no caller awaits: turns in quick succession cause few requests, and still appear soon. */
const PAUSE_MILLIS = 1000

export interface FlusherOptions {
  readonly startFlush?: (() => void) | undefined
  /** Begins to write recorded data to disk: if no caller waits, the process may exit right after the turn. */
  readonly startLogFlush?: (() => void) | undefined
  /** The flush itself does not keep the process alive, so the timer must: Node could exit while a program awaits it. */
  readonly holdsProcess?: boolean | undefined
}

/**
 * Flushes at the end of a turn: bounded for callers that wait, free for others. Concurrent requests share one flush. A
 * request during a running flush gets its own flush afterwards, so that the later turn is not missed.
 */
export class Flusher {
  readonly #flush: () => Promise<void>
  readonly #waitMillis: number
  readonly #options: FlusherOptions
  #isRunning = false
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #soon: Promise<void> | undefined
  #requestedAt = Number.NEGATIVE_INFINITY

  /** @param flush sends everything; must not reject */
  constructor(flush: () => Promise<void>, waitMillis: number, options: FlusherOptions = {}) {
    this.#flush = flush
    this.#waitMillis = waitMillis
    this.#options = options
  }

  request(): Promise<void> {
    this.#requestedAt = performance.now()
    if (!this.#isRunning) return this.#bounded(this.#run())
    this.#options.startFlush?.()
    this.#next ??= this.#bounded(this.#running.then(() => this.#runNext()))
    return this.#next
  }

  turnEnded(): Promise<void> {
    const pauseMillis = this.#requestedAt + PAUSE_MILLIS - performance.now()
    if (pauseMillis <= 0) return this.request()
    this.#options.startLogFlush?.()
    this.#soon ??= this.#after(pauseMillis)
    return this.#soon
  }

  #after(millis: number): Promise<void> {
    const soon = new OnDemand(() => {
      clearTimeout(timer)
      this.#soon = undefined
      return this.request()
    })
    // The timer need not keep the process alive: recorded data is already saved.
    const timer = setTimeout(() => void soon.then(), Math.ceil(millis)).unref()
    return soon
  }

  #runNext(): Promise<void> {
    this.#next = undefined
    return this.#run()
  }

  #run(): Promise<void> {
    this.#isRunning = true
    const done = (): void => {
      this.#isRunning = this.#next !== undefined
    }
    this.#running = (async () => this.#flush())().then(done, done)
    return this.#running
  }

  #bounded(work: Promise<void>): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, this.#waitMillis)
      // An unreachable backend must not keep the process alive for a wait that no caller may need.
      if (!this.#options.holdsProcess) timer.unref()
      work.then(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

/**
 * Flushes of a session's end: bounded for those who wait, free for those who do not. Concurrent requests coalesce, and one
 * that comes while a flush runs gets a flush of its own afterwards, so that the later turn is not missed.
 */
export class Flusher {
  readonly #flush: () => Promise<void>
  readonly #waitMillis: number
  readonly #hurry: () => void
  #isRunning = false
  #running: Promise<void> = Promise.resolve()
  /** What everybody gets who asks while a flush runs: one promise, however many turns end meanwhile. */
  #next: Promise<void> | undefined

  /**
   * @param flush sends everything; must not reject
   * @param hurry begins to send what came after the flush that runs
   */
  constructor(flush: () => Promise<void>, waitMillis: number, hurry: () => void = () => undefined) {
    this.#flush = flush
    this.#waitMillis = waitMillis
    this.#hurry = hurry
  }

  /** Resolves when all that was recorded before is flushed, at the latest after the wait. Never rejects. */
  request(): Promise<void> {
    if (!this.#isRunning) return this.#bounded(this.#run())
    this.#hurry()
    this.#next ??= this.#bounded(this.#running.then(() => this.#runNext()))
    return this.#next
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
      // A dead backend must not keep the process alive for the sake of a wait that nobody may be doing.
      timer.unref()
      work.then(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

/** Between two flushes that nobody waits for: turns that end one behind another are few requests, and seen soon all the same. */
const PAUSE_MILLIS = 1000

export interface FlusherOptions {
  /** Begins to send what came after the flush that runs. */
  readonly hurry?: (() => void) | undefined
  /** Begins to write to disk what has been recorded: where nobody waits, the process may be ended right behind the turn. */
  readonly save?: (() => void) | undefined
  /** Where what is flushed need not keep the process alive: Node would end a program that waits for it in the middle. */
  readonly holdsProcess?: boolean | undefined
}

/**
 * Flushes of a turn's end: bounded for those who wait, free for those who do not. Concurrent requests coalesce, and one
 * that comes while a flush runs gets a flush of its own afterwards, so that the later turn is not missed.
 */
export class Flusher {
  readonly #flush: () => Promise<void>
  readonly #waitMillis: number
  readonly #options: FlusherOptions
  #isRunning = false
  #running: Promise<void> = Promise.resolve()
  /** What everybody gets who asks while a flush runs: one promise, however many turns end meanwhile. */
  #next: Promise<void> | undefined
  /** Of turns that have ended, and that nobody has waited for yet. */
  #soon: Promise<void> | undefined
  #requestedAt = Number.NEGATIVE_INFINITY

  /** @param flush sends everything; must not reject */
  constructor(flush: () => Promise<void>, waitMillis: number, options: FlusherOptions = {}) {
    this.#flush = flush
    this.#waitMillis = waitMillis
    this.#options = options
  }

  /** Resolves when all that was recorded before is flushed, at the latest after the wait. Never rejects. */
  request(): Promise<void> {
    this.#requestedAt = performance.now()
    if (!this.#isRunning) return this.#bounded(this.#run())
    this.#options.hurry?.()
    this.#next ??= this.#bounded(this.#running.then(() => this.#runNext()))
    return this.#next
  }

  /** As `request`; but within a second of the last one, what nobody waits for is flushed when that second is over. */
  turnEnded(): Promise<void> {
    const pauseMillis = this.#requestedAt + PAUSE_MILLIS - performance.now()
    if (pauseMillis <= 0) return this.request()
    this.#options.save?.()
    this.#soon ??= this.#after(pauseMillis)
    return this.#soon
  }

  #after(millis: number): Promise<void> {
    const soon = new OnDemand(() => {
      clearTimeout(timer)
      this.#soon = undefined
      return this.request()
    })
    // What is recorded is safe without it: it has been saved.
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
      // A dead backend must not keep the process alive for the sake of a wait that nobody may be doing.
      if (!this.#options.holdsProcess) timer.unref()
      work.then(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

/** A promise of what is begun when somebody waits for it: `await`, `Promise.all` and `finally` all call `then`. */
class OnDemand<Value> extends Promise<Value> {
  readonly #begin: () => Promise<Value>
  #begun: Promise<Value> | undefined

  /** What comes of it is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(begin: () => Promise<Value>) {
    super(() => undefined)
    this.#begin = begin
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  override then<Fulfilled = Value, Rejected = never>(
    onFulfilled?: ((value: Value) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#begun ??= this.#begin()
    return this.#begun.then(onFulfilled, onRejected)
  }
}

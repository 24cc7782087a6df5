import type { Refusal } from './counts.ts'
import type { EventSpool, SpooledEvent } from './event-spool.ts'

export interface DrainOptions {
  readonly spool: EventSpool
  /**
   * Accepts an event. `done` must be called when all its records are journalled. After a kill before that, the next receiver
   * finds the file.
   */
  take(event: SpooledEvent, done: () => void): void
  refuse(why: Refusal): void
}

/** Limits the spool files in memory at once. */
const MAX_FILES = 256
const MAX_BYTES = 16_000_000

/** Empties the spool whenever files are added. Never runs twice at once. */
export class SpoolDrain {
  readonly #options: DrainOptions
  #running: Promise<void> | undefined
  #isMore = false
  #isStopped = false
  #files = 0
  #bytes = 0
  #waiting: (() => void)[] = []

  constructor(options: DrainOptions) {
    this.#options = options
  }

  /** Resolves when every file that is there now is accepted. Never rejects. */
  async run(): Promise<void> {
    this.#isMore = true
    this.#running ??= this.#all().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  /** Resolves when no more files will be accepted. The rest stays in the spool. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.#running
  }

  async #all(): Promise<void> {
    while (this.#isMore && !this.#isStopped) {
      this.#isMore = false
      await this.#once()
    }
  }

  async #once(): Promise<void> {
    const { spool, refuse } = this.#options
    for (const event of spool.events(refuse)) {
      while (!this.#isStopped && (this.#files >= MAX_FILES || this.#bytes >= MAX_BYTES)) await this.#removal()
      if (!this.#isStopped) this.#take(event)
      else {
        event.leave()
        return
      }
    }
  }

  #take(event: SpooledEvent): void {
    this.#files += 1
    this.#bytes += event.bytes
    this.#options.take(event, () => {
      event.remove()
      this.#files -= 1
      this.#bytes -= event.bytes
      for (const resolve of this.#waiting.splice(0)) resolve()
    })
  }

  #removal(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }
}

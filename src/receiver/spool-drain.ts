import type { Refusal } from './counts.ts'
import type { EventSpool, SpooledEvent } from './event-spool.ts'

export interface DrainOptions {
  readonly spool: EventSpool
  take(event: SpooledEvent): void
  /** Resolves when all that was taken is written down: killed before that, the next receiver finds the files where they are. */
  written(): Promise<void>
  refuse(why: Refusal): void
}

/** Between two looks whether all is journalled. */
const AGAIN_MILLIS = 5
/** Files that are in memory at once. */
const MOST_FILES = 256
const MOST_BYTES = 16_000_000

/** Empties the spool, as often as there is something in it; never twice at once. */
export class SpoolDrain {
  readonly #options: DrainOptions
  #running: Promise<void> | undefined
  #isMore = false
  #isStopped = false

  constructor(options: DrainOptions) {
    this.#options = options
  }

  /** Resolves when what is there now has been taken. Never rejects. */
  async run(): Promise<void> {
    this.#isMore = true
    this.#running ??= this.#all().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  /** Resolves when it does nothing any more; what is left stays in the spool. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #all(): Promise<void> {
    while (this.#isMore && !this.#isStopped) {
      this.#isMore = false
      await this.#once()
    }
  }

  async #once(): Promise<void> {
    const { spool, take, refuse } = this.#options
    let taken: SpooledEvent[] = []
    let bytes = 0
    for (const event of spool.events(refuse)) {
      if (this.#isStopped) break
      take(event)
      taken.push(event)
      bytes += event.bytes
      if (taken.length < MOST_FILES && bytes < MOST_BYTES) continue
      await this.#remove(taken)
      taken = []
      bytes = 0
    }
    await this.#remove(taken)
  }

  async #remove(taken: readonly SpooledEvent[]): Promise<void> {
    if (taken.length > 0) await this.#options.written()
    for (const event of taken) event.remove()
  }
}

/** Resolves when the recorder has written down what it was told; others go on telling it, so it may never be seen at rest. */
export async function untilWritten(recorder: { readonly waiting: number }, mostMillis: number): Promise<void> {
  const until = performance.now() + mostMillis
  while (recorder.waiting > 0 && performance.now() < until) {
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
}

import { humanDuration } from '../reading/human-figures.ts'
import type { CommandIo, Output } from './command.ts'

const EVERY_MILLIS = 200
/** The minimum elapsed time for an estimate. */
const GUESS_MILLIS = 1000
const CLEAR_LINE = '\r\u001b[K'
/** For a terminal that does not report its width. */
const USUAL_COLUMNS = 80

/** The progress of a long command on one line of a terminal. Silent without a terminal. */
export class Progress {
  readonly #io: CommandIo
  #totalBytes: number
  readonly #startedAt: number
  #bytes = 0
  #shownAt: number
  #isShown = false

  /** @param totalBytes the total work; undefined if unknown */
  constructor(io: CommandIo, totalBytes?: number) {
    this.#io = io
    this.#totalBytes = totalBytes ?? 0
    this.#startedAt = io.now()
    this.#shownAt = this.#startedAt
  }

  /**
   * Updates the progress. @param text called only if the line is drawn @param totalBytes a new total, if more work was found
   */
  at(bytes: number, text: (seconds: number) => string, totalBytes: number = this.#totalBytes): void {
    this.#bytes = bytes
    this.#totalBytes = totalBytes
    if (!this.#io.stderr.isTTY) return
    const now = this.#io.now()
    if (now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const elapsed = now - this.#startedAt
    this.say([text(elapsed / 1000), this.share, this.#left(elapsed)].filter(part => part !== undefined).join(' · '))
  }

  /** `42 %`; undefined if the total is unknown. */
  get share(): string | undefined {
    return this.#totalBytes > 0 ? `${Math.floor(this.#fraction * 100)} %` : undefined
  }

  /** Shows a step, until the next one or the end. */
  say(text: string): void {
    if (!this.#io.stderr.isTTY) return
    this.#isShown = true
    const columns = this.#io.stderr.columns || USUAL_COLUMNS
    this.#io.stderr.write(`${CLEAR_LINE}${text.slice(0, columns - 1)}`)
  }

  end(): void {
    if (this.#isShown) this.#io.stderr.write(CLEAR_LINE)
    this.#isShown = false
  }

  /** An output for messages, which clears the line before each. */
  get stderr(): Output {
    const { stderr } = this.#io
    const write = (text: string): void => {
      this.end()
      stderr.write(text)
    }
    return { write, isTTY: stderr.isTTY, columns: stderr.columns }
  }

  get #fraction(): number {
    return Math.min(1, this.#bytes / this.#totalBytes)
  }

  /** The estimated remaining time, assuming a constant rate. */
  #left(elapsed: number): string | undefined {
    if (this.#totalBytes === 0 || elapsed < GUESS_MILLIS || this.#fraction < 0.01 || this.#fraction === 1) return
    const seconds = Math.ceil((elapsed * (1 / this.#fraction - 1)) / 1000)
    return `${seconds < 60 ? `${seconds} s` : humanDuration(seconds * 1000)} left`
  }
}

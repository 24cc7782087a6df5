import { humanDuration } from '../viewer/human-figures.ts'
import type { CommandIo, Output } from './command.ts'

const EVERY_MILLIS = 200
/** What is left is not guessed at before. */
const GUESS_MILLIS = 1000
const CLEAR_LINE = '\r\u001b[K'
/** Of a terminal that does not say how wide it is. */
const USUAL_COLUMNS = 80

/** How far a long command is, on one line of a terminal; silent where nobody watches. */
export class Progress {
  readonly #io: CommandIo
  #totalBytes: number
  readonly #startedAt: number
  #bytes = 0
  #shownAt: number
  #isShown = false

  /** @param totalBytes how much there is to do; undefined where that is not known */
  constructor(io: CommandIo, totalBytes?: number) {
    this.#io = io
    this.#totalBytes = totalBytes ?? 0
    this.#startedAt = io.now()
    this.#shownAt = this.#startedAt
  }

  /**
   * So many bytes of it are done; `text` says what was made of them, and is asked only when it is shown. `totalBytes`, where
   * more has been found to do.
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

  /** `42 %`; undefined where the end is not known. */
  get share(): string | undefined {
    return this.#totalBytes > 0 ? `${Math.floor(this.#fraction * 100)} %` : undefined
  }

  /** What it is at, until the next step or the end. */
  say(text: string): void {
    if (!this.#io.stderr.isTTY) return
    this.#isShown = true
    const columns = this.#io.stderr.columns || USUAL_COLUMNS
    this.#io.stderr.write(`${CLEAR_LINE}${text.slice(0, columns - 1)}`)
  }

  /** Takes the line away, so that a message has it. */
  end(): void {
    if (this.#isShown) this.#io.stderr.write(CLEAR_LINE)
    this.#isShown = false
  }

  /** For lines that come meanwhile: the one of a terminal goes away before each. */
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

  /** As long again for each share as for those before. */
  #left(elapsed: number): string | undefined {
    if (this.#totalBytes === 0 || elapsed < GUESS_MILLIS || this.#fraction < 0.01 || this.#fraction === 1) return
    const seconds = Math.ceil((elapsed * (1 / this.#fraction - 1)) / 1000)
    return `${seconds < 60 ? `${seconds} s` : humanDuration(seconds * 1000)} left`
  }
}

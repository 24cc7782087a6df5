import type { CommandIo } from './command.ts'

const EVERY_MILLIS = 200

/** How far a long command is, on one line of a terminal; silent where nobody watches. */
export class Progress {
  readonly #word: string
  readonly #io: CommandIo
  readonly #startedAt: number
  #count = 0
  #shownAt: number

  constructor(word: string, io: CommandIo) {
    this.#word = word
    this.#io = io
    this.#startedAt = io.now()
    this.#shownAt = this.#startedAt
  }

  step(): void {
    this.#count += 1
    if (!this.#io.stderr.isTTY || this.#count % 100 !== 0) return
    const now = this.#io.now()
    if (now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const rate = Math.round((this.#count * 1000) / (now - this.#startedAt))
    this.#io.stderr.write(`\r${this.#count} ${this.#word}, ${rate}/s\u001b[K`)
  }

  end(): void {
    if (this.#shownAt !== this.#startedAt) this.#io.stderr.write('\r\u001b[K')
  }
}

import { humanCount, humanDuration } from '../viewer/human-figures.ts'
import type { CommandIo } from './command.ts'

const EVERY_MILLIS = 200
const EVERY_STEPS = 100
/** Less than this says nothing of how long the rest takes. */
const TELLING_SHARE = 0.05
const CLEAR_LINE = '\r\u001b[K'

/** How far a long command is, on one line of a terminal; silent where nobody watches. */
export class Progress {
  readonly #io: CommandIo
  readonly #spans: () => number
  readonly #startedAt: number
  #records = 0
  #shownAt: number
  #isShown = false

  /** @param spans how many have come of the records so far */
  constructor(spans: () => number, io: CommandIo) {
    this.#spans = spans
    this.#io = io
    this.#startedAt = io.now()
    this.#shownAt = this.#startedAt
  }

  /** One more record. */
  step(): void {
    this.#records += 1
    if (!this.#io.stderr.isTTY || this.#records % EVERY_STEPS !== 0) return
    const now = this.#io.now()
    if (now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const rate = humanCount((this.#records * 1000) / (now - this.#startedAt))
    this.say(`${humanCount(this.#records)} records · ${humanCount(this.#spans())} spans · ${rate} records/s`)
  }

  /** `what · 42 % · 4 s left`, a few times a second; `done` of `total`, in whatever unit. */
  share(done: number, total: number, what: string): void {
    const now = this.#io.now()
    if (!this.#io.stderr.isTTY || now - this.#shownAt < EVERY_MILLIS) return
    this.#shownAt = now
    const share = Math.min(1, done / total)
    const left = share < TELLING_SHARE ? '' : ` · ${inSeconds(((now - this.#startedAt) * (1 - share)) / share)} left`
    this.say(`${what} · ${Math.floor(share * 100)} %${left}`)
  }

  /** What it is at, until the next step or the end. */
  say(text: string): void {
    if (!this.#io.stderr.isTTY) return
    this.#isShown = true
    this.#io.stderr.write(`${CLEAR_LINE}${text}`)
  }

  /** Takes the line away, so that a message has it. */
  end(): void {
    if (this.#isShown) this.#io.stderr.write(CLEAR_LINE)
    this.#isShown = false
  }
}

/** In whole seconds: it is a guess. */
function inSeconds(millis: number): string {
  const seconds = Math.ceil(millis / 1000)
  return seconds < 60 ? `${seconds} s` : humanDuration(seconds * 1000)
}

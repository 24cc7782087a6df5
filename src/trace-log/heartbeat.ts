const INTERVAL_MILLIS = 2000

/**
 * Shows that this process lives while spans are open: of a process that is killed in the middle of a tool, recovery knows no
 * other time until which the tool ran.
 */
export class Heartbeat {
  readonly #beat: () => void
  readonly #isNeeded: () => boolean
  #timer: NodeJS.Timeout | undefined

  /** @param isNeeded asked before each beat; the beats stop when it returns false */
  constructor(beat: () => void, isNeeded: () => boolean) {
    this.#beat = beat
    this.#isNeeded = isNeeded
  }

  /** Starts the beats where they are needed. Holds no process. */
  start(): void {
    if (this.#timer === undefined && this.#isNeeded()) this.#timer = setInterval(this.#tick, INTERVAL_MILLIS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  readonly #tick = (): void => {
    if (this.#isNeeded()) this.#beat()
    else this.stop()
  }
}

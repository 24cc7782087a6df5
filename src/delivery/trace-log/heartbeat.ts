const INTERVAL_MILLIS = 2000

/**
 * Marks this process as alive while spans are open. If it is killed in the middle of a tool, recovery uses the last
 * heartbeat as the end of the tool.
 */
export class Heartbeat {
  readonly #beat: () => void
  readonly #isNeeded: () => boolean
  #timer: NodeJS.Timeout | undefined

  /** @param isNeeded called before each beat; the beats stop when it returns false */
  constructor(beat: () => void, isNeeded: () => boolean) {
    this.#beat = beat
    this.#isNeeded = isNeeded
  }

  /** Starts the beats if they are needed. Does not keep the process alive. */
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

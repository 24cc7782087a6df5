const FIRST_MILLIS = 1000
const MOST_MILLIS = 60_000
/** What only a person can mend is looked at again from time to time, because the person may have mended it. */
const UNTIL_MENDED_MILLIS = 300_000
/** A server may ask for more than anybody would wait. */
const MOST_ASKED_MILLIS = 3_600_000

/** Why a backend is left alone for a while. */
export type BackOffReason = 'unreachable' | 'unwell' | 'silent' | 'asked' | 'misconfigured'

/** How long to leave a backend alone that does not take what it is sent. In the time of `performance.now()`. */
export class BackOff {
  readonly #scale: number
  #failures = 0
  #until = 0
  #reason: BackOffReason | undefined

  /** `scale` makes all pauses longer or shorter, for tests. */
  constructor(scale = 1) {
    this.#scale = scale
  }

  get isActive(): boolean {
    return this.remainingMillis() > 0
  }

  /** Why it failed last; undefined when it did not. */
  get reason(): BackOffReason | undefined {
    return this.#reason
  }

  remainingMillis(): number {
    return Math.max(0, this.#until - performance.now())
  }

  failed(reason: BackOffReason, askedMillis = 0): void {
    this.#failures++
    this.#reason = askedMillis > 0 ? 'asked' : reason
    const own = reason === 'misconfigured' ? UNTIL_MENDED_MILLIS : FIRST_MILLIS * 2 ** Math.min(this.#failures - 1, 10)
    const most = reason === 'misconfigured' ? UNTIL_MENDED_MILLIS : MOST_MILLIS
    // Many processes that saw the same outage must not come back in the same moment.
    const jittered = Math.min(own, most) * (0.75 + Math.random() * 0.5) * this.#scale
    this.#until = performance.now() + Math.max(jittered, Math.min(askedMillis, MOST_ASKED_MILLIS))
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#reason = undefined
  }

  /**
   * The last chance before the process ends: a server that was not there may be by now, and asking costs a moment. One that
   * is unwell or silent would cost all the time that there is, and one that asked for a pause gets it.
   */
  tryOnceMore(): void {
    if (this.#reason === 'unreachable') this.#until = 0
  }
}

/**
 * Keeps the process alive while something is waited for. Requests do not: a collector that hangs must never hold the
 * process for longer than this.
 */
export class Hold {
  readonly over: Promise<void>
  #timer: NodeJS.Timeout | undefined

  constructor(millis: number) {
    this.over = new Promise(resolve => {
      this.#timer = setTimeout(resolve, millis)
    })
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

/** Resolves with what is waited for, or when so much time is over, or at the signal. */
export async function within(millis: number, done: Promise<unknown>, giveUp?: AbortSignal): Promise<void> {
  const hold = new Hold(millis)
  await Promise.race([done, hold.over, ...(giveUp === undefined ? [] : [aborted(giveUp)])])
  hold.end()
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

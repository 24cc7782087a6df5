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

/** Resolves with what is waited for, or when so much time is over. */
export async function within(millis: number, done: Promise<unknown>): Promise<void> {
  const hold = new Hold(millis)
  await Promise.race([done, hold.over])
  hold.end()
}

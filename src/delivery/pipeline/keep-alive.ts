/** Keeps the process alive during a wait. Requests do not: a hanging collector must not hold the process. */
export class KeepAlive {
  readonly elapsed: Promise<void>
  #timer: NodeJS.Timeout | undefined

  constructor(millis: number) {
    this.elapsed = new Promise(resolve => {
      this.#timer = setTimeout(resolve, millis)
    })
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

export async function within(millis: number, done: Promise<unknown>): Promise<void> {
  const hold = new KeepAlive(millis)
  await Promise.race([done, hold.elapsed])
  hold.stop()
}

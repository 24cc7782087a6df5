interface Waiter {
  readonly until: number
  readonly resolve: () => void
}

/** Those who wait until so many spans have been dealt with. */
export class FlushWaiters {
  #waiters: Waiter[] = []

  add(until: number): Promise<void> {
    return new Promise(resolve => this.#waiters.push({ until, resolve }))
  }

  settled(count: number): void {
    const due = this.#waiters.filter(({ until }) => until <= count)
    if (due.length === 0) return
    this.#waiters = this.#waiters.filter(({ until }) => until > count)
    for (const { resolve } of due) resolve()
  }
}

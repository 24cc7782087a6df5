/** A clock, which a test may be. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Calls it again and again, and holds no process. @returns what stops it */
  every(millis: number, task: () => void): () => void
}

export const SYSTEM_CLOCK: Clock = {
  now: Date.now,
  every: (millis, task) => {
    const timer = setInterval(task, millis).unref()
    return () => clearInterval(timer)
  },
}

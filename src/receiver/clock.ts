/** A clock that tests can replace. */
export interface Clock {
  now(): number
  /** Calls the task periodically. Does not keep the process alive. @returns a function that stops it */
  every(millis: number, task: () => void): () => void
}

export const SYSTEM_CLOCK: Clock = {
  now: Date.now,
  every: (millis, task) => {
    const timer = setInterval(task, millis).unref()
    return () => clearInterval(timer)
  },
}

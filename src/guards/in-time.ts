export const TOO_LATE: unique symbol = Symbol('too late')
export const STOPPED: unique symbol = Symbol('stopped')

/** Above this, a timer of Node fires immediately. */
const MAX_MILLIS = 2 ** 31 - 1

/**
 * Awaits `answer` for at most `millis`. Resolves to `TOO_LATE` or `STOPPED` if the time is over or the signal is aborted first.
 * The timer keeps the process alive, because an otherwise idle agent would exit.
 */
export async function inTime<Value>(
  answer: PromiseLike<Value>,
  millis: number,
  signal?: AbortSignal | undefined,
): Promise<Value | typeof TOO_LATE | typeof STOPPED> {
  let timer: NodeJS.Timeout | undefined
  let stop: (() => void) | undefined
  const over = new Promise<typeof TOO_LATE | typeof STOPPED>(resolve => {
    // After a long blocking task, the timer runs before a result of the disk. One more turn of the loop lets the result win.
    const late = (): unknown => setImmediate(resolve, TOO_LATE)
    if (Number.isFinite(millis)) timer = setTimeout(late, Math.min(millis, MAX_MILLIS))
    stop = () => resolve(STOPPED)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([answer, over])
  } finally {
    clearTimeout(timer)
    if (stop !== undefined) signal?.removeEventListener('abort', stop)
  }
}

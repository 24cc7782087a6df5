export const TOO_LATE: unique symbol = Symbol('too late')
export const STOPPED: unique symbol = Symbol('stopped')

/** Above this, a timer of Node fires immediately. */
const MAX_MILLIS = 2 ** 31 - 1

/**
 * Awaits `answer` for at most `millis`. Resolves to `TOO_LATE` or `STOPPED` if the time is over or the signal is aborted first.
 * The timer keeps the process alive, because an otherwise idle agent would exit.
 */
export async function inTime(
  answer: PromiseLike<unknown>,
  millis: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  let stop: (() => void) | undefined
  const over = new Promise<unknown>(resolve => {
    if (Number.isFinite(millis)) timer = setTimeout(resolve, Math.min(millis, MAX_MILLIS), TOO_LATE)
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

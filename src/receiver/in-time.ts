/** Slower disk operations are given up. */
const MAX_MILLIS = 2000

/** Resolves to true if the promise settles within the limit. @param ending must not reject */
export async function isInTime(ending: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    // After a long blocking task, the timer runs before the disk's result. One more turn of the loop lets the result win.
    timer = setTimeout(() => setImmediate(() => resolve(false)), MAX_MILLIS)
  })
  try {
    return await Promise.race([ending.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** A disk that takes longer is not waited for. */
const MOST_MILLIS = 2000

/** Whether it ends in time. @param ending does not reject */
export async function isInTime(ending: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    // Who is busy for long does not hear that the disk is done: only what is open after the loop has turned is late.
    timer = setTimeout(() => setImmediate(() => resolve(false)), MOST_MILLIS)
  })
  try {
    return await Promise.race([ending.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

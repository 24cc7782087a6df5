const POLL_MILLIS = 500

/** Waits for the poll interval or until interrupted. Clears the timer, so that it does not keep the process alive. */
export async function waitABit(interrupted: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, POLL_MILLIS)
  })
  await Promise.race([timeout, interrupted])
  clearTimeout(timer)
}

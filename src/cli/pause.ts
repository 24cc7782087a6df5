const POLL_MILLIS = 500

/** Between two looks, or until interrupted, whatever comes first. The timer goes, too: nothing holds the process afterwards. */
export async function waitABit(interrupted: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>(resolve => {
    timer = setTimeout(resolve, POLL_MILLIS)
  })
  await Promise.race([timeout, interrupted])
  clearTimeout(timer)
}

/** Keeps the process alive during a wait. Requests do not: a hanging collector must not hold the process. */
export async function within(millis: number, done: Promise<unknown>): Promise<void> {
  let hold: NodeJS.Timeout | undefined
  const elapsed = new Promise(resolve => {
    hold = setTimeout(resolve, millis)
  })
  await Promise.race([done, elapsed])
  clearTimeout(hold)
}

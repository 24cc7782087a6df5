/** Longer than anything takes here, however busy the machine is: it only ends the test of something that never comes. */
const NEVER_MILLIS = 45_000
/** Checks with a pause of 1 ms. Later ones are rarer: each takes CPU time from the process that the test waits for. */
const QUICK_CHECKS = 20
const PAUSE_MILLIS = 10

/** Resolves once it holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const neverAt = performance.now() + NEVER_MILLIS
  for (let checks = 0; !(await holds()); checks++) {
    if (performance.now() > neverAt) throw new Error(`waited ${NEVER_MILLIS} ms in vain for ${holds.toString()}`)
    await new Promise(resolve => setTimeout(resolve, checks < QUICK_CHECKS ? 1 : PAUSE_MILLIS))
  }
}

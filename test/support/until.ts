/** Longer than anything takes here, however busy the machine is: it only ends the test of something that never comes. */
const NEVER_MILLIS = 45_000

/** Resolves once it holds, which is asked in every turn of the event loop. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const neverAt = performance.now() + NEVER_MILLIS
  while (!(await holds())) {
    if (performance.now() > neverAt) throw new Error(`waited ${NEVER_MILLIS} ms in vain for ${holds.toString()}`)
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

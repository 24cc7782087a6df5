const LONGEST_MILLIS = 2 ** 31 - 1

/**
 * Keeps the process alive until this is over, which must be bounded. A pipeline of ours does so itself; where a provider of
 * the host's never comes back, Node would end a program that waits for it in the middle.
 */
export function held(work: Promise<void>): Promise<void> {
  const known = holding.get(work)
  if (known !== undefined) return known
  const timer = setInterval(() => undefined, LONGEST_MILLIS)
  const awaited = work.finally(() => clearInterval(timer))
  holding.set(work, awaited)
  return awaited
}

/** Many turns that end at once wait for one flush: it is held once. */
const holding = new WeakMap<Promise<void>, Promise<void>>()

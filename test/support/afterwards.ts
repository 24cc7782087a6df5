type Cleanup = () => unknown

const cleanups: Cleanup[] = []

/**
 * What is to be done when the test is over, the last thing first; beside others of `test.concurrent`, when those of the file
 * are. A hook at the top of a module that tests share would be there for the first file alone that imports it.
 */
export function afterwards(cleanup: Cleanup): void {
  cleanups.push(cleanup)
}

export async function cleanUp(): Promise<void> {
  for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup()
}

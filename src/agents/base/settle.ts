/** Awaits a value. A rejection becomes a part of the result. */
export async function settle<Result>(
  running: Result | PromiseLike<Result>,
): Promise<{ readonly result?: Awaited<Result>; readonly error?: unknown; readonly isError: boolean }> {
  try {
    return { result: await running, isError: false }
  } catch (error) {
    return { error, isError: true }
  }
}

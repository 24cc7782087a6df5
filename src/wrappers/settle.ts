import { types } from 'node:util'
import { isStream, watchStream } from './stream.ts'

/** Told once, when what was run has ended. Neither may throw. */
export interface Outcome {
  readonly ended: (value: unknown) => void
  readonly failed: (error: unknown) => void
  /** Of a stream: what came out of it. */
  readonly came?: (chunk: unknown) => void
}

/** Runs the function and tells how it ended; its result goes to the caller as if nobody had looked. */
export function settle<Result>(run: () => Result, outcome: Outcome): Result {
  let result: Result
  try {
    result = run()
  } catch (error) {
    outcome.failed(error)
    throw error
  }
  if (!types.isPromise(result)) {
    take(result, outcome)
    return result
  }
  // A plain promise is passed on by an async function: a rejection that nobody handles stays one, and the stack of its error
  // still names who awaited it. One that has methods of its own, as those of SDKs do, has to stay what it is.
  if (Object.getPrototypeOf(result) === Promise.prototype) return passedOn(result, outcome) as Result
  watch(result, outcome)
  return result
}

async function passedOn(promise: Promise<unknown>, outcome: Outcome): Promise<unknown> {
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    outcome.failed(error)
    throw error
  }
  take(value, outcome)
  return value
}

function watch(promise: Promise<unknown>, outcome: Outcome): void {
  try {
    promise.then(value => take(value, outcome), outcome.failed)
  } catch (error) {
    // Its `then` is not ours, and whoever awaits it will meet the same.
    outcome.failed(error)
  }
}

function take(value: unknown, outcome: Outcome): void {
  if (isStream(value)) watchStream(value, outcome)
  else outcome.ended(isThenable(value) ? undefined : value)
}

/** Of no promise: to ask one for its value could run it a second time. */
function isThenable(value: unknown): boolean {
  try {
    return typeof (value as { then?: unknown } | undefined | null)?.then === 'function'
  } catch {
    return true
  }
}

import { types } from 'node:util'

type Stream = AsyncIterable<unknown>

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
  if (isPlain(result)) return passedOn(result, outcome) as Result
  watch(result, outcome)
  return result
}

/** One that has methods of its own, as those of SDKs do, has to stay what it is. */
function isPlain(promise: Promise<unknown>): boolean {
  return Object.getPrototypeOf(promise) === Promise.prototype && Object.keys(promise).length === 0
}

/** By an async function, so that a rejection that nobody handles stays one, and the stack of its error names who awaited it. */
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
  if (isThenable(value)) outcome.ended(undefined)
  else if (isStream(value)) watchStream(value, outcome)
  else outcome.ended(value)
}

/** Of no promise: to ask one for its value could run it a second time. */
function isThenable(value: unknown): boolean {
  try {
    return typeof (value as { then?: unknown } | undefined | null)?.then === 'function'
  } catch {
    return true
  }
}

function isStream(value: unknown): value is Stream {
  try {
    return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
  } catch {
    return false
  }
}

/**
 * A stream has ended when whoever reads it with `for await` is through. The stream stays the very object that it is; only how
 * it is iterated is looked at. One that is read otherwise, or does not let itself be looked at, ends when `end` is called.
 */
function watchStream(stream: Stream, outcome: Outcome): void {
  try {
    const iterate = stream[Symbol.asyncIterator]
    const value = (): AsyncIterator<unknown> => watched(iterate.call(stream), outcome)
    Object.defineProperty(stream, Symbol.asyncIterator, { value, configurable: true, writable: true })
  } catch {
    // Frozen, or somebody's Proxy.
  }
}

/** The same iterator, as far as anybody can tell who calls its methods. */
function watched(iterator: AsyncIterator<unknown>, { ended, failed, came }: Outcome): AsyncIterator<unknown> {
  const step =
    (method: 'next' | 'return' | 'throw') =>
    async (...args: [unknown?]): Promise<IteratorResult<unknown>> => {
      let result: IteratorResult<unknown>
      try {
        result = await (iterator[method] as (...args: unknown[]) => Promise<IteratorResult<unknown>>)(...args)
      } catch (error) {
        failed(error)
        throw error
      }
      // Whoever leaves a stream before its end has had enough of it.
      if (result.done === true || method === 'return') ended(undefined)
      else came?.(result.value)
      return result
    }
  const same = {
    next: step('next'),
    ...(iterator.return && { return: step('return') }),
    ...(iterator.throw && { throw: step('throw') }),
    [Symbol.asyncIterator]: () => same,
  }
  return same
}

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

/**
 * A promise with a `then` of its own may only run when it is awaited, and must not run because it is looked at: it ends when the
 * caller awaits it, or calls `then` or `catch`. One that is read by other methods of its own is ended by `end`.
 */
function watch(promise: Promise<unknown>, outcome: Outcome): void {
  try {
    const { then } = promise
    if (then === Promise.prototype.then) void promise.then(value => take(value, outcome), outcome.failed)
    else watchThen(promise, then, outcome)
  } catch {
    // Frozen, or a `then` that cannot be read.
  }
}

function watchThen(promise: Promise<unknown>, then: Promise<unknown>['then'], outcome: Outcome): void {
  const watchedThen: Promise<unknown>['then'] = (onValue, onError) => {
    const value = (given: unknown): unknown => {
      take(given, outcome)
      return typeof onValue === 'function' ? onValue(given) : given
    }
    const error = (thrown: unknown): unknown => {
      outcome.failed(thrown)
      if (typeof onError === 'function') return onError(thrown)
      throw thrown
    }
    return then.call(promise, value, error) as never
  }
  const hidden = { configurable: true, writable: true }
  Object.defineProperties(promise, {
    // biome-ignore lint/suspicious/noThenProperty: it is a promise
    then: { ...hidden, value: watchedThen },
    catch: { ...hidden, value: (onError?: (thrown: unknown) => unknown) => watchedThen(undefined, onError) },
  })
}

function take(value: unknown, outcome: Outcome): void {
  if (isThenable(value)) outcome.ended(undefined)
  else if (isStream(value)) watchStream(value, outcome)
  else outcome.ended(value)
}

/** Whether it is a thenable that is no promise. It is not asked for its value, which could run it, and no getter of it is called. */
function isThenable(value: unknown): boolean {
  try {
    for (let at = value; isObject(at); at = Object.getPrototypeOf(at)) {
      const found = Object.getOwnPropertyDescriptor(at, 'then')
      if (found !== undefined) return found.get !== undefined || typeof found.value === 'function'
    }
    return false
  } catch {
    return true
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
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
    const value = (): AsyncIterator<unknown> => {
      try {
        return watched(iterate.call(stream), outcome)
      } catch (error) {
        outcome.failed(error)
        throw error
      }
    }
    Object.defineProperty(stream, Symbol.asyncIterator, { value, configurable: true, writable: true })
  } catch {
    // Frozen, or somebody's Proxy.
  }
}

type Step = (...args: unknown[]) => Promise<IteratorResult<unknown>>

/** Looks the same to its reader. Methods are read when the reader reads them: a getter of theirs may throw. */
function watched(iterator: AsyncIterator<unknown>, { ended, failed, came }: Outcome): AsyncIterator<unknown> {
  const step = (method: Step, isLeaving = false): Step => {
    return async (...args) => {
      try {
        const result = await method.apply(iterator, args)
        // A reader that leaves a stream before its end has had enough of it.
        if (isLeaving || (isObject(result) && result.done === true)) ended(undefined)
        else came?.(isObject(result) ? result.value : undefined)
        return result
      } catch (error) {
        failed(error)
        throw error
      }
    }
  }
  const optional = (name: 'return' | 'throw') => (): Step | undefined => {
    const method = iterator[name] as Step | undefined | null
    return method === undefined || method === null ? undefined : step(method, name === 'return')
  }
  const same = { next: step(iterator.next as Step), [Symbol.asyncIterator]: () => same }
  return Object.defineProperties(same, { return: { get: optional('return') }, throw: { get: optional('throw') } })
}

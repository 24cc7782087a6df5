import { types } from 'node:util'
import { ignoreErrors } from '../../contract/foreign.ts'

type Stream = AsyncIterable<unknown>

export interface SettleListener {
  readonly ended: (value: unknown) => void
  readonly failed: (error: unknown) => void
  readonly came?: (chunk: unknown) => void
}

/** Runs the function and reports its end. The caller gets the same result as without us. */
export function settle<Result>(run: () => Result, outcome: SettleListener): Result {
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
  const isPlain = Object.getPrototypeOf(result) === Promise.prototype && Object.keys(result).length === 0
  if (isPlain) return passedOn(result, outcome) as Result
  // A promise with methods of its own, as SDKs return. It must not be replaced.
  watch(result, outcome)
  return result
}

/** An async function, so that an unhandled rejection stays one, and the error's stack names the code that awaited it. */
async function passedOn(promise: Promise<unknown>, outcome: SettleListener): Promise<unknown> {
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
 * Observes a promise without replacing it. One with its own `then` may run only when it is awaited, so it must not be awaited
 * here. Its end is reported when the caller awaits it, or calls `then` or `catch`. If it is read by other methods, `end` must
 * be called.
 */
function watch(promise: Promise<unknown>, outcome: SettleListener): void {
  // Fails if the promise is frozen, or its `then` getter throws.
  ignoreErrors(() => {
    const { then } = promise
    if (then === Promise.prototype.then) void promise.then(value => take(value, outcome), outcome.failed)
    else watchThen(promise, then, outcome)
  })
}

function watchThen(promise: Promise<unknown>, then: Promise<unknown>['then'], outcome: SettleListener): void {
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

function take(value: unknown, outcome: SettleListener): void {
  if (isThenable(value)) outcome.ended(undefined)
  else if (isStream(value)) watchStream(value, outcome)
  else outcome.ended(value)
}

/** True for a thenable that is not a promise. It is not awaited, because this could run it, and its getters are not called. */
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
  return ignoreErrors(() => typeof value === 'object' && value !== null && Symbol.asyncIterator in value) === true
}

/**
 * Ends when the caller has finished reading the stream with `for await`. The stream stays the same object: only its iteration
 * is observed. If it is read in another way or cannot be observed, it ends when `end` is called.
 */
function watchStream(stream: Stream, outcome: SettleListener): void {
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
    // The stream is frozen, or a Proxy.
  }
}

type Step = (...args: unknown[]) => Promise<IteratorResult<unknown>>

/** An iterator that looks the same to its reader. Methods are read only when the reader reads them: a getter may throw. */
function watched(iterator: AsyncIterator<unknown>, { ended, failed, came }: SettleListener): AsyncIterator<unknown> {
  const step = (method: Step, isLeaving = false): Step => {
    return async (...args) => {
      try {
        const result = await method.apply(iterator, args)
        // A reader that leaves a stream early has ended it.
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

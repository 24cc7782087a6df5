import type { Outcome } from './settle.ts'

type Stream = AsyncIterable<unknown>

export function isStream(value: unknown): value is Stream {
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
export function watchStream(stream: Stream, outcome: Outcome): void {
  try {
    const iterate = stream[Symbol.asyncIterator]
    const value = function (this: unknown): AsyncIterator<unknown> {
      return watched(iterate.call(stream), outcome)
    }
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

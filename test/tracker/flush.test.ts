import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Flusher } from '../../src/tracker/flush.ts'

const WAIT = 1500

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A flush that ends when it is told to. */
function controlled(): { flush: () => Promise<void>; finish: () => Promise<void>; started: () => number } {
  const pending: (() => void)[] = []
  let count = 0
  return {
    flush: () => {
      count += 1
      return new Promise(resolve => pending.push(resolve))
    },
    finish: async () => {
      pending.shift()?.()
      await settle()
    },
    started: () => count,
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

function stateOf(promise: Promise<unknown>): { now: string } {
  const state = { now: 'pending' }
  promise.then(
    () => (state.now = 'resolved'),
    () => (state.now = 'rejected'),
  )
  return state
}

test('resolves when everything recorded is flushed', async () => {
  const { flush, finish } = controlled()
  const asked = stateOf(new Flusher(flush, WAIT).request())
  await settle()
  expect(asked.now).toBe('pending')
  await finish()
  expect(asked.now).toBe('resolved')
})

test('gives a request during a flush a flush of its own, because its spans may be missing from the running one', async () => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  const first = stateOf(flusher.request())
  const second = stateOf(flusher.request())
  expect(started()).toBe(1)
  await finish()
  expect([first.now, second.now, started()]).toEqual(['resolved', 'pending', 2])
  await finish()
  expect(second.now).toBe('resolved')
})

test('shares the next flush among all requests during a flush', async () => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  void flusher.request()
  const others = Array.from({ length: 50 }, () => stateOf(flusher.request()))
  await finish()
  expect(started()).toBe(2)
  await finish()
  expect(others.every(other => other.now === 'resolved')).toBe(true)
  const later = stateOf(flusher.request())
  expect(started()).toBe(3)
  await finish()
  expect(later.now).toBe('resolved')
})

test('resolves a request after the wait at the latest', async () => {
  const flusher = new Flusher(() => new Promise(() => undefined), WAIT)
  const [first, second] = [stateOf(flusher.request()), stateOf(flusher.request())]
  await vi.advanceTimersByTimeAsync(WAIT - 1)
  expect([first.now, second.now]).toEqual(['pending', 'pending'])
  await vi.advanceTimersByTimeAsync(1)
  expect([first.now, second.now]).toEqual(['resolved', 'resolved'])
})

test('clears the timer after a quicker flush', async () => {
  const flusher = new Flusher(() => Promise.resolve(), WAIT)
  await flusher.request()
  expect(vi.getTimerCount()).toBe(0)
})

test('resolves a failed flush, and tries the next one', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', note)
  let tries = 0
  const flusher = new Flusher(() => {
    tries += 1
    return Promise.reject(new Error('no way out'))
  }, WAIT)
  const first = stateOf(flusher.request())
  const second = stateOf(flusher.request())
  await vi.advanceTimersByTimeAsync(WAIT)
  const third = stateOf(flusher.request())
  await vi.advanceTimersByTimeAsync(WAIT)
  vi.useRealTimers()
  await new Promise(resolve => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect([first.now, second.now, third.now]).toEqual(['resolved', 'resolved', 'resolved'])
  expect(tries).toBe(3)
  expect(rejections).toEqual([])
})

test('does not reject if a flush throws', async () => {
  const flusher = new Flusher(() => {
    throw new Error('no way out')
  }, WAIT)
  let asked: Promise<void> | undefined
  expect(() => {
    asked = flusher.request()
  }).not.toThrow()
  const state = stateOf(asked ?? Promise.reject(new Error('nothing was promised')))
  await vi.advanceTimersByTimeAsync(WAIT)
  expect(state.now).toBe('resolved')
})

test('flushes once a second for turns in quick succession, and immediately for the first', async () => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  for (let turn = 0; turn < 20; turn++) void flusher.turnEnded()
  expect(started()).toBe(1)
  await finish()
  await vi.advanceTimersByTimeAsync(999)
  expect(started()).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(started()).toBe(2)
  await finish()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(started()).toBe(2)
})

test('flushes at once if a turn ends a second after the last flush', async () => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  void flusher.request()
  await finish()
  await vi.advanceTimersByTimeAsync(1000)
  void flusher.turnEnded()
  expect(started()).toBe(2)
})

test.each<[string, (ended: Promise<void>) => Promise<unknown>]>([
  ['awaits it', async ended => await ended],
  ['hands it on', async ended => ended],
  ['waits for several', ended => Promise.all([ended])],
  ['waits for the first of several', ended => Promise.race([ended, new Promise(() => undefined)])],
  ['has something done afterwards', ended => ended.finally(() => undefined)],
])('flushes a turn at once for a caller that %s', async (_how, wait) => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  void flusher.turnEnded()
  await finish()
  const ended = flusher.turnEnded()
  await settle()
  expect(started()).toBe(1)
  const state = stateOf(wait(ended))
  await settle()
  expect([started(), state.now]).toEqual([2, 'pending'])
  await finish()
  expect(state.now).toBe('resolved')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(started()).toBe(2)
})

test('flushes again for a turn that ends during an awaited flush', async () => {
  const { flush, finish, started } = controlled()
  const flusher = new Flusher(flush, WAIT)
  void flusher.turnEnded()
  await finish()
  const first = stateOf(flusher.turnEnded())
  await settle()
  const second = flusher.turnEnded()
  await finish()
  expect([first.now, started()]).toEqual(['resolved', 2])
  await vi.advanceTimersByTimeAsync(1000)
  expect(started()).toBe(3)
  const late = stateOf(second)
  await finish()
  expect([late.now, started()]).toEqual(['resolved', 3])
})

test('does not keep the process alive for a flush that no caller awaits', () => {
  const flusher = new Flusher(() => Promise.resolve(), WAIT)
  vi.useRealTimers()
  const refs = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = refs()
  void flusher.turnEnded()
  void flusher.turnEnded()
  expect(refs()).toBe(before)
})

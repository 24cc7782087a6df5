import { setImmediate } from 'node:timers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHooks } from '../../src/guards/create-hooks.ts'
import type { AnyHook } from '../../src/guards/hook.ts'
import { block, rewrite } from '../../src/guards/verdict.ts'
import { about, EVENTS, inWords } from './asking.ts'

const COULD_NOT = 'failed to check this, and is set to block on failure.'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
})

afterEach(() => {
  expect(vi.getTimerCount(), 'a timer is left behind').toBe(0)
  vi.useRealTimers()
})

const never = (): Promise<never> => new Promise(() => undefined)

function after<Value>(millis: number, value: Value): Promise<Value> {
  return new Promise(resolve => setTimeout(resolve, millis, value))
}

/** Asks, and lets all time pass that anybody waits for. */
async function asked(
  hooks: readonly AnyHook[],
  options: { total?: number; limit?: number; signal?: AbortSignal } = {},
) {
  const told = about({ signal: options.signal })
  const made = createHooks(hooks, { timeLimitMillis: options.total })
  const outcome = made.run('beforeTool', EVENTS.beforeTool, told, options.limit)
  await vi.runAllTimersAsync()
  return { outcome: await outcome, lines: told.lines }
}

test.each([
  ['pass', 'pass'],
  ['block', `block by slow: The hook slow ${COULD_NOT}`],
] as const)('gives up a hook that never answers, which is %s', async (onFailure, words) => {
  const { outcome, lines } = await asked([{ name: 'slow', timeLimitMillis: 50, onFailure, beforeTool: never }])
  expect(inWords(outcome)).toBe(words)
  expect(lines).toEqual([`hook slow failed in beforeTool, which counts as ${onFailure}: no answer within 50 ms`])
  expect(outcome.runs).toMatchObject([{ verdict: 'failed', failure: 'timed_out', durationMillis: 50 }])
})

test('limits the time of all hooks together, and skips the rest', async () => {
  const names: string[] = []
  const slow = (name: string): AnyHook => ({
    name,
    beforeTool: () => {
      names.push(name)
      return after(40, undefined)
    },
  })
  const hooks = [...['a', 'b', 'c', 'd'].map(slow), { ...slow('e'), onFailure: 'block' } as AnyHook]
  const { outcome, lines } = await asked(hooks, { total: 100 })
  expect(names).toEqual(['a', 'b', 'c'])
  expect(lines).toEqual([
    'hook c failed in beforeTool, which counts as pass: no answer within 20 ms',
    'hook d failed in beforeTool, which counts as pass: no time was left for it',
    'hook e failed in beforeTool, which counts as block: no time was left for it',
  ])
  expect(inWords(outcome)).toBe(`block by e: The hook e ${COULD_NOT}`)
})

test.each([
  [30, 30],
  [500, 100],
  [undefined, 100],
  [0, 100],
  [Number.NaN, 100],
])('gives a host that waits for %s ms %i', async (limit, millis) => {
  const { lines } = await asked([{ name: 'slow', beforeTool: never }], {
    total: 100,
    ...(limit !== undefined && { limit }),
  })
  expect(lines).toEqual([`hook slow failed in beforeTool, which counts as pass: no answer within ${millis} ms`])
})

test('limits a time to that of a timer', async () => {
  const hook: AnyHook = { name: 'slow', beforeTool: () => after(60_000, block('No.')) }
  expect(inWords((await asked([hook], { total: 2 ** 40 })).outcome)).toBe('block by slow: No.')
  const patient: AnyHook = { ...hook, timeLimitMillis: Number.POSITIVE_INFINITY }
  expect(inWords((await asked([patient], { total: Number.POSITIVE_INFINITY })).outcome)).toBe('block by slow: No.')
})

test('ignores a late answer and its rejection', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  try {
    const hooks: AnyHook[] = [
      {
        name: 'late',
        timeLimitMillis: 10,
        decisions: ['rewrite'],
        beforeTool: () => after(20, rewrite({ command: 'rm' })),
      },
      {
        name: 'rejects',
        timeLimitMillis: 10,
        beforeTool: async () => {
          await after(20, undefined)
          throw new Error('too late')
        },
      },
    ]
    const { outcome } = await asked(hooks)
    expect(outcome).toMatchObject({ decision: 'pass', isRewritten: false, value: { command: 'ls -l' } })
    expect(outcome.runs.map(({ failure }) => failure)).toEqual(['timed_out', 'timed_out'])
    await new Promise(resolve => setImmediate(resolve))
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', note)
  }
})

test('marks the context of a hook that was given up, whenever it looks, and not of the next one', async () => {
  const seen: string[] = []
  const hooks: AnyHook[] = [
    {
      name: 'polls',
      priority: 1,
      timeLimitMillis: 50,
      beforeTool: async (_, ctx) => {
        while (!ctx.signal.aborted) await after(20, undefined)
        seen.push('polls: told')
      },
    },
    {
      name: 'listens',
      priority: 2,
      timeLimitMillis: 50,
      beforeTool: (_, ctx) => {
        ctx.signal.addEventListener('abort', () => seen.push('listens: told'))
        return never()
      },
    },
    {
      name: 'next',
      priority: 3,
      beforeTool: async (_, ctx) => {
        const { signal } = ctx
        seen.push(`next: ${signal.aborted}, ${signal === ctx.signal}`)
        await after(30, undefined)
        seen.push(`next: ${ctx.signal.aborted}`)
      },
    },
  ]
  await asked(hooks)
  expect(seen).toEqual(['polls: told', 'listens: told', 'next: false, true', 'next: false'])
})

const STOPPED: Record<string, (signal: AbortSignal) => Promise<never>> = {
  'that goes on': never,
  'that gives up with it': signal =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
}

test.each(
  Object.entries(STOPPED).flatMap(([name, hook]) => [
    [name, hook, 'pass', 'pass'] as const,
    [name, hook, 'block', `block by waits: The hook waits ${COULD_NOT}`] as const,
  ]),
)('counts no failure if the agent is stopped during a hook %s, and %s means %s', async (_, hook, onFailure, words) => {
  const host = new AbortController()
  const told = about({ signal: host.signal })
  const waits: AnyHook = { name: 'waits', onFailure, beforeTool: (_, ctx) => hook(ctx.signal) }
  const outcome = createHooks([waits]).run('beforeTool', EVENTS.beforeTool, told)
  host.abort()
  expect(inWords(await outcome)).toBe(words)
  expect((await outcome).runs).toEqual([])
  expect(told.lines).toEqual([])
})

test('does not wait if the agent is stopped already', async () => {
  const signal = AbortSignal.abort()
  const { outcome } = await asked(
    [
      { name: 'a', beforeTool: never },
      { name: 'b', beforeTool: async () => block('No.') },
    ],
    {
      signal,
    },
  )
  expect(inWords(outcome)).toBe('block by b: No.')
})

test('does not count an abort of a stopped agent as a failure', async () => {
  const hook: AnyHook = { name: 'a', onFailure: 'block', beforeTool: async (_, ctx) => ctx.signal.throwIfAborted() }
  const { outcome, lines } = await asked([hook], { signal: AbortSignal.abort() })
  expect([inWords(outcome), outcome.runs, lines]).toEqual([`block by a: The hook a ${COULD_NOT}`, [], []])
})

test('does not charge the wait for one hook to the next one', async () => {
  const host = new AbortController()
  const hooks: AnyHook[] = [
    { name: 'a', beforeTool: never },
    { name: 'b', beforeTool: () => block('No.') },
  ]
  const outcome = createHooks(hooks).run('beforeTool', EVENTS.beforeTool, about({ signal: host.signal }))
  setTimeout(() => host.abort(), 500)
  await vi.runAllTimersAsync()
  expect((await outcome).runs).toMatchObject([{ hook: 'b', durationMillis: 0, startAt: 1_800_000_000_500 }])
})

test('counts fast runs, and traces runs of a millisecond', async () => {
  const passes = (name: string, millis: number): AnyHook => ({
    name,
    beforeTool: () => (millis === 0 ? undefined : after(millis, undefined)),
  })
  const { outcome } = await asked([passes('quick', 0), passes('slow', 5)])
  expect(outcome.runs.map(({ hook, startAt, durationMillis }) => [hook, startAt, durationMillis])).toEqual([
    ['quick', 0, 0],
    ['slow', 1_800_000_000_000, 5],
  ])
})

test('keeps the order of hooks although the wall clock is coarse', async () => {
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: ['Date'] })
  const hooks: AnyHook[] = Array.from({ length: 50 }, (_, at) => ({
    name: `h${at}`,
    beforeTool: () => 'nonsense' as never,
  }))
  const { runs } = await createHooks(hooks).run('beforeTool', EVENTS.beforeTool, about())
  const starts = runs.map(({ startAt }) => startAt)
  expect(starts).toEqual(starts.toSorted((a, b) => a - b))
})

import { describe, expect, test } from 'vitest'
import type { TurnHandle } from '../../../src/index.ts'
import { createTestPlugin } from '../../../src/testing.ts'

type Run = (run: () => unknown) => unknown

/** Runs a function in a turn. */
function inTurn(run: (turn: TurnHandle) => unknown): unknown {
  let result: unknown
  createTestPlugin().turn({}, turn => {
    result = run(turn)
  })
  return result
}

/** Everything that runs a function of the user. */
const WAYS: readonly Run[] = [
  run => createTestPlugin().turn({}, run),
  run => inTurn(turn => turn.tool('t', {}, run)),
  run => inTurn(turn => turn.request({}, run)),
  run => inTurn(turn => turn.approval({}, run)),
  run => inTurn(turn => turn.subagent({}, run)),
]

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

describe('a returned value', () => {
  class Answer extends Promise<object> {
    withResponse(): string {
      return 'the response'
    }
  }

  test('is the very same: values, and promises that are more than plain ones', async () => {
    const hooks = createTestPlugin()
    const value = { some: 'value' }
    const promise = Answer.resolve(value) as Answer
    hooks.turn({}, turn => {
      expect(turn.tool('t', {}, () => value)).toBe(value)
      expect(turn.request({}, () => value)).toBe(value)
      expect(turn.approval({}, () => value)).toBe(value)
      expect(turn.subagent({}, () => value)).toBe(value)
      expect(turn.request({}, () => promise).withResponse()).toBe('the response')
      expect(turn.tool('t', {}, () => promise)).toBe(promise)
      const stoppable = Object.assign(Promise.resolve(), { stop: () => undefined })
      expect(turn.tool('t', {}, () => stoppable)).toBe(stoppable)
    })
    expect(hooks.turn({}, () => value)).toBe(value)
    expect(hooks.turn({}, () => promise)).toBe(promise)
    expect(await hooks.turn({}, async () => value)).toBe(value)
  })

  test('is not run a second time when it only runs as it is awaited', async () => {
    const hooks = createTestPlugin()
    let runs = 0
    const query = {
      // biome-ignore lint/suspicious/noThenProperty: queries of some libraries are like that
      then(resolve: (rows: string[]) => void) {
        runs += 1
        resolve(['row'])
      },
    }
    const rows = await hooks.turn({}, async turn => turn.tool('query', {}, () => query))
    expect(rows).toEqual(['row'])
    expect(runs).toBe(1)
  })

  test.each([
    ['NaN', Number.NaN],
    ['-0', -0],
    ['a symbol', Symbol('s')],
    ['an invalid date', new Date(Number.NaN)],
    ['a revoked proxy', revokedProxy()],
  ])('is returned and thrown as it is: %s', async (_, value) => {
    const fails = (): never => {
      throw value
    }
    for (const run of WAYS) {
      expect(
        Object.is(
          run(() => value),
          value,
        ),
      ).toBe(true)
      expect(
        Object.is(
          thrownBy(() => run(fails)),
          value,
        ),
      ).toBe(true)
      const thrown = await (run(async () => fails()) as Promise<unknown>).then(
        () => [],
        (error: unknown) => [error],
      )
      expect(Object.is(thrown[0], value)).toBe(true)
    }
  })

  test('is not run, and no getter of it is called, if it is a promise that runs only when it is awaited', async () => {
    let runs = 0
    class Lazy extends Promise<string> {
      // biome-ignore lint/suspicious/noThenProperty: promises of some libraries are like that
      override then(...args: Parameters<Promise<string>['then']>): never {
        runs += 1
        return Promise.resolve('done').then(...args) as never
      }
    }
    const asked: string[] = []
    const plain = {
      // biome-ignore lint/suspicious/noThenProperty: a getter of a foreign object
      get then() {
        asked.push('then')
        return undefined
      },
    }
    for (const run of WAYS) {
      const lazy = new Lazy(resolve => resolve(''))
      expect(run(() => lazy)).toBe(lazy)
      expect(run(() => plain)).toBe(plain)
    }
    await new Promise(setImmediate)
    expect([runs, asked]).toEqual([0, []])
  })

  test('ends the span when awaited if it runs only then', async () => {
    const hooks = createTestPlugin()
    class Lazy extends Promise<string> {
      // biome-ignore lint/suspicious/noThenProperty: promises of some libraries are like that
      override then(...args: Parameters<Promise<string>['then']>): never {
        return Promise.resolve('done').then(...args) as never
      }
    }
    await hooks.turn({}, async turn => {
      expect(await turn.tool('t', {}, () => new Lazy(resolve => resolve('')))).toBe('done')
      expect(hooks.spans().map(({ name, status }) => [name, status])).toEqual([['tool.t', 'ok']])
    })
  })

  test('may be an unhandled rejection: it stays one', async () => {
    const hooks = createTestPlugin()
    const error = new Error('nobody listens')
    const unhandled: unknown[] = []
    const listeners = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', reason => void unhandled.push(reason))
    try {
      hooks.turn({}, turn => void turn.tool('t', {}, async () => Promise.reject(error)))
      await new Promise(resolve => setImmediate(resolve))
      await new Promise(resolve => setImmediate(resolve))
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    }
    expect(unhandled).toEqual([error])
  })

  test("shows in an error's stack who awaited it", async () => {
    const hooks = createTestPlugin()
    async function innermost(): Promise<never> {
      await null
      throw new Error('deep down')
    }
    async function myAgentLoop(turn: TurnHandle): Promise<void> {
      await turn.tool('t', {}, innermost)
    }
    const stack = await hooks.turn({}, myAgentLoop).catch((error: Error) => error.stack)
    expect(stack).toContain('myAgentLoop')
  })

  test('does not call its getters', async () => {
    const hooks = createTestPlugin()
    const asked: string[] = []
    class Lazy {
      get usage(): object {
        asked.push('usage')
        return {}
      }
      get text(): string {
        asked.push('text')
        return ''
      }
    }
    await hooks.turn({}, async turn => turn.request({}, async () => new Lazy()))
    expect(asked).toEqual([])
  })

  test.each([
    [
      'a revoked Proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
    ],
    [
      'a Proxy that refuses',
      () =>
        new Proxy(
          {},
          { get: refuse, has: refuse, getOwnPropertyDescriptor: refuse, ownKeys: refuse, getPrototypeOf: refuse },
        ),
    ],
  ])('may be %s', (_, make) => {
    const hooks = createTestPlugin()
    const odd = make()
    const given = hooks.turn(odd, turn => {
      const same = [
        turn.request(odd, () => odd) === odd,
        turn.tool(odd, odd, args => args) === odd,
        turn.approval(odd, () => odd) === odd,
        turn.subagent(odd, () => odd) === odd,
      ]
      turn.request({}, request => request.end(odd))
      turn.tool('t', {}, (_, tool) => tool.end(odd))
      turn.approval({}, approval => approval.end(odd))
      turn.subagent({}, child => child.end(odd))
      turn.end(odd)
      return same
    })
    expect(given).toEqual([true, true, true, true])
    expect(hooks.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
  })
})

function refuse(): never {
  throw new Error('refused')
}

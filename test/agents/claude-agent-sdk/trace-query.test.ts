import { beforeEach, describe, expect, test } from 'vitest'
import { traceQuery } from '../../../src/agents/claude-agent-sdk/index.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'
import { type FakeParameters, FakeQuery } from './fake-query.ts'

const TAP = Symbol.for('hookspan.tap')
const shared = globalThis as { [TAP]?: (host: string, event: HostEvent) => void }

let told: HostEvent[] = []
let running: FakeQuery | undefined

freshHostsEachTest()

beforeEach(() => {
  told = []
  shared[TAP] = (_, event) => told.push(event)
})

/** `query()` of an SDK that says these messages. */
function sdk(messages: readonly object[] = [], error?: unknown): (parameters: FakeParameters) => FakeQuery {
  return parameters => {
    running = new FakeQuery(parameters, messages as Record<string, unknown>[], error)
    return running
  }
}

function traced(...scene: Parameters<typeof sdk>): (parameters: FakeParameters) => FakeQuery {
  return traceQuery(sdk(...scene), { local_log: false })
}

function names(): string[] {
  return told.map(({ event }) => event)
}

const INIT = { type: 'system', subtype: 'init', session_id: 's1' }
const ANSWER = { type: 'assistant', session_id: 's1', message: {} }

describe('the messages', () => {
  test('passes them on unchanged and emits them', async () => {
    const seen: unknown[] = []
    for await (const message of traced([INIT, ANSWER])({ prompt: 'go' })) seen.push(message)
    expect(seen[0]).toBe(INIT)
    expect(seen).toEqual([INIT, ANSWER])
    expect(names()).toEqual(['msg.system.init', 'msg.assistant', 'iterator.end'])
    expect(told[0]?.data).toBe(INIT)
  })

  test('emits them if they are read one by one', async () => {
    const query = traced([INIT])({ prompt: 'go' })
    expect(await query.next()).toEqual({ done: false, value: INIT })
    expect(await query.next()).toEqual({ done: true, value: undefined })
    await query.next()
    expect(names()).toEqual(['msg.system.init', 'iterator.end'])
  })

  test('passes on an error of the SDK', async () => {
    const error = new TypeError('its own')
    const query = traced([INIT], error)({ prompt: 'go' })
    await query.next()
    await expect(query.next()).rejects.toBe(error)
    expect(told.at(-1)).toMatchObject({ event: 'iterator.error', data: { name: 'TypeError', aborted: false } })
  })

  test('marks an error after an abort', async () => {
    const abortController = new AbortController()
    const query = traced([INIT], new Error('aborted'))({ prompt: 'go', options: { abortController } })
    await query.next()
    abortController.abort()
    await expect(query.next()).rejects.toThrow('aborted')
    expect(told.at(-1)).toMatchObject({ event: 'iterator.error', data: { aborted: true } })
    expect(running?.parameters.options?.['abortController']).toBe(abortController)
  })

  test('passes on pieces of a streamed answer and does not emit them', async () => {
    const piece = (type: string): object => ({ type: 'stream_event', session_id: 's1', event: { type } })
    const seen: unknown[] = []
    for await (const message of traced([piece('message_start'), piece('content_block_delta')])({ prompt: 'go' }))
      seen.push(message)
    expect(seen).toHaveLength(2)
    expect(names()).toEqual(['msg.stream_event', 'iterator.end'])
  })

  test('ends the query when the loop is left', async () => {
    const query = traced([INIT, ANSWER])({ prompt: 'go' })
    for await (const message of query) if (message['type'] === 'system') break
    expect(names()).toEqual(['msg.system.init', 'iterator.return'])
    expect(await query.next()).toEqual({ done: true, value: undefined })
    expect(names()).toHaveLength(2)
  })

  test('ignores other values', async () => {
    const odd = [null, 7, { type: 7 }, {}] as unknown as object[]
    for await (const _ of traced(odd)({ prompt: 'go' }));
    expect(names()).toEqual(['iterator.end'])
  })
})

describe('the query', () => {
  test('keeps its methods, which access its private fields', async () => {
    const query = traced()({ prompt: 'go' })
    expect(await query.setModel('second')).toBe('second')
    expect(await query.interrupt()).toBe('interrupted second')
    expect(query.interrupt).toBe(query.interrupt)
    expect(query).toBeInstanceOf(FakeQuery)
    query.close()
    query.close()
    expect([query.closed, running?.closed]).toEqual([2, 2])
    expect(names()).toEqual(['iterator.return'])
  })

  test('can be modified', () => {
    const query = traced()({ prompt: 'go' })
    query.closed = 5
    expect(running?.closed).toBe(5)
    const own = (): Promise<string> => Promise.resolve('own')
    query.interrupt = own
    expect(running?.interrupt).toBe(own)
  })

  test('passes on an error of query()', () => {
    const error = new Error('no such model')
    const broken = traceQuery(
      (): FakeQuery => {
        throw error
      },
      { local_log: false },
    )
    expect(() => broken()).toThrow(error)
  })

  test('keeps the methods of a frozen query', async () => {
    const fixed = Object.freeze({ next: () => Promise.resolve({ done: true }) })
    const query = traceQuery((_: FakeParameters) => fixed, { local_log: false })({ prompt: 'go' })
    expect(await query.next()).toEqual({ done: true })
  })
})

describe('the options', () => {
  type Hook = (input: unknown, id: string | undefined, options: unknown) => Promise<unknown>
  type Matchers = Record<string, { matcher?: string; hooks: Hook[] }[]>

  function hooksOf(options?: Readonly<Record<string, unknown>>): Matchers {
    traced()(options === undefined ? { prompt: 'go' } : { prompt: 'go', options })
    return running?.parameters.options?.['hooks'] as Matchers
  }

  /** As the SDK gets it. */
  function canUseTool(theirs: (...parameters: unknown[]) => unknown): (...parameters: unknown[]) => unknown {
    traced()({ prompt: 'go', options: { canUseTool: theirs } })
    return running?.parameters.options?.['canUseTool'] as (...parameters: unknown[]) => unknown
  }

  test("places tracing hooks after the user's", async () => {
    const theirs = { matcher: 'Bash', hooks: [(): Promise<unknown> => Promise.resolve({ decision: 'block' })] }
    const own = { PreToolUse: [theirs], WorktreeCreate: [theirs] }
    const hooks = hooksOf({ hooks: own, model: 'claude' })
    expect(hooks['PreToolUse']?.[0]).toBe(theirs)
    expect(hooks['PreToolUse']).toHaveLength(2)
    expect(hooks['WorktreeCreate']).toBe(own.WorktreeCreate)
    expect(own.PreToolUse).toHaveLength(1)
    expect(running?.parameters.options).toMatchObject({ model: 'claude' })
  })

  test('returns nothing from tracing hooks', async () => {
    const hooks = hooksOf()
    const input = { session_id: 's1', hook_event_name: 'PreToolUse', tool_use_id: 't1' }
    expect(await hooks['PreToolUse']?.[0]?.hooks[0]?.(input, 't1', {})).toEqual({})
    expect(told).toEqual([
      { event: 'hook.PreToolUse', at: expect.any(Number), data: input, tool_use_id: 't1', context: expect.anything() },
    ])
    expect(told[0]?.data).toBe(input)
    for (const odd of [undefined, null, 7, 'text']) {
      expect(await hooks['Stop']?.[0]?.hooks[0]?.(odd, undefined, {})).toEqual({})
    }
  })

  test('adds no hooks that must act', () => {
    const hooks = hooksOf()
    expect(Object.keys(hooks)).not.toContain('WorktreeCreate')
    expect(hooksOf({ hooks: { Stop: 'garbage' } })['Stop']).toBe('garbage')
  })

  test('adds no canUseTool', () => {
    traced()({ prompt: 'go', options: {} })
    expect(running?.parameters.options).not.toHaveProperty('canUseTool')
  })

  test('pass on the promise of canUseTool', async () => {
    const answer = Promise.resolve({ behavior: 'allow' })
    const calls: unknown[][] = []
    const asked = canUseTool((...parameters) => {
      calls.push(parameters)
      return answer
    })
    const details = { toolUseID: 't1', title: 'May I?' }
    expect(asked('Bash', { command: 'ls' }, details)).toBe(answer)
    await answer
    expect(calls).toEqual([['Bash', { command: 'ls' }, details]])
    expect(told).toMatchObject([
      { event: 'canUseTool', data: { n: 'Bash', toolUseID: 't1', title: 'May I?' } },
      { event: 'canUseTool.end', data: { toolUseID: 't1', r: { behavior: 'allow' } } },
    ])
  })

  test('pass on errors of canUseTool', async () => {
    const error = new Error('no terminal')
    expect(() =>
      canUseTool(() => {
        throw error
      })('Bash', {}, { toolUseID: 't1' }),
    ).toThrow(error)
    await expect(canUseTool(() => Promise.reject(error))('Bash', {}, { toolUseID: 't1' })).rejects.toBe(error)
    const ends = told.filter(({ event }) => event === 'canUseTool.end')
    expect(ends.map(({ data }) => data)).toEqual([{ toolUseID: 't1' }, { toolUseID: 't1' }])
  })

  test('keeps inherited options', () => {
    class Options {
      readonly own = 1
      get inherited(): string {
        return 'yes'
      }
    }
    traced()({ prompt: 'go', options: new Options() as unknown as Record<string, unknown> })
    expect(running?.parameters.options).toMatchObject({ own: 1, inherited: 'yes' })
  })

  test('pass on invalid parameters', () => {
    traced()(undefined as unknown as FakeParameters)
    expect(running?.parameters).toBeUndefined()
  })
})

test('records a query once that is wrapped twice', async () => {
  const twice = traceQuery(traceQuery(sdk([INIT, ANSWER]), { local_log: false }))
  for await (const _ of twice({ prompt: 'go' }));
  expect(names().filter(name => name === 'msg.assistant')).toHaveLength(1)
})

test('gives each query an id', async () => {
  const query = traced([INIT])
  for (const prompt of ['one', 'two']) for await (const _ of query({ prompt }));
  const ids = told.map(({ context }) => (context as { query: string }).query)
  expect(new Set(ids).size).toBe(2)
})

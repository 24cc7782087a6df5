import { describe, expect, test, vi } from 'vitest'
import { ABLE, attachHooks, type GuardedHooks } from '../../../src/agents/opencode/hooks.ts'
import {
  type AnyHook,
  ask,
  block,
  createHooks,
  type Decision,
  inject,
  type Phase,
  pass,
  rewrite,
} from '../../../src/guards/index.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

/** An opencode that does with a plugin's hooks what 1.18.33 was seen to do. */
class FakeOpencode {
  readonly lines: string[] = []
  readonly #guards: Promise<GuardedHooks>

  constructor(...hooks: readonly AnyHook[]) {
    this.#guards = attachHooks(createHooks(hooks), { report: line => this.lines.push(line) })({ directory: '/srv' })
  }

  async names(): Promise<string[]> {
    return Object.keys(await this.#guards)
  }

  async trigger<Output>(name: string, input: object, output: Output): Promise<Output> {
    await (await this.#guards)[name]?.({ sessionID: 's1', ...input }, output)
    return output
  }

  /** What the tool runs with, which is the object that it was called with, or what the model gets in its place. */
  async tool(args: Record<string, unknown>, tool = 'bash'): Promise<unknown> {
    try {
      await this.trigger('tool.execute.before', { tool, callID: 'c1' }, { args })
      return args
    } catch (error) {
      return (error as Error).message
    }
  }

  /** What the model gets. */
  async result(output: object, args: object = { command: 'ls' }): Promise<unknown> {
    return this.trigger('tool.execute.after', { tool: 'bash', callID: 'c1', args }, output)
  }

  async system(input: object = {}): Promise<readonly string[]> {
    return (await this.trigger('experimental.chat.system.transform', input, { system: ['Be kind.'] })).system
  }
}

function hook(phase: Phase, decision: Decision, run: (event: never, ctx: never) => unknown): AnyHook {
  return { name: 'guard', onFailure: 'block', decisions: [decision], [phase]: run } as unknown as AnyHook
}

const TEXT = (text: string, more: object = {}): Record<string, unknown> => ({ type: 'text', text, ...more })

freshHostsEachTest()

describe('the registered hooks', () => {
  test('includes those that a guard uses, and the end of a turn', async () => {
    expect(await new FakeOpencode(hook('beforeTool', 'block', () => pass())).names()).toEqual([
      'tool.execute.before',
      'event',
    ])
  })

  test('reports unsupported decisions in one line, however many directories it opens', async () => {
    const lines: string[] = []
    const plugin = attachHooks(createHooks([hook('beforeTool', 'ask', () => pass())]), {
      report: line => lines.push(line),
    })
    await plugin({ directory: '/a' })
    await plugin({ directory: '/b' })
    expect(lines).toEqual(['hookspan: hook guard cannot ask in beforeTool of opencode: it blocks instead'])
  })
})

describe('a tool', () => {
  test('is seen in the words of all agents', async () => {
    const seen = vi.fn()
    await new FakeOpencode({ name: 'guard', beforeTool: event => void seen(event) }).tool({ command: 'ls' })
    expect(seen.mock.calls[0]?.[0]).toMatchObject({ tool: { kind: 'shell', command: 'ls', cwd: '/srv', id: 'c1' } })
  })

  test('is blocked with the reason alone', async () => {
    const opencode = new FakeOpencode(hook('beforeTool', 'block', () => block('No.', { detail: 'for you' })))
    expect(await opencode.tool({ command: 'rm x' })).toBe('No.')
  })

  test('is blocked if the user would have to be asked', async () => {
    expect(await new FakeOpencode(hook('beforeTool', 'ask', () => ask('May it?'))).tool({})).toBe(
      'The hook guard wants to ask the user, which is not possible here: May it?',
    )
  })

  test('has its arguments changed in the object that it runs with', async () => {
    const args = { command: 'one', timeout: 5 }
    const opencode = new FakeOpencode(hook('beforeTool', 'rewrite', () => rewrite({ command: 'two', env: {} })))
    expect(await opencode.tool(args)).toBe(args)
    expect(args).toEqual({ command: 'two', env: {} })
    expect(Object.isFrozen((args as { env?: object }).env)).toBe(false)
  })
})

describe('a result', () => {
  const CONTENT = [TEXT('one'), { type: 'image', data: 'AA==' }]

  test.each([
    ['of a tool of its own', { output: 'one' }, 'one', { output: 'two' }],
    ['of an MCP server', { content: [TEXT('one')] }, 'one', { content: [TEXT('two')] }],
    ['with more than text', { content: CONTENT }, CONTENT, { content: [TEXT('two'), CONTENT[1]] }],
  ])('is seen, and changed in place: %s', async (_, output, result, expected) => {
    const seen: unknown[] = []
    const opencode = new FakeOpencode(
      hook('afterTool', 'rewrite', ((event: { result: unknown }) => {
        seen.push(event.result)
        return rewrite('two')
      }) as never),
    )
    expect(await opencode.result(structuredClone(output))).toEqual(expected)
    expect(seen).toEqual([result])
  })

  test.each([
    [{ output: 'one' }, { output: 'No.' }],
    [{ content: [TEXT('one')] }, { content: [TEXT('No.')] }],
  ])('is withheld, which is no error of the tool: %j', async (output, expected) => {
    expect(await new FakeOpencode(hook('afterTool', 'block', () => block('No.'))).result(output)).toEqual(expected)
  })

  test.each([
    [{ output: 'one' }, { output: 'one\n\nMind it.' }],
    [{ content: [TEXT('one')] }, { content: [TEXT('one'), TEXT('Mind it.')] }],
  ])('has a line appended: %j', async (output, expected) => {
    expect(await new FakeOpencode(hook('afterTool', 'inject', () => inject('Mind it.'))).result(output)).toEqual(
      expected,
    )
  })
})

describe('a prompt', () => {
  test('is the text that the user has typed, and may be replaced', async () => {
    const seen: unknown[] = []
    const opencode = new FakeOpencode(
      hook('beforeTurn', 'rewrite', ((event: { prompt: string }) => {
        seen.push(event.prompt)
        return rewrite('Hello')
      }) as never),
    )
    const file = TEXT('contents', { synthetic: true })
    const { parts } = await opencode.trigger('chat.message', {}, { parts: [TEXT('Hi'), file, TEXT('there')] })
    expect(parts).toEqual([TEXT('Hello'), file])
    expect(seen).toEqual(['Hi\nthere'])
  })

  const SAYS: readonly AnyHook[] = [
    { name: 'a', decisions: ['inject'], beforeTurn: () => inject('In Latin.', 'system') },
    { name: 'b', decisions: ['inject'], beforeTurn: () => inject('It is Monday.') },
  ]

  test('has an injected text in every request of its turn', async () => {
    const opencode = new FakeOpencode(...SAYS)
    const { parts } = await opencode.trigger('chat.message', {}, { parts: [TEXT('Hi')] })
    expect(parts).toEqual([TEXT('Hi\n\nIt is Monday.')])
    for (let at = 0; at < 2; at++) expect(await opencode.system()).toEqual(['Be kind.', 'In Latin.'])
    expect(await opencode.system({ sessionID: 's2' })).toEqual(['Be kind.'])
    expect(await opencode.system({ sessionID: undefined })).toEqual(['Be kind.'])
    await opencode.trigger('event', { event: { type: 'session.idle', properties: { sessionID: 's1' } } }, undefined)
    expect(await opencode.system()).toEqual(['Be kind.'])
  })

  test('is injected into the system prompt if it has no text', async () => {
    const opencode = new FakeOpencode(...SAYS)
    await opencode.trigger('chat.message', {}, { parts: [{ type: 'file' }] })
    expect(await opencode.system()).toEqual(['Be kind.', 'In Latin.', 'It is Monday.'])
  })
})

describe('a request', () => {
  const conversation = (): { messages: { info: object; parts: Record<string, unknown>[] }[] } => ({
    messages: [
      { info: { role: 'user', sessionID: 's1' }, parts: [TEXT('Hi')] },
      {
        info: { role: 'assistant', sessionID: 's1' },
        parts: [TEXT('Hello'), { type: 'tool', state: { status: 'completed', output: 'ok' } }],
      },
    ],
  })

  test('is seen as messages, and changed where their texts are', async () => {
    const seen: unknown[] = []
    const opencode = new FakeOpencode(
      hook('beforeModel', 'rewrite', ((event: { messages: { role: string; text: string }[] }) => {
        seen.push(...event.messages)
        return rewrite(event.messages.map(each => ({ ...each, text: each.text.toUpperCase() })) as never)
      }) as never),
    )
    const { messages } = await opencode.trigger('experimental.chat.messages.transform', {}, conversation())
    expect(seen).toEqual([
      { role: 'user', text: 'Hi' },
      { role: 'assistant', text: 'Hello' },
      { role: 'tool', text: 'ok' },
    ])
    expect(messages.map(({ parts }) => parts)).toEqual([
      [TEXT('HI')],
      [TEXT('HELLO'), { type: 'tool', state: { status: 'completed', output: 'OK' } }],
    ])
  })

  test('has an injected text, and the next one does not', async () => {
    const opencode = new FakeOpencode(
      { name: 'a', decisions: ['inject'], beforeModel: () => inject('In Latin.', 'system') },
      { name: 'b', decisions: ['inject'], beforeModel: () => inject('It is Monday.') },
    )
    const { messages } = await opencode.trigger('experimental.chat.messages.transform', {}, conversation())
    expect(messages[0]?.parts).toEqual([TEXT('Hi\n\nIt is Monday.')])
    expect(await opencode.system()).toEqual(['Be kind.', 'In Latin.'])
    expect(await opencode.system()).toEqual(['Be kind.'])
  })
})

test('has another answer text', async () => {
  const opencode = new FakeOpencode(hook('afterModel', 'rewrite', () => rewrite('Fine.')))
  expect(await opencode.trigger('experimental.text.complete', {}, { text: 'Well.' })).toEqual({ text: 'Fine.' })
})

describe('a turn', () => {
  test('has a state of its own, until the session is idle', async () => {
    const states: unknown[] = []
    const opencode = new FakeOpencode({ name: 'guard', beforeTool: (_, { state }) => void states.push(state) })
    await opencode.tool({})
    await opencode.tool({})
    await opencode.trigger('event', { event: { type: 'session.idle', properties: { sessionID: 's1' } } }, undefined)
    await opencode.tool({})
    expect(states.map(each => states.indexOf(each))).toEqual([0, 0, 2])
  })
})

describe('failures', () => {
  const CLOSED = 'The hook guard failed to check this, and is set to block on failure.'

  test.each([
    ['pass', { command: 'ls' }],
    ['block', CLOSED],
  ] as const)('counts as %s, and its error is hidden from the model', async (onFailure, expected) => {
    const throws = (): never => {
      throw new Error('of no concern to the model')
    }
    const opencode = new FakeOpencode({ name: 'guard', onFailure, beforeTool: throws })
    expect(await opencode.tool({ command: 'ls' })).toEqual(expected)
  })

  test("closes if possible when reading opencode's data fails, and never makes an error of a finished tool", async () => {
    const phases = Object.fromEntries(Object.keys(ABLE).map(phase => [phase, () => pass()]))
    const opencode = new FakeOpencode({ name: 'guard', onFailure: 'block', ...phases } as AnyHook)
    const broken = Object.defineProperty({}, 'directory', { get: () => 7 })
    for (const name of await opencode.names()) {
      if (name !== 'tool.execute.before') await opencode.trigger(name, broken, {})
    }
    const raise = (): never => {
      throw new Error('of no concern to the model')
    }
    const unreadable = { toString: raise } as unknown as string
    expect(await opencode.tool({ command: 'ls' }, unreadable)).toBe(CLOSED)
    const result = { output: 'one' }
    await opencode.trigger('tool.execute.after', { tool: unreadable, args: {} }, result)
    expect(result).toEqual({ output: CLOSED })
  })
})

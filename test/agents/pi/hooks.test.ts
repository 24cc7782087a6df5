import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ABLE, type AttachOptions, attachHooks, type PiContext, type PiUi } from '../../../src/agents/pi/hooks.ts'
import { createPiExtension } from '../../../src/agents/pi/index.ts'
import type { PiExtensionApi } from '../../../src/agents/pi/types.ts'
import {
  type AnyHook,
  ask,
  block,
  createHooks,
  type Decision,
  defineHook,
  inject,
  type Phase,
  pass,
  retry,
  rewrite,
} from '../../../src/guards/index.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

type Handler = Parameters<PiExtensionApi['on']>[1]

/** A Pi as measured: handlers one after another, what they give back taken as `runner.js` of 0.87.1 takes it. */
class FakePi implements PiExtensionApi {
  readonly handlers = new Map<string, Handler[]>()
  readonly lines: string[] = []
  context: PiContext

  constructor(context: PiContext = {}) {
    this.context = { sessionManager: { getSessionId: () => 's1' }, hasUI: false, cwd: '/srv', ...context }
  }

  on(event: string, handler: Handler): void {
    this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler])
  }

  with(hooks: readonly AnyHook[], options: AttachOptions = {}): this {
    attachHooks(this, createHooks(hooks), { report: line => this.lines.push(line), ...options })
    return this
  }

  async emit(type: string, data: object = {}): Promise<unknown> {
    let last: unknown
    for (const handler of this.handlers.get(type) ?? []) last = (await handler({ type, ...data }, this.context)) ?? last
    return last
  }

  /** What a tool would run with, or what the model gets in its place. */
  async tool(input: Record<string, unknown>, toolName = 'bash'): Promise<unknown> {
    const answer = (await this.emit('tool_call', { toolCallId: 'c1', toolName, input })) as
      | { block?: boolean; reason?: string }
      | undefined
    return answer?.block === true ? answer.reason : input
  }
}

function hook<D extends Decision>(phase: Phase, decision: D, run: (event: never, ctx: never) => unknown): AnyHook {
  return { name: 'guard', onFailure: 'block', decisions: [decision], [phase]: run } as unknown as AnyHook
}

const TEXT = (text: string) => ({ type: 'text', text })
const IMAGE = { type: 'image', data: 'AA==', mimeType: 'image/png' }

freshHostsEachTest()

beforeEach(() => {
  vi.stubEnv('TRACEPARENT', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('the registered hooks', () => {
  test('has one handler for an event that a guard uses, however many hooks there are', () => {
    const looks = (name: string): AnyHook => ({ name, beforeTool: () => pass() })
    const pi = new FakePi().with([looks('one'), looks('two')])
    expect([...pi.handlers].map(([event, { length }]) => `${event} ${length}`)).toEqual([
      'tool_call 1',
      'agent_settled 1',
      'session_shutdown 1',
    ])
  })

  test('reports unsupported decisions in a line when attached', () => {
    const pi = new FakePi().with([defineHook({ name: 'late', decisions: ['block'], afterTurn: () => block('no') })])
    expect(pi.lines).toEqual(['hookspan: hook late cannot block in afterTurn of pi: the operation continues'])
  })
})

describe('a prompt', () => {
  test.each([
    ['passes', () => undefined, undefined],
    ['is another one', () => rewrite('Hello'), { action: 'transform', text: 'Hello' }],
  ])('%s', async (_, decide, expected) => {
    const pi = new FakePi().with([hook('beforeTurn', 'rewrite', decide)])
    expect(await pi.emit('input', { text: 'Hi' })).toEqual(expected)
  })

  test('is not sent, and the user is informed on standard error', async () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const pi = new FakePi().with([hook('beforeTurn', 'block', () => block('No.', { detail: 'rule 7' }))])
    expect(await pi.emit('input', { text: 'Hi' })).toEqual({ action: 'handled' })
    expect(write.mock.calls).toEqual([['hookspan: pi: A hook has blocked this prompt: No. (rule 7)\n']])
  })

  test('is not sent, and the user is informed where Pi draws', async () => {
    const notify = vi.fn()
    const pi = new FakePi({ hasUI: true, ui: { notify } }).with([hook('beforeTurn', 'block', () => block('No.'))])
    await pi.emit('input', { text: 'Hi' })
    expect(notify.mock.calls).toEqual([['A hook has blocked this prompt: No.', 'warning']])
  })

  test('has an injected text after the existing system prompt, once', async () => {
    const hooks: AnyHook[] = [
      { name: 'a', decisions: ['inject'], beforeTurn: () => inject('In Latin.', 'system') },
      { name: 'b', decisions: ['inject'], beforeTurn: () => inject('It is Monday.') },
    ]
    const pi = new FakePi().with(hooks)
    expect(await pi.emit('input', { text: 'Hi' })).toBeUndefined()
    expect(await pi.emit('before_agent_start', { systemPrompt: 'Be kind.' })).toEqual({
      systemPrompt: 'Be kind.\n\nIn Latin.',
      message: { customType: 'hookspan', content: 'It is Monday.', display: true },
    })
    expect(await pi.emit('before_agent_start', { systemPrompt: 'Be kind.' })).toEqual({})
  })

  test('has an injected text in itself if it waits while the agent works, and is no new turn', async () => {
    const states: unknown[] = []
    const pi = new FakePi().with([
      {
        name: 'guard',
        decisions: ['inject'],
        beforeTurn: (_, { state }) => {
          states.push(state)
          return inject('It is Monday.')
        },
      },
    ])
    await pi.emit('input', { text: 'Hi' })
    const answer = await pi.emit('input', { text: 'And?', streamingBehavior: 'steer' })
    expect(answer).toEqual({ action: 'transform', text: 'And?\n\nIt is Monday.' })
    expect(states[1]).toBe(states[0])
    await pi.emit('agent_settled')
    await pi.emit('input', { text: 'Next' })
    expect(states[2]).not.toBe(states[0])
  })
})

describe('a tool call', () => {
  test('is seen in the words of all agents', async () => {
    const seen = vi.fn()
    const pi = new FakePi().with([{ name: 'guard', beforeTool: event => void seen(event) }])
    await pi.tool({ command: 'ls' })
    expect(seen.mock.calls[0]?.[0]).toMatchObject({ tool: { kind: 'shell', command: 'ls', cwd: '/srv', id: 'c1' } })
  })

  test('is blocked with the reason', async () => {
    const pi = new FakePi().with([hook('beforeTool', 'block', () => block('No.', { detail: 'for you' }))])
    expect(await pi.tool({ command: 'rm x' })).toBe('No.')
  })

  test('has its arguments changed in the object that the tool runs with', async () => {
    const input = { command: 'one', timeout: 5 }
    const pi = new FakePi().with([hook('beforeTool', 'rewrite', () => rewrite({ command: 'two', env: { A: '1' } }))])
    expect(await pi.tool(input)).toBe(input)
    expect(input).toEqual({ command: 'two', env: { A: '1' } })
    expect(Object.isFrozen((input as { env?: object }).env)).toBe(false)
  })

  const ASKS = hook('beforeTool', 'ask', () => ask('May it?'))

  function withPerson(confirm: NonNullable<PiUi['confirm']>): FakePi {
    return new FakePi({ hasUI: true, ui: { confirm } })
  }

  test.each([
    ['agrees', async (): Promise<boolean> => true, { command: 'two' }],
    ['does not', async (): Promise<boolean> => false, 'The hook guard had a person asked, who has not agreed.'],
    [
      'cannot be asked',
      async (): Promise<boolean> => Promise.reject(new Error('no terminal')),
      'The hook guard had a person asked, who has not agreed.',
    ],
  ] as const)('is asked about as it would run, and the user %s', async (_, confirm, expected) => {
    const asked = vi.fn(confirm)
    const rewrites: AnyHook = { name: 'r', decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'two' }) }
    const pi = withPerson(asked).with([ASKS, rewrites])
    expect(await pi.tool({ command: 'one' })).toEqual(expected)
    expect(asked.mock.calls[0]?.slice(0, 2)).toEqual(['May it?', 'two'])
  })

  test('is shown in full, or marked as shortened', async () => {
    const confirm = vi.fn(async () => true)
    const pi = withPerson(confirm).with([ASKS])
    await pi.tool({ path: 'a.txt', text: 'x' }, 'write')
    await pi.tool({ command: 'x'.repeat(2010) })
    expect(confirm.mock.calls.map(call => (call as unknown[])[1])).toEqual([
      'write {\n  "path": "a.txt",\n  "text": "x"\n}',
      `${'x'.repeat(2000)}\n… and 10 more characters`,
    ])
  })

  test('is blocked without a user', async () => {
    const pi = new FakePi({ ui: { confirm: async () => true } }).with([ASKS])
    expect(await pi.tool({ command: 'x' })).toBe(
      'The hook guard wants to ask the user, which is not possible here: May it?',
    )
  })
})

describe('a tool result', () => {
  const result = (content: unknown) => ({ toolCallId: 'c1', toolName: 'bash', input: { command: 'ls' }, content })

  test.each([
    ['text is text', [TEXT('one'), TEXT('two')], 'one\ntwo'],
    ['anything else is what it is', [TEXT('one'), IMAGE], [TEXT('one'), IMAGE]],
  ])('is seen: %s', async (_, content, expected) => {
    const seen = vi.fn()
    const pi = new FakePi().with([{ name: 'guard', afterTool: event => void seen(event) }])
    await pi.emit('tool_result', { ...result(content), isError: true })
    expect(seen.mock.calls[0]?.[0]).toMatchObject({ result: expected, isError: true })
  })

  test.each([
    ['another text', () => rewrite('three'), [TEXT('three'), IMAGE]],
    ['other parts', () => rewrite([TEXT('three')]), [TEXT('three')]],
    ['a value', () => rewrite({ a: 1 }), [TEXT('{"a":1}'), IMAGE]],
  ])('is %s', async (_, decide, content) => {
    const pi = new FakePi().with([hook('afterTool', 'rewrite', decide)])
    expect(await pi.emit('tool_result', result([TEXT('one'), IMAGE, TEXT('two')]))).toEqual({ content })
  })

  test('is withheld, or has a line appended', async () => {
    const withheld = new FakePi().with([hook('afterTool', 'block', () => block('No.'))])
    expect(await withheld.emit('tool_result', result([TEXT('one')]))).toEqual({ content: [TEXT('No.')], isError: true })
    const more = new FakePi().with([hook('afterTool', 'inject', () => inject('Mind it.'))])
    expect(await more.emit('tool_result', result([TEXT('one')]))).toEqual({ content: [TEXT('one'), TEXT('Mind it.')] })
  })
})

describe('a request', () => {
  const MESSAGES = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [TEXT('Hello'), { type: 'toolCall', id: 'c1', name: 'bash', arguments: {} }] },
    { role: 'toolResult', content: [TEXT('ok'), IMAGE] },
    { role: 'compactionSummary', summary: 'They met.' },
  ]

  test('is seen as messages, and changed where their texts are', async () => {
    const seen = vi.fn()
    const upper = hook('beforeModel', 'rewrite', ((event: { messages: { text: string }[] }) => {
      seen(event)
      return rewrite(
        event.messages.map((each, at) => (at === 0 ? each : { ...each, text: each.text.toUpperCase() })) as never,
      )
    }) as never)
    const pi = new FakePi().with([upper])
    const answer = (await pi.emit('context', { messages: MESSAGES })) as { messages: unknown[] }
    expect(seen.mock.calls[0]?.[0].messages).toEqual([
      { role: 'user', text: 'Hi' },
      { role: 'assistant', text: 'Hello' },
      { role: 'tool', text: 'ok' },
      { role: 'user', text: 'They met.' },
    ])
    expect(answer.messages).toEqual([
      MESSAGES[0],
      { role: 'assistant', content: [TEXT('HELLO'), { type: 'toolCall', id: 'c1', name: 'bash', arguments: {} }] },
      { role: 'toolResult', content: [TEXT('OK'), IMAGE] },
      { role: 'compactionSummary', summary: 'THEY MET.' },
    ])
    expect(answer.messages[0]).toBe(MESSAGES[0])
  })

  test('has an injected text', async () => {
    const pi = new FakePi().with([hook('beforeModel', 'inject', () => inject('It is Monday.', 'system'))])
    const answer = (await pi.emit('context', { messages: MESSAGES })) as { messages: unknown[] }
    expect(answer.messages).toEqual([
      ...MESSAGES,
      { role: 'system', content: [TEXT('It is Monday.')], timestamp: expect.any(Number) },
    ])
  })
})

describe('an answer', () => {
  const CALL = { type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'rm x' } }
  const usage = { input: 100, cacheRead: 20, output: 7, cost: { total: 0.25 } }
  const message = { role: 'assistant', content: [TEXT('Well.'), CALL], stopReason: 'toolUse', model: 'm', usage }

  test('is seen with its calls, its usage, and its error', async () => {
    const seen = vi.fn()
    const pi = new FakePi().with([{ name: 'guard', afterModel: event => void seen(event) }])
    await pi.emit('message_end', { message })
    await pi.emit('message_end', {
      message: { role: 'assistant', content: [], stopReason: 'error', errorMessage: '429: slow down' },
    })
    await pi.emit('message_end', { message: { role: 'assistant', content: [], stopReason: 'aborted' } })
    await pi.emit('message_end', { message: { role: 'user', content: 'Hi' } })
    expect(seen.mock.calls.map(([event]) => event)).toMatchObject([
      {
        model: 'm',
        text: 'Well.',
        toolCalls: [{ kind: 'shell', command: 'rm x' }],
        usage: { inputTokens: 120, outputTokens: 7, costUsd: 0.25 },
        attempt: 0,
      },
      { text: '', error: { status: 429, message: '429: slow down' } },
    ])
  })

  test('has another text', async () => {
    const pi = new FakePi().with([hook('afterModel', 'rewrite', () => rewrite('Fine.'))])
    expect(await pi.emit('message_end', { message })).toEqual({
      message: { ...message, content: [TEXT('Fine.'), CALL] },
    })
  })

  test('is silenced, and calls nothing', async () => {
    const pi = new FakePi().with([hook('afterModel', 'block', () => block('No.'))])
    expect(await pi.emit('message_end', { message })).toEqual({
      message: { ...message, content: [TEXT('No.')], stopReason: 'stop' },
    })
  })
})

describe('the end of a turn', () => {
  const context = {
    contextMessages: [
      { role: 'assistant', content: [TEXT('Done.')] },
      { role: 'custom', content: 'x' },
    ],
  }
  const AGAIN = hook('afterTurn', 'retry', () => retry({ feedback: 'Not yet.' }))

  test('is repeated three times at most, after the texts of others', async () => {
    const attempts: unknown[] = []
    const again = hook('afterTurn', 'retry', ((event: { attempt: number; answer: string }) => {
      attempts.push([event.attempt, event.answer])
      return retry({ delayMillis: 0 })
    }) as never)
    const pi = new FakePi().with([again])
    const other = { type: 'custom', customType: 'other' }
    const answers = []
    for (let at = 0; at < 4; at++) answers.push(await pi.emit('agent_before_settle', { entries: [other], context }))
    expect(answers[0]).toEqual({
      continue: true,
      entries: [
        other,
        {
          type: 'custom_message',
          customType: 'hookspan',
          content: 'This is not done yet: a hook wants it to be tried again.',
          display: true,
        },
      ],
    })
    expect(answers[3]).toBeUndefined()
    expect(attempts).toEqual([0, 1, 2, 3].map(attempt => [attempt, 'Done.']))
    await pi.emit('agent_settled')
    expect(await pi.emit('agent_before_settle', { context })).toMatchObject({ continue: true })
  })

  test.each([
    ['if another extension continues it', { continue: true }],
    ['if the user has stopped it', { outcome: 'aborted' }],
  ])('is not asked about %s', async (_, more) => {
    const pi = new FakePi().with([AGAIN])
    expect(await pi.emit('agent_before_settle', { context, ...more })).toBeUndefined()
  })
})

describe('failures', () => {
  const CLOSED = 'The hook guard failed to check this, and is set to block on failure.'
  const never = () => pass()
  const broken = new Proxy(
    {},
    {
      get: () => {
        throw new Error('a secret of Pi')
      },
    },
  ) as PiContext

  test.each([
    ['pass', undefined],
    ['block', { block: true, reason: CLOSED }],
  ] as const)("counts as %s a failure to read Pi's data", async (onFailure, expected) => {
    const pi = new FakePi().with([{ name: 'guard', onFailure, beforeTool: never }])
    pi.context = broken
    expect(await pi.emit('tool_call', { toolCallId: 'c1', toolName: 'bash', input: {} })).toEqual(expected)
    expect(pi.lines).toEqual([
      `hookspan: pi: the event of pi in beforeTool cannot be read: the hooks did not run, which counts as ${onFailure}`,
    ])
  })

  test('is closed in every phase that can be', async () => {
    const phases = Object.fromEntries(Object.keys(ABLE).map(phase => [phase, never]))
    const pi = new FakePi().with([{ name: 'guard', onFailure: 'block', ...phases }])
    const context = { ...pi.context, ui: { notify: vi.fn() }, hasUI: true }
    pi.context = { ...context, sessionManager: broken as never }
    const message = { role: 'assistant', content: [TEXT('Hi')] }
    expect(await pi.emit('input', { text: 'Hi' })).toEqual({ action: 'handled' })
    expect(await pi.emit('message_end', { message })).toMatchObject({ message: { content: [TEXT(CLOSED)] } })
    expect(await pi.emit('tool_result', { content: [TEXT('one')] })).toEqual({ content: [TEXT(CLOSED)], isError: true })
    for (const event of ['context', 'agent_before_settle', 'agent_settled'])
      expect(await pi.emit(event)).toBeUndefined()
  })
})

test('makes a blocked prompt an ended turn of its own in the trace', async () => {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const pi = new FakePi().with([hook('beforeTurn', 'block', () => block('No.'))])
  const emitted: unknown[] = []
  createPiExtension({ local_log: false, prometheus: false })(pi)
  const { runningPlugin } = await import('../../../src/agents/attach.ts')
  const plugin = runningPlugin('pi')!
  vi.spyOn(plugin, 'emitUntyped').mockImplementation((hook, payload) => {
    emitted.push([hook, (payload as { session_id?: string }).session_id])
    return undefined
  })
  await pi.emit('input', { text: 'Hi' })
  await pi.emit('input', { text: 'Hi', streamingBehavior: 'steer' })
  expect(emitted).toEqual([
    ['pre_control_hook', 's1'],
    ['post_control_hook', 's1'],
    ['on_session_end', 's1'],
    ['pre_control_hook', 's1'],
    ['post_control_hook', 's1'],
  ])
})

import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/guards/chain.ts'
import {
  type Extension,
  type FromProviderOptions,
  fromExtension,
  fromProvider,
  type HookProvider,
  rewrite,
} from '../../src/guards/index.ts'
import type { Phase } from '../../src/guards/phases.ts'
import { calling, EVENTS, inWords } from './asking.ts'
import { Agent } from './builtin/steps.ts'

type Told = readonly [phase: Phase, words: string, value?: unknown]

async function expectTold(agent: Agent, [phase, words, value]: Told): Promise<void> {
  const outcome: Outcome<Phase> = await agent.ask(phase)
  expect(inWords(outcome)).toBe(words)
  expect(outcome.isRewritten).toBe(value !== undefined)
  if (value !== undefined) expect(outcome.value).toEqual(value)
}

describe('the answer of an extension', () => {
  const ANSWERS: Record<string, readonly [place: keyof Extension, answer: unknown, told: Told]> = {
    nothing: ['transform_user_input', undefined, ['beforeTurn', 'pass']],
    none: ['intercept_tool_call', null, ['beforeTool', 'pass']],
    pass: ['before_llm_call', { action: 'pass', value: null, metadata: {} }, ['beforeModel', 'pass']],
    'a block': ['transform_user_input', { action: 'block', value: 'No.' }, ['beforeTurn', 'block by x: No.']],
    'a block without a word': [
      'intercept_tool_call',
      { action: 'block' },
      ['beforeTool', 'block by x: The hook x has blocked this.'],
    ],
    'a prompt': ['transform_user_input', { action: 'rewrite', value: 'Other.' }, ['beforeTurn', 'pass', 'Other.']],
    'arguments, all of them': [
      'intercept_tool_call',
      { action: 'rewrite', value: { command: 'pwd' } },
      ['beforeTool', 'pass', { command: 'pwd' }],
    ],
  }

  test.each(Object.entries(ANSWERS))('is translated: %s', async (_, [place, answer, told]) => {
    for (const says of [() => answer, async () => answer])
      await expectTold(new Agent(fromExtension({ [place]: says } as Extension, { name: 'x' })), told)
  })

  const NONSENSE: readonly (readonly [place: keyof Extension, answer: unknown, phase: Phase])[] = [
    ['transform_user_input', { action: 'inject_user', value: 'x' }, 'beforeTurn'],
    ['transform_user_input', { action: 'rewrite', value: 5 }, 'beforeTurn'],
    ['before_llm_call', { action: 'rewrite', value: [] }, 'beforeModel'],
    ['before_llm_call', { action: 'inject_system' }, 'beforeModel'],
    ['intercept_tool_call', { action: 'deny', value: 'x' }, 'beforeTool'],
    ['intercept_tool_call', { action: 'rewrite', value: 'ls' }, 'beforeTool'],
    ['intercept_tool_call', 'block', 'beforeTool'],
    ['intercept_tool_call', { value: 'No.' }, 'beforeTool'],
  ]

  test.each(NONSENSE)('is a failure, blocked if closed, for %s: %j', async (place, answer, phase) => {
    const extension = { [place]: () => answer } as Extension
    const open = new Agent(fromExtension(extension, { name: 'x' }))
    expect(inWords(await open.ask(phase))).toBe('pass')
    expect(open.lines).toHaveLength(1)
    const closed = new Agent(fromExtension(extension, { name: 'x', onFailure: 'block' }))
    expect((await closed.ask(phase)).decision).toBe('block')
  })

  test('ignores changes in place', async () => {
    const extension: Extension = {
      intercept_tool_call: ({ tool_args }) => {
        tool_args['command'] = 'rm'
      },
    }
    await expectTold(new Agent(fromExtension(extension, { name: 'x' })), ['beforeTool', 'pass'])
  })

  test('runs an extension that only blocks after those that rewrite', async () => {
    const judge: Extension = {
      intercept_tool_call: ({ tool_args }) =>
        tool_args['command'] === 'rm' ? { action: 'block', value: 'No.' } : undefined,
    }
    const rewriter = {
      name: 'r',
      priority: 300,
      decisions: ['rewrite'] as const,
      beforeTool: () => rewrite({ command: 'rm' }),
    }
    const first = new Agent(fromExtension(judge, { name: 'x' }), rewriter)
    expect(await first.call('bash', { command: 'ls' })).toBe('pass')
    const judging = new Agent(fromExtension(judge, { name: 'x', decisions: ['block'] }), rewriter)
    expect(await judging.call('bash', { command: 'ls' })).toBe('block by x: No.')
  })

  test('keeps its this', async () => {
    class Counting {
      calls = 0
      transform_user_input(): void {
        this.calls++
      }
    }
    const counting = new Counting()
    await new Agent(fromExtension(counting, { name: 'x' })).ask('beforeTurn')
    expect(counting.calls).toBe(1)
  })
})

describe('a provider that changes an event', () => {
  const MESSAGES = EVENTS.beforeModel.messages
  const shouted = MESSAGES.map(each => ({ ...each, text: each.text.toUpperCase() }))
  const shout = (event: any): void => {
    event.messages = event.messages.map((each: any) => ({ ...each, content: each.content.toUpperCase() }))
  }

  const UNREADABLE = new Proxy({}, { ownKeys: () => expect.unreachable() })

  const DONE: Record<string, readonly [method: keyof HookProvider, does: (event: any) => void, told: Told]> = {
    nothing: ['on_before_tool_call', () => undefined, ['beforeTool', 'pass']],
    'cancel()': [
      'on_before_tool_call',
      event => event.cancel(),
      ['beforeTool', 'block by p: The hook p has blocked this.'],
    ],
    'cancel(reason)': ['on_before_tool_call', event => event.cancel('No.'), ['beforeTool', 'block by p: No.']],
    'cancel({ reason })': [
      'on_before_model_call',
      event => event.cancel({ reason: 'No.' }),
      ['beforeModel', 'block by p: No.'],
    ],
    'cancel = reason': ['on_before_invocation', event => (event.cancel = 'No.'), ['beforeTurn', 'block by p: No.']],
    'cancel = true': [
      'on_before_tool_call',
      event => (event.cancel = true),
      ['beforeTool', 'block by p: The hook p has blocked this.'],
    ],
    'cancel = false': ['on_before_tool_call', event => (event.cancel = false), ['beforeTool', 'pass']],
    'cancelled = true': [
      'on_before_tool_call',
      event => (event.cancelled = true),
      ['beforeTool', 'block by p: The hook p has blocked this.'],
    ],
    'arguments = …': [
      'on_before_tool_call',
      event => (event.arguments = { command: 'pwd' }),
      ['beforeTool', 'pass', { command: 'pwd' }],
    ],
    'arguments in place': [
      'on_before_tool_call',
      event => (event.arguments.command = 'pwd'),
      ['beforeTool', 'pass', { command: 'pwd', cwd: '/srv/app' }],
    ],
    'replace_arguments(…)': [
      'on_before_tool_call',
      event => event.replace_arguments({ command: 'pwd' }),
      ['beforeTool', 'pass', { command: 'pwd' }],
    ],
    'a cancellation is more than a rewrite': [
      'on_before_tool_call',
      event => {
        event.arguments = { command: 'pwd' }
        event.cancel('No.')
      },
      ['beforeTool', 'block by p: No.'],
    ],
    'a cancellation next to arguments that cannot be read': [
      'on_before_tool_call',
      event => {
        event.arguments = UNREADABLE
        event.cancel('No.')
      },
      ['beforeTool', 'block by p: No.'],
    ],
    'a cancellation next to messages that are no list': [
      'on_before_model_call',
      event => {
        event.messages = 'none'
        event.cancel('No.')
      },
      ['beforeModel', 'block by p: No.'],
    ],
    'a retry next to a result that cannot be read': [
      'on_after_tool_call',
      event => {
        event.result = UNREADABLE
        event.retry({ feedback: 'Say more.' })
      },
      ['afterTool', 'retry by p: Say more.'],
    ],
    'messages = …': ['on_before_model_call', shout, ['beforeModel', 'pass', shouted]],
    'result = …': ['on_after_tool_call', event => (event.result = 'none'), ['afterTool', 'pass', 'none']],
    'result in place': [
      'on_after_tool_call',
      event => (event.result.output = ''),
      ['afterTool', 'pass', { output: '' }],
    ],
    'retry()': ['on_after_tool_call', event => event.retry(), ['afterTool', 'retry by p']],
    'retry = true': ['on_after_model_call', event => (event.retry = true), ['afterModel', 'retry by p']],
    'retry = false': ['on_after_model_call', event => (event.retry = false), ['afterModel', 'pass']],
    'retry with feedback': [
      'on_after_model_call',
      event => {
        event.retry_feedback = 'Say more.'
        event.retry = true
      },
      ['afterModel', 'retry by p: Say more.'],
    ],
    'retry({ feedback })': [
      'on_after_model_call',
      event => event.retry({ feedback: 'Say more.' }),
      ['afterModel', 'retry by p: Say more.'],
    ],
    'response = …': ['on_after_model_call', event => (event.response = 'Short.'), ['afterModel', 'pass', 'Short.']],
    'state is shared': ['on_after_invocation', event => (event.state.done = true), ['afterTurn', 'pass']],
  }

  test.each(Object.entries(DONE))('is translated: %s', async (_, [method, does, told]) => {
    const before = JSON.stringify(EVENTS)
    for (const says of [(event: unknown) => void does(event), async (event: unknown) => void does(event)]) {
      const agent = new Agent(fromProvider({ name: 'p', [method]: says }))
      await expectTold(agent, told)
      expect(agent.lines).toEqual([])
    }
    expect(JSON.stringify(EVENTS)).toBe(before)
  })

  const READ_ONLY: readonly (readonly [keyof HookProvider, Phase, readonly string[]])[] = [
    ['on_before_invocation', 'beforeTurn', ['prompt', 'state', 'session_id', 'foo']],
    ['on_after_invocation', 'afterTurn', ['result', 'foo']],
    ['on_before_model_call', 'beforeModel', ['model', 'foo']],
    ['on_after_model_call', 'afterModel', ['model', 'error', 'tool_calls', 'foo']],
    ['on_before_tool_call', 'beforeTool', ['tool_name', 'tool_call_id', 'foo']],
    ['on_after_tool_call', 'afterTool', ['tool_name', 'tool_call_id', 'arguments', 'error', 'foo']],
  ]

  test.each(READ_ONLY)('cannot write the read-only fields of %s in %s: %j', async (method, phase, fields) => {
    const refused: string[] = []
    const provider = {
      name: 'p',
      [method]: (event: Record<string, unknown>) => {
        for (const field of fields) {
          try {
            event[field] = 5
          } catch {
            refused.push(field)
          }
        }
      },
    }
    await new Agent(fromProvider(provider)).ask(phase)
    expect(refused).toEqual(fields)
  })

  test('may read everything', async () => {
    const seen: unknown[] = []
    const agent = new Agent(
      fromProvider({
        name: 'p',
        on_after_tool_call: event => void seen.push(event.error, event.session_id),
        on_after_model_call: event => void seen.push(event.error),
      }),
    )
    await agent.ask('afterTool', { ...calling('ls'), result: 'ENOENT', isError: true })
    await agent.ask('afterTool', { ...calling('ls'), result: { code: 2 }, isError: true })
    await agent.ask('afterModel', { error: { type: 'overloaded_error' } })
    expect(seen).toEqual(['ENOENT', 's1', '{"code":2}', 's1', 'overloaded_error'])
  })

  test('reads cancel as it was set', async () => {
    const seen: unknown[] = []
    const provider: HookProvider = {
      name: 'p',
      on_before_tool_call(event) {
        seen.push(event.cancelled)
        event.cancel = 'No.'
        seen.push(event.cancel, event.cancelled)
      },
    }
    await new Agent(fromProvider(provider)).ask('beforeTool')
    expect(seen).toEqual([false, 'No.', true])
  })

  test.each([
    [{}, 'pass'],
    [{ onFailure: 'block' }, 'block by p: The hook p failed to check this, and is set to block on failure.'],
  ] as [FromProviderOptions, string][])('fails with an exception, with %j: %s', async (options, words) => {
    const provider: HookProvider = {
      name: 'p',
      async on_before_tool_call() {
        throw new Error('broken')
      },
    }
    expect(await new Agent(fromProvider(provider, options)).call('ls')).toBe(words)
  })

  test('has its own name, priority and decisions, or configured ones', () => {
    class Named {
      on_after_tool_call(): void {}
      on_before_tool_call(): void {}
    }
    const provider = new Named()
    const about = ({ name, priority, decisions }: ReturnType<typeof fromProvider>) => [name, priority, decisions]
    expect(about(fromProvider(provider))).toEqual([
      'Named',
      undefined,
      { beforeTool: ['block', 'rewrite'], afterTool: ['rewrite', 'retry'] },
    ])
    expect(about(fromProvider(provider, { name: 'mine', priority: 7, decisions: ['block'] }))).toEqual([
      'mine',
      7,
      { beforeTool: ['block'], afterTool: [] },
    ])
  })
})

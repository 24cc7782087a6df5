import { describe, expect, test, vi } from 'vitest'
import { ABLE, attachHooks, type ClaudeSdkAttachOptions } from '../../../src/agents/claude-agent-sdk/hooks.ts'
import {
  type AnyHook,
  ask,
  block,
  createHooks,
  type Decision,
  inject,
  type Phase,
  pass,
  retry,
  rewrite,
} from '../../../src/guards/index.ts'
import { freshHostsEachTest } from '../fresh-hosts.ts'

type Answer = Readonly<Record<string, unknown>>
type Callback = (input: unknown, toolUseId?: string, options?: unknown) => Promise<Answer>

interface Matcher {
  readonly hooks: readonly Callback[]
  readonly timeout?: number
}

type Options = { readonly hooks?: Record<string, Matcher[]>; readonly canUseTool?: unknown }

const BASE = { session_id: 's1', prompt_id: 'p1', cwd: '/srv' }
const TOOL = { ...BASE, tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'one' } }

/** The SDK, as far as it calls what is in its options. */
class FakeSdk {
  readonly lines: string[] = []
  readonly options: Options

  constructor(hooks: readonly AnyHook[], options: Options = {}, more: ClaudeSdkAttachOptions = {}) {
    this.options = attachHooks(options, createHooks(hooks), { report: line => this.lines.push(line), ...more })
  }

  fire(event: string, input: object = {}): Promise<Answer> {
    const matcher = this.options.hooks?.[event]?.at(-1)
    return matcher!.hooks[0]!({ hook_event_name: event, ...BASE, ...input }, 'c1', {
      signal: new AbortController().signal,
    })
  }

  async tool(input: object = TOOL): Promise<unknown> {
    return (await this.fire('PreToolUse', input))['hookSpecificOutput']
  }

  async result(tool_response: unknown): Promise<unknown> {
    return (await this.fire('PostToolUse', { ...TOOL, tool_response }))['hookSpecificOutput']
  }
}

function hook(phase: Phase, decision: Decision, run: (event: never, ctx: never) => unknown): AnyHook {
  return { name: 'guard', onFailure: 'block', decisions: [decision], [phase]: run } as unknown as AnyHook
}

const TEXT = (text: string): object => ({ type: 'text', text })

freshHostsEachTest()

describe('the options', () => {
  test('keeps existing options unmodified', () => {
    const own: Matcher = { hooks: [] }
    const given = { model: 'm', hooks: { PreToolUse: [own], Notification: [own] } }
    const { options } = new FakeSdk([hook('beforeTool', 'block', () => pass())], given)
    expect(options).toMatchObject({ model: 'm', hooks: { PreToolUse: [own, {}], Notification: [own] } })
    expect(given.hooks.PreToolUse).toEqual([own])
  })

  test('adds one callback for each guarded event and for the end of a turn', () => {
    const looks = (name: string): AnyHook => ({ name, beforeTool: () => pass() })
    expect(Object.keys(new FakeSdk([looks('a'), looks('b')]).options.hooks ?? {})).toEqual([
      'PreToolUse',
      'Stop',
      'SubagentStop',
    ])
  })

  test.each([
    [undefined, 90],
    [1000, 36],
  ])('makes the SDK wait for longer than we do: %s ms', (limitMillis, seconds) => {
    const more = limitMillis === undefined ? {} : { limitMillis }
    const { options } = new FakeSdk([hook('beforeTool', 'block', () => pass())], {}, more)
    expect(options.hooks?.['PreToolUse']?.[0]?.timeout).toBe(seconds)
  })

  test('reports decisions that the SDK does not support', () => {
    const { lines } = new FakeSdk([hook('beforeTurn', 'rewrite', () => rewrite('x'))])
    expect(lines).toEqual([
      'hookspan: hook guard cannot rewrite in beforeTurn of claude-agent-sdk: the value stays as it is',
    ])
  })
})

describe('a tool call', () => {
  test('is left to the SDK without a decision, without "allow"', async () => {
    expect(await new FakeSdk([hook('beforeTool', 'block', () => pass())]).fire('PreToolUse', TOOL)).toEqual({})
  })

  test('is denied with the reason; the detail is for the user', async () => {
    const sdk = new FakeSdk([hook('beforeTool', 'block', () => block('No.', { detail: 'rule 7' }))])
    expect(await sdk.fire('PreToolUse', TOOL)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: 'No.',
      },
      systemMessage: 'rule 7',
    })
  })

  test('is rewritten without a decision, so that the user is still asked', async () => {
    const sdk = new FakeSdk([hook('beforeTool', 'rewrite', () => rewrite({ command: 'two' }))])
    expect(await sdk.tool()).toEqual({ hookEventName: 'PreToolUse', updatedInput: { command: 'two' } })
  })

  test('gets injected text', async () => {
    const sdk = new FakeSdk([hook('beforeTool', 'inject', () => inject('Mind it.'))])
    expect(await sdk.tool()).toEqual({ hookEventName: 'PreToolUse', additionalContext: 'Mind it.' })
  })

  const ASKS = [
    hook('beforeTool', 'ask', () => ask('May it?')),
    { name: 'r', decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'two' }) } satisfies AnyHook,
  ]

  test('is shown to the user as it would run', async () => {
    expect(await new FakeSdk(ASKS, { canUseTool: () => undefined }).tool()).toEqual({
      hookEventName: 'PreToolUse',
      permissionDecision: 'ask',
      permissionDecisionReason: 'May it?',
      updatedInput: { command: 'two' },
    })
  })

  test.each([
    ['without a user', {}, TOOL],
    ['the SDK would not ask', { canUseTool: () => undefined }, { ...TOOL, permission_mode: 'bypassPermissions' }],
  ])('is denied where %s', async (_, options, input) => {
    expect(await new FakeSdk(ASKS, options).tool(input)).toMatchObject({
      permissionDecision: 'deny',
      permissionDecisionReason: 'The hook guard wants to ask the user, which is not possible here: May it?',
    })
  })
})

describe('a result', () => {
  test.each([
    ['a text', 'one', 'one', 'two'],
    ['parts', [TEXT('one'), TEXT('x')], 'one\nx', [TEXT('two')]],
    [
      'a shell',
      { stdout: 'one', stderr: '', interrupted: false },
      'one',
      { stdout: 'two', stderr: '', interrupted: false },
    ],
    ['a shell that complains', { stdout: 'one', stderr: 'x' }, 'one\nx', { stdout: 'two', stderr: '' }],
    [
      'a file',
      { type: 'text', file: { filePath: '/a', content: 'one' } },
      'one',
      { type: 'text', file: { filePath: '/a', content: 'two' } },
    ],
    [
      'a child agent',
      { status: 'completed', content: [TEXT('one')] },
      'one',
      { status: 'completed', content: [TEXT('two')] },
    ],
  ])('is seen as text for %s, and keeps its shape', async (_, response, text, expected) => {
    const seen: unknown[] = []
    const sdk = new FakeSdk([
      hook('afterTool', 'rewrite', ((event: { result: unknown }) => {
        seen.push(event.result)
        return rewrite('two')
      }) as never),
    ])
    expect(await sdk.result(response)).toEqual({ hookEventName: 'PostToolUse', updatedToolOutput: expected })
    expect(seen).toEqual([text])
  })

  test('is passed and rewritten unchanged if its shape is unknown', async () => {
    const seen: unknown[] = []
    const sdk = new FakeSdk([
      hook('afterTool', 'rewrite', ((event: { result: object }) => {
        seen.push(event.result)
        return rewrite({ ...event.result, found: 0 })
      }) as never),
    ])
    const response = { found: 2, matches: ['a'] }
    expect(await sdk.result(response)).toMatchObject({ updatedToolOutput: { found: 0, matches: ['a'] } })
    expect(seen).toEqual([response])
  })

  test('is replaced by the reason, or stops the run', async () => {
    const sdk = new FakeSdk([hook('afterTool', 'block', () => block('No.'))])
    expect(await sdk.result('one')).toEqual({ hookEventName: 'PostToolUse', updatedToolOutput: 'No.' })
    expect(await sdk.fire('PostToolUse', { ...TOOL, tool_response: { found: 2 } })).toEqual({
      continue: false,
      stopReason: 'No.',
    })
  })
})

describe('a turn', () => {
  test('is blocked, or gets injected text', async () => {
    const refusing = new FakeSdk([hook('beforeTurn', 'block', () => block('No.', { detail: 'rule 7' }))])
    expect(await refusing.fire('UserPromptSubmit', { prompt: 'Hi' })).toEqual({
      decision: 'block',
      reason: 'No.',
      systemMessage: 'rule 7',
    })
    const saying = new FakeSdk([hook('beforeTurn', 'inject', () => inject('It is Monday.', 'system'))])
    expect(await saying.fire('UserPromptSubmit', { prompt: 'Hi' })).toEqual({
      hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'It is Monday.' },
    })
  })

  test('is retried three times at most, counted for each agent', async () => {
    const attempts: unknown[] = []
    const again = hook('afterTurn', 'retry', ((event: { attempt: number; answer: string }) => {
      attempts.push([event.answer, event.attempt])
      return retry({ feedback: 'Not yet.' })
    }) as never)
    const sdk = new FakeSdk([again])
    const stop = (): Promise<Answer> => sdk.fire('Stop', { last_assistant_message: 'Done.' })
    for (let at = 0; at < 3; at++) expect(await stop()).toEqual({ decision: 'block', reason: 'Not yet.' })
    expect(await sdk.fire('SubagentStop', { agent_id: 'a1' })).toEqual({ decision: 'block', reason: 'Not yet.' })
    expect(await stop()).toEqual({})
    expect(attempts).toEqual([
      ['Done.', 0],
      ['Done.', 1],
      ['Done.', 2],
      ['', 0],
      ['Done.', 3],
    ])
    expect(await stop()).toEqual({ decision: 'block', reason: 'Not yet.' })
  })

  test('has a state that its tools share', async () => {
    const states: unknown[] = []
    const keeps = (_: unknown, { state }: { state: unknown }): void => void states.push(state)
    const sdk = new FakeSdk([{ name: 'guard', beforeTurn: keeps, beforeTool: keeps } as AnyHook])
    await sdk.fire('UserPromptSubmit', { prompt: 'Hi' })
    await sdk.tool()
    await sdk.tool({ ...TOOL, agent_id: 'a1' })
    await sdk.fire('Stop')
    await sdk.tool()
    expect(states.map(each => states.indexOf(each))).toEqual([0, 0, 2, 3])
  })
})

describe('failures', () => {
  const unreadable = new Proxy({}, { get: () => 7, ownKeys: () => [] })

  test.each([
    ['pass', {}],
    [
      'block',
      {
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: 'The hook guard failed to check this, and is set to block on failure.',
        },
      },
    ],
  ] as const)('counts as %s, and never rejects', async (onFailure, expected) => {
    const throws = (): never => {
      throw new Error('of no concern to the model')
    }
    const sdk = new FakeSdk([{ name: 'guard', onFailure, beforeTool: throws }])
    expect(await sdk.fire('PreToolUse', TOOL)).toMatchObject(expected)
    const late = new FakeSdk([
      { name: 'guard', onFailure, timeLimitMillis: 1, beforeTool: () => new Promise(() => {}) },
    ])
    expect(await late.fire('PreToolUse', TOOL)).toMatchObject(expected)
  })

  test('never rejects for unreadable input', async () => {
    const phases = Object.fromEntries(Object.keys(ABLE).map(phase => [phase, () => pass()]))
    const { options } = new FakeSdk([{ name: 'guard', onFailure: 'block', ...phases } as AnyHook])
    const asked = Object.values(options.hooks ?? {}).map(([matcher]) => matcher!.hooks[0]!)
    expect(asked.length).toBeGreaterThan(3)
    for (const ask of asked) {
      for (const input of [undefined, null, 7, unreadable]) expect(await ask(input)).toEqual(expect.any(Object))
    }
  })
})

test('emits the tool before the decisions about it', async () => {
  const { attachHost } = await import('../../../src/agents/attach.ts')
  const { ClaudeAgentSdkMachine } = await import('../../../src/agents/claude-agent-sdk/events.ts')
  const { plugin } = attachHost('claude-agent-sdk', () => new ClaudeAgentSdkMachine(), {
    local_log: false,
    prometheus: false,
  })
  const told: string[] = []
  const typed = vi.spyOn(plugin, 'emit').mockImplementation(name => void told.push(name) as undefined)
  vi.spyOn(plugin, 'emitUntyped').mockImplementation(name => void told.push(name) as undefined)
  const sdk = new FakeSdk([hook('beforeTool', 'block', () => block('No.'))])
  await sdk.fire('PreToolUse', TOOL)
  expect(told.slice(-3)).toEqual(['pre_tool_call', 'pre_control_hook', 'post_control_hook'])
  typed.mockRestore()
})

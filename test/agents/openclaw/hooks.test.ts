import { describe, expect, test } from 'vitest'
import { attachHooks, type OpenClawControlApi } from '../../../src/agents/openclaw/hooks.ts'
import { type AnyHook, ask, block, createHooks, inject, retry, rewrite } from '../../../src/guards/index.ts'

type Handler = (event: unknown, context: unknown) => unknown

const CONTEXT = { runId: 'run-1', sessionId: 's1', sessionKey: 'agent:main:talk' }
const RM = { toolName: 'exec', params: { command: 'rm x' }, toolCallId: 'c1' }
const RESULT = {
  toolCallId: 'c1',
  toolName: 'exec',
  message: { role: 'toolResult', content: [{ type: 'text', text: 'gone' }] },
}

/** A host that calls its plugins as OpenClaw does: each handler with a copy of the event. */
class FakeHost {
  readonly handlers = new Map<string, Handler[]>()
  readonly api: OpenClawControlApi
  #listen: ((event: object) => void) | undefined

  constructor(api: Partial<OpenClawControlApi> = {}) {
    const onAgentEvent = (listener: (event: object) => void): (() => void) => {
      this.#listen = listener
      return () => undefined
    }
    this.api = {
      id: 'guards',
      registrationMode: 'full',
      runtime: { events: { onAgentEvent } },
      on: (hook, handler) => this.handlers.set(hook, [...(this.handlers.get(hook) ?? []), handler]),
      ...api,
    }
  }

  async call(hook: string, event: object, context: object = CONTEXT): Promise<unknown> {
    const [handler, ...others] = this.handlers.get(hook) ?? []
    expect(others).toEqual([])
    return handler?.(structuredClone(event), context)
  }

  /** What it writes down of a result: a promise is ignored. */
  persisted(event: typeof RESULT, sessionKey: string = CONTEXT.sessionKey): unknown {
    const [handler] = this.handlers.get('tool_result_persist') ?? []
    const answer = handler?.(structuredClone(event), { sessionKey }) as { message?: unknown } | undefined
    return answer instanceof Promise ? event.message : (answer?.message ?? event.message)
  }

  agentEvent(event: object): void {
    this.#listen?.(event)
  }
}

function scene(hooks: readonly Omit<AnyHook, 'name'>[], api: Partial<OpenClawControlApi> = {}) {
  const host = new FakeHost(api)
  const lines: string[] = []
  const named = hooks.map((hook, at) => ({ name: `h${at}`, onFailure: 'block', ...hook }) as AnyHook)
  attachHooks(host.api, createHooks(named), { report: line => lines.push(line) })
  return { host, lines }
}

describe('a tool', () => {
  test('is blocked', async () => {
    const { host } = scene([{ beforeTool: () => block('Not here.', { detail: 'for the person' }) }])
    expect(await host.call('before_tool_call', RM)).toEqual({ block: true, blockReason: 'Not here.' })
  })

  test('has other arguments, which the host may change', async () => {
    const { host } = scene([{ decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) }])
    const answer = (await host.call('before_tool_call', RM)) as { params: object }
    expect(answer).toEqual({ params: { command: 'ls' } })
    expect(Object.isFrozen(answer.params)).toBe(false)
  })

  test('has its result checked as it ran, and not as the one of the same id in another session', async () => {
    const seen: unknown[] = []
    const { host } = scene([
      {
        decisions: ['rewrite'],
        beforeTool: ({ tool }) => (tool.command === 'rm x' ? rewrite({ command: 'ls' }) : undefined),
      },
      { afterTool: ({ tool }, { sessionId }) => void seen.push([sessionId, tool.command]) },
    ])
    await host.call('before_tool_call', RM)
    const other = { runId: 'run-2', sessionId: 's2', sessionKey: 'agent:main:other' }
    await host.call('before_tool_call', { ...RM, params: { command: 'pwd' } }, other)
    host.persisted(RESULT)
    host.persisted(RESULT, other.sessionKey)
    expect(seen).toEqual([
      ['s1', 'ls'],
      ['s2', 'pwd'],
    ])
  })

  test('has the user asked about the call as it would run', async () => {
    const { host } = scene([
      { decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) },
      { decisions: ['ask'], beforeTool: ({ tool }) => ask(`May it ${tool.command}? ${'x'.repeat(1000)}`) },
    ])
    expect(await host.call('before_tool_call', RM)).toEqual({
      params: { command: 'ls' },
      requireApproval: {
        title: 'h1 asks: exec',
        description: `May it ls? ${'x'.repeat(501)}`,
        severity: 'warning',
        allowedDecisions: ['allow-once', 'deny'],
      },
    })
  })

  test('is answered with nothing if it passes: allowing would be more than that', async () => {
    const { host } = scene([{ beforeTool: () => undefined }])
    expect(await host.call('before_tool_call', RM)).toBeUndefined()
  })

  test('is known to the hooks by the ids of its trace', async () => {
    const seen: unknown[] = []
    const look = (event: { tool: { id?: string; command?: string } }, ctx: { sessionId: string; turnId: string }) => {
      seen.push([event.tool.id, event.tool.command, ctx.sessionId, ctx.turnId])
    }
    const { host } = scene([{ beforeTool: look, afterTool: look } as object])
    await host.call('before_tool_call', RM)
    host.persisted(RESULT)
    expect(seen).toEqual([
      ['c1', 'rm x', 's1', 'run-1'],
      ['c1', 'rm x', 's1', 'run-1'],
    ])
  })
})

describe('a hook that fails', () => {
  const broken: Record<string, () => unknown> = {
    throws: () => {
      throw new Error('secret')
    },
    rejects: () => Promise.reject(new Error('secret')),
    hangs: () => new Promise(() => undefined),
    nonsense: () => ({ decision: 'perhaps' }),
  }
  const cases = Object.keys(broken).flatMap(way =>
    (['pass', 'block'] as const).map(onFailure => [way, onFailure] as const),
  )

  test.each(cases)('has the effect of its mode: %s, and counts as %s', async (way, onFailure) => {
    const { host, lines } = scene([
      { beforeTool: broken[way], beforeTurn: broken[way], onFailure, timeLimitMillis: 1 } as object,
    ])
    const reason = 'The hook h0 failed to check this, and is set to block on failure.'
    const isOpen = onFailure === 'pass'
    const tool = await host.call('before_tool_call', RM)
    expect(tool).toEqual(isOpen ? undefined : { block: true, blockReason: reason })
    const turn = await host.call('before_agent_run', { prompt: 'What is up?', messages: [] })
    expect(turn).toEqual(isOpen ? undefined : { outcome: 'block', reason: expect.any(String), message: reason })
    expect(lines).toHaveLength(2)
  })
})

describe('a turn', () => {
  test('shows the user the reason if blocked', async () => {
    const { host } = scene([{ beforeTurn: () => block('Not today.', { detail: 'the rule of the house' }) }])
    expect(await host.call('before_prompt_build', { prompt: 'p', messages: [] })).toBeUndefined()
    expect(await host.call('before_agent_run', { prompt: 'p', messages: [] })).toEqual({
      outcome: 'block',
      reason: 'the rule of the house',
      message: 'Not today.',
    })
  })

  test('has an injected text: asked once, added each time that the prompt is built', async () => {
    let asked = 0
    const { host } = scene([
      {
        decisions: ['inject'],
        beforeTurn: ({ prompt }) => {
          asked++
          return inject(`A line on ${prompt}.`)
        },
      },
      { decisions: ['inject'], beforeTurn: () => inject('A rule.', 'system') },
    ])
    const built = { appendContext: 'A line on this.', appendSystemContext: 'A rule.' }
    const event = { prompt: 'this, with much around it', currentUserMessage: 'this', messages: [] }
    expect(await host.call('before_prompt_build', event)).toEqual(built)
    expect(await host.call('before_prompt_build', event)).toEqual(built)
    expect(await host.call('before_agent_run', event)).toBeUndefined()
    expect(asked).toBe(1)
    await host.call('before_prompt_build', event, { ...CONTEXT, runId: 'run-2' })
    expect(asked).toBe(2)
  })

  test('continues by a retry, three times at most', async () => {
    const { host } = scene([{ decisions: ['retry'], afterTurn: () => retry({ feedback: 'Look once more.' }) }])
    const answers: unknown[] = []
    for (let times = 0; times < 5; times++)
      answers.push(await host.call('before_agent_finalize', { runId: 'run-1', lastAssistantMessage: 'Done.' }))
    const revise = (times: number): object => ({
      action: 'revise',
      reason: 'Look once more.',
      retry: { instruction: 'Look once more.', idempotencyKey: `openclaw run-1 ${times}`, maxAttempts: 1 },
    })
    expect(answers).toEqual([revise(1), revise(2), revise(3), undefined, undefined])
  })

  test('has a state that is dropped when the host reports the end of the run', async () => {
    const states: unknown[] = []
    const beforeTool = (_: unknown, { state }: { state: Record<string, unknown> }) => {
      states.push({ ...state })
      state['seen'] = true
    }
    const { host } = scene([{ beforeTool } as object])
    await host.call('before_tool_call', RM)
    await host.call('before_tool_call', RM)
    host.agentEvent({ stream: 'lifecycle', data: { phase: 'end' }, runId: 'run-1', sessionId: 's1' })
    await host.call('before_tool_call', RM)
    expect(states).toEqual([{}, { seen: true }, {}])
  })
})

describe('a result', () => {
  test.each([
    ['rewritten', { decisions: ['rewrite'], afterTool: () => rewrite('clean') }, 'clean'],
    ['rewritten as data', { decisions: ['rewrite'], afterTool: () => rewrite({ ok: true }) }, '{"ok":true}'],
    ['blocked, which the host cannot do', { afterTool: () => block('Secret.') }, 'gone'],
    ['passed', { afterTool: () => undefined }, 'gone'],
  ])('is handled: %s', (_, hook, text) => {
    const { host } = scene([hook as object])
    expect(host.persisted(RESULT)).toEqual({ role: 'toolResult', content: [{ type: 'text', text }] })
  })

  test('keeps its pictures', () => {
    const picture = { type: 'image', data: 'x' }
    const { host } = scene([{ decisions: ['rewrite'], afterTool: () => rewrite('clean') }])
    const content = [{ type: 'text', text: 'gone' }, picture]
    const event = { ...RESULT, message: { ...RESULT.message, content } } as typeof RESULT
    expect(host.persisted(event)).toMatchObject({ content: [{ text: 'clean' }, picture] })
  })

  test('is out of reach for an asynchronous guard, which is reported when the hooks are attached', () => {
    const { host, lines } = scene([
      { decisions: ['rewrite'], onFailure: 'pass', afterTool: async () => rewrite('clean') },
    ])
    expect(lines).toEqual([
      'hookspan: openclaw: hook h0 changes results in afterTool only where they are kept, which the next turn sees, and only if it answers at once',
    ])
    expect(host.persisted(RESULT)).toEqual(RESULT.message)
    expect(lines[1]).toBe(
      'hookspan: openclaw: a hook has not answered at once in afterTool: the result goes on as it is',
    )
  })
})

describe('the registered hooks', () => {
  const all = { beforeTool: () => undefined, beforeTurn: () => undefined }

  test('includes only those that a guard uses', () => {
    expect([...scene([{ beforeTool: () => undefined }]).host.handlers.keys()]).toEqual(['before_tool_call'])
    expect([...scene([{ beforeTurn: () => undefined }]).host.handlers.keys()]).toEqual([
      'before_prompt_build',
      'before_agent_run',
    ])
  })

  test('is nothing where nothing runs', () => {
    expect(scene([all], { registrationMode: 'setup-only' }).host.handlers.size).toBe(0)
  })

  test('excludes the conversation without the permission, with one line', () => {
    const config = { plugins: { entries: { guards: { enabled: true } } } }
    const { host, lines } = scene([all], { config })
    expect([...host.handlers.keys()]).toEqual(['before_tool_call'])
    expect(lines).toEqual([
      'hookspan: openclaw: hooks are never asked in beforeTurn and afterTurn: set plugins.entries.guards.hooks.allowConversationAccess to true for that',
    ])
  })
})

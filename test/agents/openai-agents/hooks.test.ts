import { describe, expect, test } from 'vitest'
import { attachHooks } from '../../../src/agents/openai-agents/hooks.ts'
import {
  type AnyHook,
  ask,
  block,
  createHooks,
  type EventOf,
  fromProvider,
  inject,
  retry,
  rewrite,
} from '../../../src/guards/index.ts'
import {
  caught,
  FakeAgent,
  type FakeReply,
  FakeRunner,
  type FakeState,
  fakeContextEachTest,
  fakeItemTool,
  fakeProvider,
  fakeTool,
  type Sent,
} from './fake-sdk.ts'

const RM = { name: 'bash', args: { command: 'rm x' } }
const ways = [
  ['whole', false],
  ['streamed', true],
] as const

fakeContextEachTest()

interface More {
  readonly answer?: (sent: Sent, ordinal: number) => FakeReply | Error
  readonly needsApproval?: boolean
  readonly execute?: (args: unknown) => unknown
}

function scene(hooks: readonly Omit<AnyHook, 'name'>[], more: More = {}) {
  const ran: unknown[] = []
  const lines: string[] = []
  const first = (_: Sent, ordinal: number): FakeReply => (ordinal === 1 ? { calls: [RM] } : { text: 'All done.' })
  const { provider, sent } = fakeProvider(more.answer ?? first)
  const execute = (args: unknown): unknown => {
    ran.push(args)
    return more.execute?.(args) ?? 'gone'
  }
  const bash = fakeTool('bash', execute, more.needsApproval)
  const named = hooks.map((hook, at) => ({ name: `h${at}`, onFailure: 'block', ...hook }) as AnyHook)
  const attached = attachHooks(createHooks(named), { report: line => lines.push(line) })
  const runner = attached.guardRunner(new FakeRunner(provider))
  const agent = new FakeAgent('main', [bash])
  const run = (input: string | FakeState = 'What is up?', stream = false) => runner.run(agent, input, { stream })
  return { attached, runner, agent, bash, run, ran, sent, lines }
}

function results(sent: readonly Sent[]): unknown[] {
  return (sent.at(-1)?.input ?? []).flatMap(item => (item['type'] === 'function_call_result' ? [item['output']] : []))
}

describe.each(ways)('a tool: %s', (_, stream) => {
  test('is not run if blocked, and the model gets the reason', async () => {
    const { run, ran, sent, runner } = scene([{ beforeTool: () => block('Not here.') }])
    expect((await run(undefined, stream)).finalOutput).toBe('All done.')
    expect([ran, results(sent)]).toEqual([[], ['Not here.']])
    expect(runner.errors).toEqual([{ message: 'Kept from running by the hook h0' }])
  })

  test('is run with rewritten arguments', async () => {
    const { run, ran } = scene([{ decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) }])
    await run(undefined, stream)
    expect(ran).toEqual([{ command: 'ls' }])
  })

  test('is judged as it would run, and checked once', async () => {
    let looks = 0
    const { run, ran } = scene([
      { decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) },
      {
        decisions: ['ask'],
        beforeTool: () => {
          looks++
          return ask('May it?')
        },
      },
    ])
    const { state } = await run(undefined, stream)
    expect(state.interruptions.map(call => call['arguments'])).toEqual(['{"command":"ls"}'])
    expect(ran).toEqual([])
    for (const { callId } of state.interruptions) state.approved.add(callId)
    await run(state, stream)
    expect([ran, looks]).toEqual([[{ command: 'ls' }], 1])
  })

  test('is known to the hooks by its id and its turn', async () => {
    const seen: unknown[] = []
    const look = (where: string) => (event: { tool?: { id?: string } }, ctx: { sessionId: string; turnId: string }) => {
      seen.push([where, event.tool?.id, ctx.sessionId, ctx.turnId.replace(/\d+/, 'N')])
    }
    const hooks = {
      beforeTurn: look('turn'),
      beforeTool: look('before'),
      afterTool: look('after'),
      afterTurn: look('end'),
    }
    await scene([hooks as object]).run(undefined, stream)
    expect(seen).toEqual([
      ['turn', undefined, 'group-1', 'task-N'],
      ['before', 'c1.0', 'group-1', 'task-N'],
      ['after', 'c1.0', 'group-1', 'task-N'],
      ['end', undefined, 'group-1', 'task-N'],
    ])
  })

  test('is checked with arguments that are no JSON, unchanged', async () => {
    const seen: unknown[] = []
    const answer = (_: Sent, ordinal: number): FakeReply =>
      ordinal === 1 ? { calls: [{ name: 'bash', args: '"rm x"' }] } : { text: 'ok' }
    const beforeTool = ({ tool }: { tool: { arguments: unknown } }) => {
      seen.push(tool.arguments)
    }
    await scene([{ beforeTool } as object], { answer }).run(undefined, stream)
    expect(seen).toEqual([{ input: 'rm x' }])
  })
})

test('asks the user if it requires so, unless it is blocked', async () => {
  const passed = scene([{ beforeTool: () => undefined }], { needsApproval: true })
  expect((await passed.run()).state.interruptions).toHaveLength(1)
  const blocked = scene([{ beforeTool: () => block('No.') }], { needsApproval: true })
  expect((await blocked.run()).state.interruptions).toEqual([])
  expect([passed.ran, blocked.ran]).toEqual([[], []])
})

describe('a call that was begun in another process', () => {
  async function resumed(hook: object) {
    const asking = scene([{ decisions: ['ask'], beforeTool: () => ask('May it?') }])
    const { state } = await asking.run()
    state.approved.add('c1.0')
    const other = scene([hook], { answer: () => ({ text: 'All done.' }) })
    await other.run(state)
    return other
  }

  test('runs if the user has granted it', async () => {
    expect((await resumed({ decisions: ['ask'], beforeTool: () => ask('May it?') })).ran).toEqual([{ command: 'rm x' }])
  })

  test('does not run if it differs from the one that the user has seen', async () => {
    const { ran, sent } = await resumed({
      decisions: ['rewrite', 'ask'],
      beforeTool: ({ tool }: { tool: { command: string } }) =>
        tool.command === 'rm x' ? rewrite({ command: 'rm y' }) : undefined,
    })
    expect([ran, results(sent)]).toEqual([[], [expect.stringContaining('something else than a person has agreed to')]])
  })

  test('does not run where it is blocked by now', async () => {
    const both = await resumed({ decisions: ['ask', 'block'], beforeTool: () => block('No longer.') })
    expect([both.ran, results(both.sent)]).toEqual([[], ['No longer.']])
  })
})

test('is checked again if its arguments were changed elsewhere', async () => {
  const guard = {
    beforeTool: ({ tool }: { tool: { command: string } }) => (tool.command === 'ls' ? undefined : block('No.')),
  }
  const { attached, agent, bash, ran } = scene([guard as object])
  await attached.guardAgent(agent).getAllTools()
  const { needsApproval, invoke } = bash as Record<string, (...args: unknown[]) => Promise<unknown>>
  await needsApproval?.({}, { command: 'ls' }, 'c1')
  const details = { toolCall: { callId: 'c1' } }
  expect([await invoke?.({}, '{"command":"rm x"}', details), ran]).toEqual(['No.', []])
  expect([await invoke?.({}, '{"command":"ls"}', details), ran]).toEqual(['gone', [{ command: 'ls' }]])
})

describe('agents that work for another', () => {
  test('checks the target of a handoff, which is no tool', async () => {
    const { attached, bash, ran } = scene([])
    expect(attached.guardAgent(new FakeAgent('alone'))).toBeInstanceOf(FakeAgent)
    const seen: unknown[] = []
    const { provider } = fakeProvider((_, ordinal): FakeReply => {
      if (ordinal === 1) return { calls: [{ name: 'transfer_to_worker', args: {} }] }
      return ordinal === 2 ? { calls: [RM] } : { text: 'ok' }
    })
    const beforeTool = ({ tool }: { tool: { name: string } }) => {
      seen.push(tool.name)
      return block('Not here.')
    }
    const guard = attachHooks(createHooks([{ name: 'h', onFailure: 'block', beforeTool } as AnyHook]))
    const worker = new FakeAgent('worker', [bash])
    const main = new FakeAgent('main', [], [worker])
    worker.handoffs.push(main)
    // The fake keeps the span of the first agent, by which it is known whose answer it is.
    await guard.guardRunner(new FakeRunner(provider)).run(main, 'What is up?')
    expect([seen, ran]).toEqual([['bash'], []])
  })
})

describe('a hook that fails', () => {
  const broken: Record<string, () => unknown> = {
    throws: () => {
      throw new Error('secret')
    },
    rejects: () => Promise.reject(new Error('secret')),
    hangs: () => new Promise(() => undefined),
  }
  const cases = Object.keys(broken).flatMap(way =>
    (['pass', 'block'] as const).map(onFailure => [way, onFailure] as const),
  )

  test.each(cases)('has the effect of its mode: %s, and counts as %s', async (way, onFailure) => {
    const { run, ran, lines, sent } = scene([{ beforeTool: broken[way], onFailure, timeLimitMillis: 1 } as object])
    expect((await run()).finalOutput).toBe('All done.')
    expect(ran).toHaveLength(onFailure === 'pass' ? 1 : 0)
    expect(JSON.stringify(sent)).not.toContain('secret')
    expect(lines).toHaveLength(1)
  })

  test.each(cases)(
    'has the effect of its mode before a turn, which never rejects the run itself: %s, and counts as %s',
    async (way, onFailure) => {
      const { run } = scene([
        { beforeTurn: broken[way], afterTurn: broken[way], onFailure, timeLimitMillis: 1 } as object,
      ])
      const name = onFailure === 'block' ? 'InputGuardrailTripwireTriggered' : 'none'
      const ended = await run().then(
        () => 'none',
        error => error.name,
      )
      expect(ended).toBe(name)
    },
  )
})

describe('a turn', () => {
  test('sends no request if blocked', async () => {
    const { run, sent, agent } = scene([{ beforeTurn: () => block('Not today.') }])
    await expect(run()).rejects.toThrow('{"hook":"h0","reason":"Not today."}')
    expect(sent).toEqual([])
    expect(agent.inputGuardrails).toMatchObject([{ runInParallel: false }])
    await expect(run()).rejects.toThrow('Not today.')
    expect(agent.inputGuardrails).toHaveLength(1)
  })

  test('ends with its blocked answer', async () => {
    const { run } = scene([{ afterTurn: ({ answer }) => (answer === 'All done.' ? block('Not so.') : undefined) }])
    await expect(run()).rejects.toThrow('Not so.')
  })
})

describe.each(ways)('a request: %s', (_, stream) => {
  test('is not sent if blocked', async () => {
    const { run, sent } = scene([{ beforeModel: () => block('Too dear.') }])
    expect(await run(undefined, stream)).toMatchObject({
      finalOutput: 'Too dear.',
      deltas: stream ? ['Too dear.'] : [],
    })
    expect(sent).toEqual([])
  })

  test('is changed for itself alone', async () => {
    const { run, sent } = scene([
      {
        decisions: ['rewrite'],
        beforeModel: ({ messages }) => rewrite(messages.map(each => ({ ...each, text: each.text.toUpperCase() }))),
      },
      { decisions: ['inject'], beforeModel: () => inject('A line.') },
      { decisions: ['inject'], beforeModel: () => inject('A rule.', 'system') },
    ])
    await run(undefined, stream)
    expect(sent.map(({ systemInstructions }) => systemInstructions)).toEqual([
      'BE MAIN.\n\nA rule.',
      'BE MAIN.\n\nA rule.',
    ])
    expect(sent[1]?.input).toMatchObject([
      { role: 'user', content: 'WHAT IS UP?' },
      { type: 'function_call', arguments: '{"command":"rm x"}' },
      { type: 'function_call_result', output: 'GONE' },
      { role: 'user', content: [{ type: 'input_text', text: 'A line.' }] },
    ])
  })

  test('calls no tool if its answer is blocked', async () => {
    const { run, ran } = scene([
      { afterModel: ({ toolCalls }) => (toolCalls.length > 0 ? block('No tools.') : undefined) },
    ])
    expect((await run(undefined, stream)).finalOutput).toBe('No tools.')
    expect(ran).toEqual([])
  })

  test('has another text if its answer is rewritten, and shows nothing of the old one', async () => {
    const { run, ran } = scene([
      { decisions: ['rewrite'], afterModel: ({ text }) => (text === '' ? undefined : rewrite('Else.')) },
    ])
    expect(await run(undefined, stream)).toMatchObject({ finalOutput: 'Else.', deltas: stream ? ['Else.'] : [] })
    expect(ran).toHaveLength(1)
  })

  test('has its usage', async () => {
    const took: unknown[] = []
    await scene([{ afterModel: ({ usage }) => void took.push(usage) }]).run(undefined, stream)
    expect(took).toMatchObject([
      { inputTokens: 100, outputTokens: 10 },
      { inputTokens: 100, outputTokens: 10 },
    ])
  })

  test('is repeated if it fails and a hook wants it, and fails otherwise', async () => {
    const answer = (_: Sent, ordinal: number) => (ordinal === 1 ? new TypeError('on fire') : { text: 'ok' })
    const afterModel = ({ error }: { error?: { type?: string } }) => (error?.type === 'TypeError' ? retry() : undefined)
    const wanted = scene([{ decisions: ['retry'], afterModel } as object], { answer })
    expect((await wanted.run(undefined, stream)).finalOutput).toBe('ok')
    await expect(scene([{ afterModel: () => undefined }], { answer }).run(undefined, stream)).rejects.toThrow('on fire')
  })

  test('is repeated if its answer is not accepted, three times at most', async () => {
    const { run, sent } = scene([{ decisions: ['retry'], afterModel: () => retry({ feedback: 'Say more.' }) }], {
      answer: () => ({ text: 'Dry.' }),
    })
    expect((await run(undefined, stream)).finalOutput).toBe('Dry.')
    expect(sent).toHaveLength(4)
    expect(sent[1]?.input.slice(1)).toMatchObject([
      { role: 'assistant', content: [{ text: 'Dry.' }] },
      { role: 'user', content: [{ text: 'Say more.' }] },
    ])
  })
})

test('passes an answer on as it arrives, unless a hook checks it', async () => {
  expect((await scene([{ beforeTool: () => undefined }]).run(undefined, true)).deltas).toEqual(['All ', 'done.'])
})

test('is blocked, rewritten, or repeated by its result', async () => {
  const blocked = scene([{ afterTool: () => block('Secret.') }])
  await blocked.run()
  expect(results(blocked.sent)).toEqual(['Secret.'])
  const changed = scene([{ decisions: ['rewrite'], afterTool: () => rewrite('clean') }])
  await changed.run()
  expect(results(changed.sent)).toEqual(['clean'])
  const twice = scene([{ decisions: ['retry'], afterTool: ({ attempt }) => (attempt === 0 ? retry() : undefined) }])
  await twice.run()
  expect(twice.ran).toHaveLength(2)
})

test('is an error if it threw, also if the SDK caught it; a retry is judged by itself', async () => {
  const seen: unknown[] = []
  const provider = {
    name: 'p',
    on_after_tool_call: (event: { error: unknown; result: unknown; retry: unknown }) => {
      seen.push([event.error, event.result])
      if (seen.length === 1) event.retry = true
    },
  }
  const attempts = ['An error', 'fine']
  const execute = (): string => (attempts.shift() === 'fine' ? 'fine' : caught('boom'))
  await scene([fromProvider(provider)], { execute }).run()
  const text = 'An error occurred while running the tool. Please try again. Error: boom'
  expect(seen).toEqual([
    [text, text],
    [null, 'fine'],
  ])
})

test('has a state of its own for each turn', async () => {
  const states: unknown[] = []
  const beforeTurn = (_: unknown, { state }: { state: Record<string, unknown> }) => {
    states.push({ ...state })
    state['seen'] = true
  }
  const { run } = scene([{ beforeTurn } as object], { answer: () => ({ text: 'ok' }) })
  await run()
  await run()
  expect(states).toEqual([{}, {}])
})

describe.each(ways)('a tool that is no function: %s', (_, stream) => {
  interface Spoken {
    /** Undefined: the model calls nothing. */
    readonly item?: object
    readonly needsApproval?: boolean
    readonly result?: unknown
    readonly environment?: object
  }

  function spoken(hooks: readonly Omit<AnyHook, 'name'>[], { item, needsApproval, result, environment }: Spoken) {
    const seen: unknown[] = []
    const done = (asked: unknown): unknown => {
      seen.push(asked)
      return result ?? { output: [{ stdout: 'gone', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }
    }
    class Shell {
      readonly #own = done
      async run(asked: unknown): Promise<unknown> {
        return this.#own(asked)
      }
    }
    const editor = { createFile: done, updateFile: done, deleteFile: done }
    const shell = environment === undefined ? { shell: new Shell() } : { environment }
    const answer = (_: Sent, ordinal: number): FakeReply =>
      ordinal === 1 && item !== undefined ? { items: [{ ...item }] } : { text: 'ok' }
    const made = scene(hooks, { answer })
    const wants = needsApproval === true
    made.agent.tools = [fakeItemTool('shell', shell, wants), fakeItemTool('apply_patch', { editor }, wants)]
    const outputs = () =>
      (made.sent.at(-1)?.input ?? []).flatMap(({ type, callId: _, ...rest }) =>
        String(type).endsWith('_call_output') ? [rest] : [],
      )
    return { ...made, seen, outputs }
  }

  const shellCall = (...commands: string[]) => ({ type: 'shell_call', action: { commands, timeoutMs: 10 } })
  const RM_CALL = shellCall('ls', 'rm -rf x')
  const operation = { type: 'update_file', path: 'a.ts', diff: '@@\n-a\n+b' }
  const PATCH = { type: 'apply_patch_call', operation }
  const failed = (stderr: string) => ({ output: [{ stdout: '', stderr, outcome: { type: 'exit', exitCode: 1 } }] })

  test('is described to hooks by its effect, once', async () => {
    const tools: unknown[] = []
    const asked: unknown[] = []
    const look = {
      afterModel: ({ toolCalls }: { toolCalls: unknown }) => void asked.push(toolCalls),
      beforeTool: ({ tool }: { tool: unknown }) => void tools.push(tool),
    }
    const shell = spoken([look as object], { item: RM_CALL })
    await shell.run(undefined, stream)
    const patch = spoken([look as object], { item: PATCH })
    await patch.run(undefined, stream)
    expect(tools).toMatchObject([
      { kind: 'shell', name: 'shell', id: 'i1.0', command: 'ls\nrm -rf x' },
      { kind: 'edit', name: 'apply_patch', id: 'i1.0', paths: ['a.ts'], arguments: { diff: operation.diff } },
    ])
    expect([asked[0], asked[2]]).toEqual([[tools[0]], [tools[1]]])
    expect([shell.seen, patch.seen]).toEqual([[RM_CALL.action], [operation]])
  })

  test('is not run if blocked, and the model gets the reason', async () => {
    const guard = { beforeTool: () => block('Not here.') }
    const shell = spoken([guard], { item: RM_CALL, needsApproval: true })
    expect((await shell.run(undefined, stream)).finalOutput).toBe('ok')
    expect([shell.seen, shell.outputs()]).toEqual([[], [failed('Not here.')]])
    expect(shell.runner.errors).toEqual([{ message: 'Kept from running by the hook h0' }])
    const patch = spoken([guard], { item: PATCH })
    await patch.run(undefined, stream)
    expect([patch.seen, patch.outputs()]).toEqual([[], [{ status: 'failed', output: 'Not here.' }]])
  })

  test('is run with a rewritten call', async () => {
    const shell = spoken([{ decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls', timeoutMs: 5 }) }], {
      item: RM_CALL,
    })
    await shell.run(undefined, stream)
    expect(shell.seen).toEqual([{ commands: ['ls'], timeoutMs: 5 }])
    const to = { type: 'create_file', path: 'b.ts', diff: '+b' }
    const patch = spoken([{ decisions: ['rewrite'], beforeTool: () => rewrite(to) }], { item: PATCH })
    await patch.run(undefined, stream)
    expect(patch.seen).toEqual([to])
  })

  test("is not run if the hooks' change of it cannot be applied", async () => {
    const shell = spoken([{ decisions: ['rewrite'], beforeTool: () => rewrite({ commands: ['ls'] }) }], {
      item: RM_CALL,
    })
    await shell.run(undefined, stream)
    expect([shell.seen, JSON.stringify(shell.outputs())]).toEqual([[], expect.stringContaining('The hook h0 ')])
    const moved = { ...PATCH, operation: { ...operation, moveTo: 'b.ts' } }
    const paths: unknown[] = []
    const patch = spoken(
      [
        { beforeTool: ({ tool }) => void paths.push(tool.paths) },
        { decisions: ['rewrite'], beforeTool: ({ tool }) => rewrite({ ...tool.arguments, path: 'c.ts' }) },
      ],
      { item: moved },
    )
    await patch.run(undefined, stream)
    expect(patch.seen).toEqual([])
    const plain = spoken([{ beforeTool: ({ tool }) => void paths.push(tool.paths) }], { item: moved })
    await plain.run(undefined, stream)
    expect([plain.seen, paths.at(-1)]).toEqual([[moved.operation], ['a.ts', 'b.ts']])
  })

  test('waits for the user if a hook or the program requires it', async () => {
    let looks = 0
    const asking = {
      decisions: ['ask'] as const,
      beforeTool: () => {
        looks++
        return ask('May it?')
      },
    }
    for (const [hook, needsApproval] of [
      [asking, false],
      [{ beforeTool: () => void looks++ }, true],
    ] as const) {
      looks = 0
      const shell = spoken([hook as object], { item: RM_CALL, needsApproval })
      const { state } = await shell.run(undefined, stream)
      expect([state.interruptions.length, shell.seen]).toEqual([1, []])
      for (const { callId } of state.interruptions) state.approved.add(callId)
      await shell.run(state, stream)
      expect([shell.seen, looks]).toEqual([[RM_CALL.action], 1])
    }
  })

  test('is checked again if it was granted in another process', async () => {
    const asking = spoken([{ decisions: ['ask'], beforeTool: () => ask('May it?') }], { item: RM_CALL })
    const { state } = await asking.run(undefined, stream)
    for (const [hook, ran] of [
      [{ decisions: ['ask'], beforeTool: () => ask('May it?') }, [RM_CALL.action]],
      [{ beforeTool: () => block('No longer.') }, []],
      [{ decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) }, []],
    ] as const) {
      const kept = structuredClone(state.interruptions)
      const other = spoken([hook as object], {})
      await other.run({ ...state, interruptions: kept, approved: new Set(kept.map(({ callId }) => callId)) }, stream)
      expect(other.seen).toEqual(ran)
    }
  })

  test('has its result looked at', async () => {
    const results: unknown[] = []
    const shell = spoken(
      [
        {
          decisions: ['rewrite'],
          afterTool: ({ result }) => {
            results.push(result)
            return rewrite('clean')
          },
        },
      ],
      {
        item: RM_CALL,
      },
    )
    await shell.run(undefined, stream)
    expect(shell.outputs()).toEqual([
      { output: [{ stdout: 'clean', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] },
    ])
    const patch = spoken(
      [
        {
          afterTool: ({ result, isError }) => {
            results.push([result, isError])
            return block('Secret.')
          },
        },
      ],
      {
        item: PATCH,
        result: { status: 'failed', output: 'no such line' },
      },
    )
    await patch.run(undefined, stream)
    expect(patch.outputs()).toEqual([{ status: 'failed', output: 'Secret.' }])
    expect(results).toMatchObject([[{ stdout: 'gone' }], ['no such line', true]])
  })

  test('has its result among the messages of the next request, where it can be changed', async () => {
    const exited = { type: 'exit', exitCode: 1 }
    const output = [
      { stdout: 'gone', stderr: '', outcome: exited },
      { stdout: 'a', stderr: 'b', outcome: { type: 'timeout' } },
    ]
    const seen: unknown[] = []
    const upper = {
      decisions: ['rewrite'] as const,
      beforeModel: ({ messages }: EventOf<'beforeModel'>) => {
        seen.push(messages.filter(({ role }) => role === 'tool'))
        return rewrite(messages.map(each => ({ ...each, text: each.text.toUpperCase() })))
      },
    }
    const shell = spoken([upper], { item: RM_CALL, result: { output } })
    await shell.run(undefined, stream)
    const patch = spoken([upper], { item: PATCH, result: { status: 'failed', output: 'no such line' } })
    await patch.run(undefined, stream)
    const silent = spoken([upper], { item: PATCH, result: { status: 'completed' } })
    await silent.run(undefined, stream)
    expect(seen).toEqual([
      [],
      [{ role: 'tool', text: 'gone\na\nb' }],
      [],
      [{ role: 'tool', text: 'no such line' }],
      [],
      [],
    ])
    expect([shell.outputs(), patch.outputs(), silent.outputs()]).toEqual([
      [{ output: [{ stdout: 'GONE\nA\nB', stderr: '', outcome: { type: 'timeout' } }] }],
      [{ status: 'failed', output: 'NO SUCH LINE' }],
      [{ status: 'completed' }],
    ])
  })

  test('is looked at command by command where one could hide the next', async () => {
    const seen: unknown[] = []
    const { run } = spoken([{ beforeTool: ({ tool }) => void seen.push(tool.command) }], {
      item: shellCall('echo "', 'rm x', 'echo "'),
    })
    await run(undefined, stream)
    expect(seen).toEqual([`sh -c 'echo "'\nrm x\nsh -c 'echo "'`])
  })

  test('is excluded if the provider runs it', async () => {
    const tools: unknown[] = []
    const look = { beforeTool: ({ tool }: { tool: unknown }) => void tools.push(tool) }
    const { run, lines } = spoken([look as object], { item: RM_CALL, environment: { type: 'container_auto' } })
    await run(undefined, stream)
    expect([tools, lines]).toEqual([[], []])
  })
})

test('is reported once if it runs here and hooks cannot be asked about it', async () => {
  const tools = [
    fakeItemTool('computer', { computer: {} }),
    fakeItemTool('telepathy', {}),
    fakeItemTool('hosted_tool', {}),
  ]
  const { run, agent, lines } = scene([{ beforeTool: () => undefined }])
  agent.tools.push(...tools)
  await run()
  await run()
  expect(lines).toEqual([
    'hookspan: openai-agents: no hook is asked about the tool computer, which runs here',
    'hookspan: openai-agents: no hook is asked about the tool telepathy, which runs here',
  ])
  const unasked = scene([{ beforeModel: () => undefined }])
  unasked.agent.tools.push(...tools)
  await unasked.run()
  expect(unasked.lines).toEqual([])
})

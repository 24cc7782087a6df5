import { describe, expect, test } from 'vitest'
import { attachHooks } from '../../../src/agents/ai-sdk/hooks.ts'
import {
  type AnyHook,
  ask,
  block,
  createHooks,
  type HookContext,
  inject,
  retry,
  rewrite,
} from '../../../src/guards/index.ts'
import { afterwards } from '../../support/afterwards.ts'
import { type FakeReply, fakeModel, gateway, generate, type Result, type Sent } from './fake-sdk.ts'

const ASKED = { role: 'user', content: 'What is up?' }
const RM = { name: 'bash', input: { command: 'rm x' } }
const ways = [
  ['generate', false],
  ['stream', true],
] as const

/** Runs what the tool is told; asks for `rm x` first. */
function scene(hooks: readonly Omit<AnyHook, 'name'>[], more: Record<string, unknown> = {}) {
  const ran: unknown[] = []
  const lines: string[] = []
  const { model, sent } = fakeModel(
    (_, ordinal): FakeReply => (ordinal === 1 ? { calls: [RM] } : { text: 'All done.' }),
  )
  const bash = {
    execute: (input: unknown) => {
      ran.push(input)
      return 'gone'
    },
    ...(more['tool'] as object | undefined),
  }
  const named = hooks.map((hook, at) => ({ name: `h${at}`, onFailure: 'block', ...hook }) as AnyHook)
  const attached = attachHooks(createHooks(named), { report: line => lines.push(line) })
  const options = { model, instructions: 'Be main.', messages: [ASKED], tools: { bash }, ...more }
  const run = (streams = false): Promise<Result> => generate(attached.guard(options), streams)
  return { attached, options, run, ran, sent, lines }
}

function texts(sent: Sent | undefined, role: string): string[] {
  return (sent?.prompt ?? [])
    .filter(message => message['role'] === role)
    .map(({ content }) =>
      typeof content === 'string' ? content : (content as { text?: string }[]).map(({ text }) => text ?? '').join('|'),
    )
}

describe.each(ways)('a tool: %s', (_, streams) => {
  test('is not run if blocked, and the model gets the reason', async () => {
    const { run, ran } = scene([{ beforeTool: () => block('Not here.') }])
    expect(await run(streams)).toMatchObject({ results: ['denied: Not here.'], text: 'All done.' })
    expect(ran).toEqual([])
  })

  test('is checked once if it is blocked after a rewrite', async () => {
    let looks = 0
    const judge = () => {
      looks++
      return block('Not here.')
    }
    const { run } = scene([
      { decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) },
      { beforeTool: judge },
    ])
    expect((await run(streams)).results).toEqual(['denied: Not here.'])
    expect(looks).toBe(1)
  })

  test('is run with rewritten arguments', async () => {
    const { run, ran } = scene([{ decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) }])
    expect(await run(streams)).toMatchObject({ results: ['gone'] })
    expect(ran).toEqual([{ command: 'ls' }])
    expect(Object.isFrozen(ran[0])).toBe(false)
  })

  test('is judged as it would run, and checked once', async () => {
    let looks = 0
    const { run, ran } = scene([
      { decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'ls' }) },
      {
        decisions: ['ask'],
        beforeTool: ({ tool }) => {
          looks++
          return ask(`May it ${tool.command}?`)
        },
      },
    ])
    expect((await run(streams)).asked).toEqual([{ input: { command: 'ls' }, reason: 'May it ls?' }])
    expect([ran, looks]).toEqual([[], 1])
  })

  test('is known to the hooks by its id and its turn', async () => {
    const seen: unknown[] = []
    const context = { runtimeContext: { sessionId: 's1' }, telemetry: { includeRuntimeContext: { sessionId: true } } }
    const look = (where: string) => (event: { tool?: { id?: string } }, ctx: HookContext) => {
      seen.push([where, event.tool?.id, ctx.sessionId, ctx.turnId?.replace(/\d+/, 'N')])
    }
    const hooks = { beforeTurn: look('turn'), beforeTool: look('before'), afterTool: look('after') } as object
    await scene([hooks], context).run(streams)
    expect(seen).toEqual([
      ['turn', undefined, 's1', 'call-N'],
      ['before', 'c1.0', 's1', 'call-N'],
      ['after', 'c1.0', 's1', 'call-N'],
    ])
  })
})

test('has no session if the user excludes it', async () => {
  const seen: unknown[] = []
  const beforeTurn = (_: unknown, ctx: HookContext) => {
    seen.push(ctx.sessionId === ctx.turnId)
  }
  await scene([{ beforeTurn }], { runtimeContext: { sessionId: 'secret' } }).run()
  expect(seen).toEqual([true])
})

test('is judged by its own arguments, also for two calls of one tool at once', async () => {
  const { model } = fakeModel((_, ordinal) =>
    ordinal === 1 ? { calls: [RM, { name: 'bash', input: { command: 'ls' } }] } : { text: 'ok' },
  )
  const seen: unknown[] = []
  const { run, ran } = scene(
    [
      {
        beforeTool: ({ tool }) => {
          seen.push([tool.id, tool.command])
          return tool.command?.startsWith('rm') ? block('Not here.') : undefined
        },
      },
    ],
    { model },
  )
  expect((await run()).results).toEqual(['denied: Not here.', 'gone'])
  expect(seen).toEqual([
    ['c1.0', 'rm x'],
    ['c1.1', 'ls'],
  ])
  expect(ran).toEqual([{ command: 'ls' }])
})

describe("the program's own approval", () => {
  const passes = { beforeTool: () => undefined }
  test.each([
    ['its tool requires the user', { tool: { needsApproval: true } }, 'asks'],
    ['its settings require the user', { toolApproval: { bash: 'user-approval' } }, 'asks'],
    ['a function of its settings does', { toolApproval: { bash: () => 'user-approval' } }, 'asks'],
    ['a function for all tools does', { toolApproval: () => ({ type: 'user-approval', reason: 'rule' }) }, 'asks'],
    ['it denies', { toolApproval: { bash: 'denied' } }, 'denies'],
    ['it has no setting', {}, 'runs'],
    ['a name that every object has', { toolApproval: Object.create({ bash: 'denied' }) }, 'runs'],
  ] as const)('%s', async (_, more, outcome) => {
    const { run, ran } = scene([passes], more)
    const { asked, results } = await run()
    expect(asked).toHaveLength(outcome === 'asks' ? 1 : 0)
    expect(ran).toHaveLength(outcome === 'runs' ? 1 : 0)
    expect(results[0]?.startsWith('denied') ?? false).toBe(outcome === 'denies')
  })

  test("overrules a hook's question when it denies, and yields to a block when it allows", async () => {
    const denied = scene([{ decisions: ['ask'], beforeTool: () => ask('May it?') }], {
      toolApproval: { bash: 'denied' },
    })
    expect((await denied.run()).asked).toEqual([])
    const granted = scene([{ beforeTool: () => block('No.') }], { toolApproval: { bash: 'approved' } })
    expect((await granted.run()).results).toEqual(['denied: No.'])
    expect([denied.ran, granted.ran]).toEqual([[], []])
  })

  test('is called before our functions', async () => {
    const seen: string[] = []
    const more = {
      onStart: () => void seen.push('onStart'),
      prepareStep: () => {
        seen.push('prepareStep')
        return { instructions: 'Be brief.' }
      },
      experimental_refineToolInput: { bash: () => ({ command: 'refined' }) },
    }
    const { run, ran, sent } = scene(
      [{ decisions: ['rewrite'], beforeTool: ({ tool }) => rewrite({ command: `${tool.command} twice` }) }],
      more,
    )
    await run()
    expect(seen).toEqual(['onStart', 'prepareStep', 'prepareStep'])
    expect(ran).toEqual([{ command: 'refined twice' }])
    expect(texts(sent[0], 'system')).toEqual(['Be brief.'])
  })
})

describe('a tool that the user has granted', () => {
  async function granted(hook: object) {
    let isAsking = true
    const first = scene([
      { decisions: ['ask', 'block'], beforeTool: () => (isAsking ? ask('May it?') : undefined), ...hook },
    ])
    const { messages } = (await first.run()) as unknown as { messages: object[] }
    isAsking = false
    const answer = { type: 'tool-approval-response', approvalId: 'a c1.0', approved: true }
    const again = { ...first.options, messages: [...messages, { role: 'tool', content: [answer] }] }
    return { ...first, result: await generate(first.attached.guard(again)) }
  }

  test('runs, and was looked at once more', async () => {
    const { result, ran } = await granted({})
    expect([result.results[0], ran]).toEqual(['gone', [{ command: 'rm x' }]])
  })

  test('is no new turn', async () => {
    let turns = 0
    await granted({
      beforeTurn: () => {
        turns++
      },
    })
    expect(turns).toBe(1)
  })
})

describe('a hook that fails', () => {
  test.each(['pass', 'block'] as const)('counts as %s, and the call continues', async onFailure => {
    const broken: Record<string, () => unknown> = {
      throws: () => {
        throw new Error('secret')
      },
      rejects: () => Promise.reject(new Error('secret')),
      hangs: () => new Promise(() => undefined),
    }
    for (const beforeTool of Object.values(broken)) {
      const { run, ran, lines } = scene([{ beforeTool, onFailure, timeLimitMillis: 1 } as object])
      const { results, text } = await run()
      expect(text).toBe('All done.')
      expect(ran).toHaveLength(onFailure === 'pass' ? 1 : 0)
      expect(results.join()).not.toContain('secret')
      expect(lines).toHaveLength(1)
    }
  })
})

describe.each(ways)('a turn: %s', (_, streams) => {
  test('sends no request if blocked', async () => {
    const { run, sent } = scene([{ beforeTurn: () => block('Not today.') }])
    expect(await run(streams)).toMatchObject({ text: 'Not today.', results: [] })
    expect(sent).toEqual([])
  })

  test('keeps its rewritten prompt', async () => {
    const { run, sent } = scene([{ decisions: ['rewrite'], beforeTurn: () => rewrite('Else?') }])
    await run(streams)
    expect(sent.map(each => texts(each, 'user'))).toEqual([['Else?'], ['Else?']])
  })

  test('has an injected text once', async () => {
    const { run, sent } = scene([
      { decisions: ['inject'], beforeTurn: () => inject('A line.') },
      { decisions: ['inject'], beforeTurn: () => inject('A rule.', 'system') },
    ])
    await run(streams)
    expect(sent.map(each => texts(each, 'user'))).toEqual([
      ['What is up?', 'A line.'],
      ['What is up?', 'A line.'],
    ])
    expect(texts(sent[1], 'system')).toEqual(['Be main.\n\nA rule.'])
  })

  test('is repeated if its answer is not accepted', async () => {
    const judged: string[] = []
    const { run, sent } = scene([
      {
        decisions: ['retry'],
        afterTurn: ({ answer, attempt }) => {
          judged.push(answer)
          return attempt === 0 ? retry({ feedback: 'Say more.' }) : undefined
        },
      },
    ])
    await run(streams)
    expect(judged).toEqual(['All done.', 'All done.'])
    expect([texts(sent[2], 'assistant').at(-1), texts(sent[2], 'user').at(-1)]).toEqual(['All done.', 'Say more.'])
  })
})

describe.each(ways)('a request: %s', (_, streams) => {
  test('is not sent if blocked', async () => {
    const { run, sent } = scene([{ beforeModel: () => block('Too dear.') }])
    expect((await run(streams)).text).toBe('Too dear.')
    expect(sent).toEqual([])
  })

  test('is changed for itself alone', async () => {
    const { run, sent } = scene([
      {
        decisions: ['rewrite'],
        beforeModel: ({ messages }) => rewrite(messages.map(each => ({ ...each, text: each.text.toUpperCase() }))),
      },
      { decisions: ['inject'], beforeModel: () => inject('A line.') },
    ])
    await run(streams)
    expect(sent.map(each => texts(each, 'user'))).toEqual([
      ['WHAT IS UP?', 'A line.'],
      ['WHAT IS UP?', 'A line.'],
    ])
    expect(sent[1]?.prompt.find(({ role }) => role === 'tool')).toMatchObject({
      content: [{ type: 'tool-result', output: { type: 'text', value: 'GONE' } }],
    })
  })

  test('calls no tool if its answer is blocked', async () => {
    const { run, ran } = scene([
      { afterModel: ({ toolCalls }) => (toolCalls.length > 0 ? block('No tools.') : undefined) },
    ])
    expect((await run(streams)).text).toBe('No tools.')
    expect(ran).toEqual([])
  })

  test('has another text if its answer is rewritten, and keeps its calls', async () => {
    const { run, ran } = scene([{ decisions: ['rewrite'], afterModel: ({ text }) => rewrite(`${text}!`) }])
    expect((await run(streams)).text).toBe('All done.!')
    expect(ran).toHaveLength(1)
  })

  test('has its usage', async () => {
    const took: unknown[] = []
    await scene([{ afterModel: ({ usage }) => void took.push(usage) }]).run(streams)
    expect(took).toEqual([
      { inputTokens: 100, outputTokens: 10 },
      { inputTokens: 100, outputTokens: 10 },
    ])
  })

  test('is repeated if it fails and a hook wants it, and fails otherwise', async () => {
    const fails = () => fakeModel((_, ordinal) => (ordinal === 1 ? new TypeError('on fire') : { text: 'ok' }))
    const [wanted, left] = [fails(), fails()]
    const hook = {
      decisions: ['retry'],
      afterModel: ({ error }: { error?: { type?: string } }) => (error?.type === 'TypeError' ? retry() : undefined),
    }
    expect((await scene([hook as object], { model: wanted.model }).run(streams)).text).toBe('ok')
    await expect(scene([{ afterModel: () => undefined }], { model: left.model }).run(streams)).rejects.toThrow(
      'on fire',
    )
  })
})

describe.each(ways)('a model that prepareStep names: %s', (_, streams) => {
  const LINE = /^hookspan: ai-sdk: prepareStep gives the model "other" by its name: /

  function named(hooks: readonly Omit<AnyHook, 'name'>[]) {
    const other = fakeModel(() => ({ text: 'From the other.' }))
    gateway.models = { other: other.model }
    return { ...scene(hooks, { prepareStep: () => ({ model: 'other' }) }), other }
  }

  test('answers nothing in a turn that is blocked', async () => {
    const { run, lines, other } = named([{ beforeTurn: () => block('Not today.') }])
    expect(await run(streams)).toMatchObject({ text: 'Not today.', results: [] })
    expect([other.sent, lines]).toEqual([[], []])
  })

  test.each(['beforeModel', 'afterModel', 'afterTurn'])(
    'is not sent if a guard that blocks on failure has %s',
    async at => {
      const { run, lines, other } = named([{ [at]: () => undefined }])
      expect((await run(streams)).text).toBe('The hook h0 failed to check this, and is set to block on failure.')
      await run(streams)
      expect([other.sent, lines]).toEqual([[], [expect.stringMatching(LINE)]])
      expect(lines[0]).toMatch(new RegExp(`hooks cannot be asked in ${at} .* counts as block; `))
    },
  )

  test('is sent if guards pass on failure, with a line', async () => {
    const { run, lines } = named([
      { onFailure: 'pass', beforeModel: () => block('Too dear.'), afterModel: () => undefined },
    ])
    expect((await run(streams)).text).toBe('From the other.')
    await run(streams)
    expect(lines).toEqual([expect.stringMatching(LINE)])
    expect(lines[0]).toMatch(/hooks cannot be asked in beforeModel, afterModel .* counts as pass; /)
  })

  test('causes no line if no hook is asked about models', async () => {
    const { run, lines } = named([{ beforeTool: () => block('Not here.') }])
    expect((await run(streams)).text).toBe('From the other.')
    expect(lines).toEqual([])
  })

  test('is looked at as any other where the program has set a provider', async () => {
    const { run, lines, other } = named([{ beforeModel: ({ model }) => block(`Not by ${model}.`) }])
    const names: string[] = []
    const languageModel = (name: string) => {
      names.push(name)
      return other.model
    }
    Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: { languageModel } })
    afterwards(() => Reflect.deleteProperty(globalThis, 'AI_SDK_DEFAULT_PROVIDER'))
    expect((await run(streams)).text).toBe('Not by fake-1.')
    expect([names, other.sent, lines]).toEqual([['other'], [], []])
  })
})

test('is checked for a model that the call itself names: the SDK reports which it is', async () => {
  const { model, sent } = fakeModel(() => ({ text: 'ok' }))
  gateway.models = { mine: model }
  const { run, lines } = scene([{ beforeModel: () => block('Too dear.') }], { model: 'mine' })
  expect((await run()).text).toBe('Too dear.')
  expect([sent, lines]).toEqual([[], []])
})

test('passes an answer on as it arrives, unless a hook checks it', async () => {
  const plain = await scene([{ beforeModel: () => undefined }]).run(true)
  expect(plain.chunks.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta)).toEqual(['All ', 'done.'])
  const judged = await scene([{ decisions: ['rewrite'], afterModel: () => rewrite('Else.') }]).run(true)
  expect(judged.chunks.map(({ type, delta }) => delta ?? type).slice(-5)).toEqual([
    'stream-start',
    'text-start',
    'Else.',
    'text-end',
    'finish',
  ])
})

describe('a result', () => {
  test('is blocked, rewritten, or had again', async () => {
    expect((await scene([{ afterTool: () => block('Secret.') }]).run()).results).toEqual(['error: Secret.'])
    expect((await scene([{ decisions: ['rewrite'], afterTool: () => rewrite('clean') }]).run()).results).toEqual([
      'clean',
    ])
    const twice = scene([{ decisions: ['retry'], afterTool: ({ attempt }) => (attempt === 0 ? retry() : undefined) }])
    expect((await twice.run()).results).toEqual(['gone'])
    expect(twice.ran).toHaveLength(2)
  })

  test('is an error for the hooks if it is one, and stays one', async () => {
    const seen: unknown[] = []
    const tool = {
      execute: () => {
        throw new Error('no such file')
      },
    }
    const afterTool = ({ result, isError }: { result: unknown; isError: boolean }) => {
      seen.push([result, isError])
    }
    expect((await scene([{ afterTool } as object], { tool }).run()).results).toEqual(['error: no such file'])
    expect(seen).toEqual([['no such file', true]])
  })

  test('is judged when it is whole if it arrives in parts', async () => {
    const seen: unknown[] = []
    async function* execute() {
      yield 'half'
      yield 'whole'
    }
    const afterTool = ({ result }: { result: unknown }) => {
      seen.push(result)
      return rewrite(`${result}!`)
    }
    expect((await scene([{ decisions: ['rewrite'], afterTool }], { tool: { execute } }).run()).results).toEqual([
      'whole!',
    ])
    expect(seen).toEqual(['whole'])
  })
})

test('makes each call of an agent a turn of its own', async () => {
  const turns = new Set<unknown>()
  const { model } = fakeModel(() => ({ text: 'ok' }))
  const beforeTurn = (_: unknown, { turnId, state }: HookContext) => {
    turns.add([turnId, state['seen']].join())
    state['seen'] = true
  }
  const attached = attachHooks(createHooks([{ name: 'h', onFailure: 'pass', beforeTurn }]))
  const settings = attached.guardAgent({ model, tools: {}, messages: [ASKED] }) as object as Record<
    string,
    (given: object) => Promise<object>
  >
  // As `ToolLoopAgent` does: what `prepareCall` gives, but with the callbacks of the settings.
  const one = async () =>
    generate({ ...(await settings['prepareCall']?.(settings)), onStart: settings['onStart'], onEnd: settings['onEnd'] })
  await Promise.all([one(), one()])
  expect([...turns].map(turn => String(turn).replace(/\d+/, 'N'))).toEqual(['call-N,', 'call-N,'])
})

test('checks a tool that is called without the model, too', async () => {
  const { attached, options, ran } = scene([{ beforeTool: () => block('Not here.') }])
  const { bash } = attached.guard(options).tools
  await expect(Promise.resolve(bash.execute({ command: 'rm x' }))).rejects.toThrow('Not here.')
  expect(ran).toEqual([])
})

test('leaves a tool of the provider unchanged, and all else without a hook for it', () => {
  const search = { type: 'provider', id: 'fake.search' }
  const { attached, options } = scene([{ beforeModel: () => undefined }])
  const guarded = attached.guard({ ...options, tools: { ...options.tools, search } })
  expect(guarded.tools.search).toBe(search)
  expect(guarded.tools.bash).toBe(options.tools.bash)
  expect(Object.keys(guarded)).not.toContain('toolApproval')
})

describe.each(ways)('a tool that the provider defines, and that runs here: %s', (_, streams) => {
  test("is run with the hooks' arguments, and its result is checked", async () => {
    const results: unknown[] = []
    const tool = { type: 'provider', id: 'anthropic.bash', isProviderExecuted: false }
    const { run, ran } = scene(
      [
        { decisions: ['rewrite'], beforeTool: () => rewrite({ command: 'trash x' }) },
        { beforeTool: ({ tool }) => (tool.command?.startsWith('rm') ? block('Not here.') : undefined) },
        { afterTool: ({ result }) => void results.push(result) },
      ],
      { tool },
    )
    await run(streams)
    expect([ran, results]).toEqual([[{ command: 'trash x' }], ['gone']])
  })
})

test.each([
  ['runs it', { type: 'provider', id: 'anthropic.code_execution', isProviderExecuted: true, execute: () => 'none' }],
  ['does not say who runs it', { type: 'provider', id: 'fake.search' }],
])('is unchanged for a tool of a provider that %s, with hooks for tools', (_, theirs) => {
  const { attached, options } = scene([{ beforeTool: () => undefined, afterTool: () => undefined }])
  const guarded = attached.guard({ ...options, tools: { ...options.tools, theirs } })
  expect(guarded.tools.theirs).toBe(theirs)
  expect(guarded).toHaveProperty('experimental_refineToolInput', { bash: expect.any(Function) })
})

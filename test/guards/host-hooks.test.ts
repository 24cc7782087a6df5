import { expect, test } from 'vitest'
import type { Outcome } from '../../src/guards/chain.ts'
import { createHooks } from '../../src/guards/create-hooks.ts'
import { fromExtension } from '../../src/guards/from-extension.ts'
import { fromProvider } from '../../src/guards/from-provider.ts'
import type { AnyHook } from '../../src/guards/hook.ts'
import {
  ALL_CAPABILITIES,
  type Capabilities,
  HostHooks,
  type HostHooksOptions,
  type TracedPlugin,
} from '../../src/guards/host-hooks.ts'
import type { EventOf, Phase } from '../../src/guards/phases.ts'
import { ask, block, inject, pass, retry, rewrite } from '../../src/guards/verdict.ts'
import { EVENTS, inWords } from './asking.ts'

const IDS = { sessionId: 's1', turnId: 't1', toolCallId: 'c1' }

interface Told {
  readonly hook: string
  readonly payload: Record<string, unknown>
  readonly at: number | undefined
}

/** Stands for a plugin: keeps what it is told. */
class Notes implements TracedPlugin {
  readonly told: Told[] = []
  emitUntyped(hook: string, payload: unknown, meta?: { readonly at?: number }): void {
    this.told.push({ hook, payload: JSON.parse(JSON.stringify(payload)), at: meta?.at })
  }
  traceparent({ tool_call_id = '' }: { readonly tool_call_id?: string }): string {
    return `00-of-${tool_call_id}`
  }
  /** What of each run that ended is worth a line of a table. */
  ends(): string[] {
    const ends = this.told.filter(({ hook }) => hook === 'post_control_hook').map(({ payload }) => payload)
    return ends.map(({ hook_name, verdict, action, count }) =>
      [hook_name, verdict, action ?? `×${count}`].map(String).join(' '),
    )
  }
}

function hostHooks(
  hooks: readonly AnyHook[],
  able: Capabilities = ALL_CAPABILITIES,
  more: Partial<HostHooksOptions> = {},
) {
  const lines: string[] = []
  const notes = new Notes()
  const report = (line: string): void => void lines.push(line)
  const made = new HostHooks({
    host: 'codex',
    hooks: createHooks(hooks),
    capabilities: able,
    plugin: () => notes,
    report,
    ...more,
  })
  return { hooks: made, lines, notes }
}

const decisions = ['block', 'rewrite', 'inject', 'retry', 'ask'] as const

function saying(phase: Phase, verdict: unknown, name = 'guard'): AnyHook {
  return { name, decisions, [phase]: () => verdict } as AnyHook
}

const ASKED = 'The hook guard wants to ask the user, which is not possible here: May I?'

/** What a hook says, what the host can do, what is done then, and what the trace says was done. */
const FITTING: readonly (readonly [Phase, unknown, Capabilities, done: string, told: readonly string[]])[] = [
  ['beforeTool', block('No.'), { beforeTool: ['block'] }, 'block by guard: No.', ['guard block blocked']],
  ['beforeTool', block('No.'), { beforeTool: ['rewrite'] }, 'pass', ['guard block none']],
  ['beforeTool', ask('May I?'), { beforeTool: ['ask'] }, 'ask by guard: May I?', ['guard ask asked']],
  ['beforeTool', ask('May I?'), { beforeTool: ['block'] }, `block by guard: ${ASKED}`, ['guard ask blocked']],
  ['beforeTool', ask('May I?'), { beforeTool: ['rewrite'] }, 'pass', ['guard ask none']],
  [
    'beforeTool',
    rewrite({ command: 'ls' }),
    { beforeTool: ['rewrite'] },
    'pass, rewritten',
    ['guard rewrite rewritten'],
  ],
  ['beforeTool', rewrite({ command: 'ls' }), { beforeTool: ['block'] }, 'pass', ['guard rewrite none']],
  ['beforeTool', inject('Mind.'), { beforeTool: ['inject'] }, 'pass, injected', ['guard inject injected']],
  ['beforeTool', inject('Mind.'), { beforeTool: ['block'] }, 'pass', ['guard inject none']],
  [
    'afterTurn',
    retry({ feedback: 'Once more.' }),
    { afterTurn: ['retry'] },
    'retry by guard: Once more.',
    ['guard retry retried'],
  ],
  ['afterTurn', retry({ feedback: 'Once more.' }), { afterTurn: ['block'] }, 'pass', ['guard retry none']],
  ['beforeModel', block('No.'), {}, 'pass', ['guard block none']],
]

test.each(FITTING)('applies %s %j of a host that supports %j: %s', async (phase, verdict, able, done, told) => {
  const { hooks, notes } = hostHooks([saying(phase, verdict)], able)
  const outcome = await hooks.run(phase, IDS, EVENTS[phase])
  expect(inFull(outcome)).toBe(done)
  expect(notes.ends()).toEqual(told)
  if (!outcome.isRewritten) expect(outcome.value).toEqual(tableValue(phase))
})

function inFull(outcome: Outcome<Phase>): string {
  return (
    inWords(outcome) + (outcome.isRewritten ? ', rewritten' : '') + (outcome.injected.length > 0 ? ', injected' : '')
  )
}

function tableValue(phase: Phase): unknown {
  const { beforeTool, afterTurn, beforeModel } = EVENTS
  if (phase === 'beforeTool') return beforeTool.tool.arguments
  return phase === 'afterTurn' ? afterTurn.answer : beforeModel.messages
}

test('does not report a rewrite before a block as done', async () => {
  const hooks = [
    saying('beforeTool', rewrite({ command: 'ls' }), 'first'),
    { name: 'last', beforeTool: () => block('No.') },
  ]
  const { hooks: made, notes } = hostHooks(hooks)
  await made.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(notes.ends()).toEqual(['first rewrite none', 'last block blocked'])
})

test('names the first of several hooks that ask', async () => {
  const { hooks, notes } = hostHooks([
    { name: 'a', decisions: ['ask'], beforeTool: () => ask('a?') },
    { name: 'b', decisions: ['ask'], beforeTool: () => ask('b?') },
  ])
  expect(inWords(await hooks.run('beforeTool', IDS, EVENTS.beforeTool))).toBe('ask by a: a?')
  expect(notes.ends()).toEqual(['a ask asked', 'b ask none'])
})

test('reports a failure with its effect on the host, open and closed', async () => {
  const broken = (): never => {
    throw new Error('broken')
  }
  const open = hostHooks([{ name: 'open', beforeTool: broken }])
  await open.hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(open.notes.ends()).toEqual(['open failed ran'])
  const closed = hostHooks([{ name: 'closed', onFailure: 'block', beforeTool: async () => broken() }])
  await closed.hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(closed.notes.ends()).toEqual(['closed failed blocked'])
  expect(closed.lines).toEqual(['hookspan: codex: hook closed failed in beforeTool, which counts as block: broken'])
})

test('limits retries, and reports the limit', async () => {
  const { hooks, lines, notes } = hostHooks([saying('afterTurn', retry())])
  const made: string[] = []
  for (let attempt = 0; attempt < 5; attempt++)
    made.push((await hooks.run('afterTurn', IDS, { answer: 'Done.', attempt })).decision)
  expect(made).toEqual(['retry', 'retry', 'retry', 'pass', 'pass'])
  expect(lines).toEqual([
    'hookspan: codex: hook guard wanted a retry in afterTurn for the 4th time; 3 are made at most',
    'hookspan: codex: hook guard wanted a retry in afterTurn for the 5th time; 3 are made at most',
  ])
  expect(notes.ends().at(-1)).toBe('guard retry none')
})

test('keeps state for one turn, across its phases', async () => {
  const seen: unknown[] = []
  const counts = (phase: Phase, name: string): AnyHook =>
    ({
      name,
      decisions: [],
      [phase]: (_: unknown, { state }: { state: Record<string, number> }) => {
        state['count'] = (state['count'] ?? 0) + 1
        seen.push(state['count'])
      },
    }) as AnyHook
  const { hooks } = hostHooks([counts('beforeTool', 'a'), counts('afterTool', 'b')])
  await hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  await hooks.run('afterTool', { ...IDS, toolCallId: 'c2' }, EVENTS.afterTool)
  await hooks.run('beforeTool', { ...IDS, turnId: 't2' }, EVENTS.beforeTool)
  hooks.endTurn(IDS)
  await hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(seen).toEqual([1, 2, 1, 1])
})

test('keeps turns apart whose joined ids look alike', async () => {
  const states = new Set<unknown>()
  const { hooks } = hostHooks([{ name: 'a', decisions: [], beforeTool: (_, { state }) => void states.add(state) }])
  await hooks.run('beforeTool', { sessionId: 'a b', turnId: 'c' }, EVENTS.beforeTool)
  await hooks.run('beforeTool', { sessionId: 'a', turnId: 'b c' }, EVENTS.beforeTool)
  expect(states.size).toBe(2)
})

test('evicts the oldest turns that never end', async () => {
  const states: unknown[] = []
  const { hooks } = hostHooks([{ name: 'a', decisions: [], beforeTool: (_, { state }) => void states.push(state) }])
  for (let turn = 0; turn <= 1000; turn++) await hooks.run('beforeTool', { turnId: `t${turn}` }, EVENTS.beforeTool)
  await hooks.run('beforeTool', { turnId: 't1' }, EVENTS.beforeTool)
  await hooks.run('beforeTool', { turnId: 't0' }, EVENTS.beforeTool)
  expect(states[1001]).toBe(states[1])
  expect(states[1002]).not.toBe(states[0])
})

test('excludes a continued turn, and reports the counts of a discarded one', async () => {
  const states = new Set<unknown>()
  const { hooks, notes } = hostHooks([
    { name: 'a', decisions: [], beforeTool: (_, { state, turnId }) => void (turnId === 'long' && states.add(state)) },
  ])
  for (let turn = 0; turn <= 1100; turn++) {
    await hooks.run('beforeTool', { turnId: 'long' }, EVENTS.beforeTool)
    await hooks.run('beforeTool', { sessionId: 's', turnId: `t${turn}`, toolCallId: 'c1' }, EVENTS.beforeTool)
  }
  expect(states.size).toBe(1)
  const gone = notes.told.filter(({ payload }) => payload['turn_id'] === 't0' && payload['session_id'] === 's')
  expect(gone.at(-1)).toMatchObject({ hook: 'post_control_hook', payload: { hook_name: 'a', verdict: 'pass' } })
})

test('emits the count of fast runs once, at the end of the turn', async () => {
  const passing = (name: string): AnyHook => ({ name, beforeTool: () => undefined, afterTool: () => pass() })
  const { hooks, notes } = hostHooks([passing('a'), passing('b')])
  // What takes more than a millisecond is told by itself: on a busy machine that may be any of them.
  for (let call = 0; call < 20; call++) {
    await hooks.run('beforeTool', IDS, EVENTS.beforeTool)
    await hooks.run('afterTool', IDS, EVENTS.afterTool)
  }
  const early = notes.told.length
  hooks.endTurn(IDS)
  hooks.endTurn(IDS)
  const runs = notes.told.filter(({ hook }) => hook === 'post_control_hook').map(({ payload }) => payload)
  const sums: Record<string, number> = {}
  for (const { hook_name, hook_phase, count = 1 } of runs) {
    const key = `${hook_name} ${hook_phase}`
    sums[key] = (sums[key] ?? 0) + Number(count)
  }
  expect(sums).toEqual({ 'a before_tool': 20, 'a after_tool': 20, 'b before_tool': 20, 'b after_tool': 20 })
  expect(notes.told.length - early).toBeLessThanOrEqual(4)
})

test('reports the deciding hook with start, end and decision', async () => {
  const { hooks, notes } = hostHooks([
    { name: 'guard', priority: 5, beforeTool: () => block('No.', { detail: 'rule 7' }) },
  ])
  await hooks.run('beforeTool', { ...IDS, requestId: 'r1' }, EVENTS.beforeTool)
  const [before, after] = notes.told
  const about = {
    session_id: 's1',
    turn_id: 't1',
    tool_call_id: 'c1',
    api_request_id: 'r1',
    hook_run_id: before?.payload['hook_run_id'],
    hook_name: 'guard',
    hook_phase: 'before_tool',
    hook_priority: 5,
    hook_judges: true,
  }
  const durationMillis = Number(after?.payload['duration_ms'])
  expect(before).toEqual({ hook: 'pre_control_hook', payload: about, at: before?.at })
  expect(after).toEqual({
    hook: 'post_control_hook',
    payload: {
      ...about,
      verdict: 'block',
      action: 'blocked',
      reason: 'No.',
      detail: 'rule 7',
      duration_ms: durationMillis,
    },
    at: Number(before?.at) + durationMillis,
  })
})

test('passes the ids of the host and the traceparent to hooks', async () => {
  const seen: unknown[] = []
  const look: AnyHook = {
    name: 'look',
    decisions: [],
    beforeTool: (_, ctx) => {
      seen.push(ctx.host, ctx.sessionId, ctx.turnId, ctx.phase, ctx.traceparent)
      ctx.logger.info('looked')
    },
  }
  const { hooks, lines } = hostHooks([look])
  await hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(seen).toEqual(['codex', 's1', 't1', 'beforeTool', '00-of-c1'])
  expect(lines).toEqual(['hookspan: codex: looked'])
  await hostHooks([look], ALL_CAPABILITIES, { plugin: undefined }).hooks.run('beforeTool', IDS, EVENTS.beforeTool)
  expect(seen.at(-1)).toBeUndefined()
})

const throws = (): never => {
  throw new Error('not today')
}

test.each([
  ['a plugin that cannot be had', { plugin: throws }],
  ['a plugin that throws', { plugin: () => ({ emitUntyped: throws, traceparent: throws }) }],
  ['a failing reporter', { report: throws }],
])('changes no decision: %s', async (_, broken) => {
  const seen: unknown[] = []
  const hooks: AnyHook[] = [
    {
      name: 'logs',
      priority: 1,
      decisions: [],
      beforeTool: (_, ctx) => void seen.push(ctx.traceparent === '', ctx.logger.info('x')),
    },
    { name: 'fails', priority: 2, beforeTool: throws },
    { name: 'blocks', priority: 3, beforeTool: () => block('No.') },
  ]
  const { hooks: made } = hostHooks(hooks, { beforeTool: ['block'] }, broken)
  expect(inWords(await made.run('beforeTool', IDS, EVENTS.beforeTool))).toBe('block by blocks: No.')
  expect(seen).toEqual([false, undefined])
  made.endTurn(IDS)
})

test('blocks unreadable events if a hook is closed and the host supports it, else passes them', () => {
  const closed: AnyHook = { name: 'closed', onFailure: 'block', beforeTool: () => undefined }
  const event = new Proxy({}, { get: throws, ownKeys: throws }) as EventOf<'beforeTool'>
  const run = (able: Capabilities) =>
    hostHooks([closed], able).hooks.run('beforeTool', IDS, event) as Outcome<'beforeTool'>
  expect(inWords(run({ beforeTool: ['block'] }))).toMatch(/^block by closed: /)
  expect(inWords(run({ beforeTool: [] }))).toBe('pass')
})

test('handles a phase that a hook and the host have', () => {
  const { hooks } = hostHooks([saying('beforeTool', pass()), saying('beforeModel', pass(), 'b')], { beforeTool: [] })
  expect([hooks.handles('beforeTool'), hooks.handles('beforeModel'), hooks.handles('afterTool')]).toEqual([
    true,
    false,
    false,
  ])
})

const quiet = { onFailure: 'block' } as const
const phases = (...names: Phase[]): object => Object.fromEntries(names.map(name => [name, () => undefined]))

/** What the person reads when hooks are attached to a host that cannot do what they would decide. */
const IMPOSSIBLE: readonly (readonly [hook: object, able: Capabilities, lines: readonly string[]])[] = [
  [{ ...phases('beforeTool') }, { beforeTool: ['block'] }, []],
  [phases('beforeModel'), {}, ['hook h never runs in beforeModel: codex does not have this phase']],
  [
    { decisions: ['rewrite', 'block'], ...phases('beforeTool', 'afterTool') },
    { beforeTool: ['block'], afterTool: ['block', 'rewrite'] },
    ['hook h cannot rewrite in beforeTool of codex: the value stays as it is'],
  ],
  [
    { decisions: ['ask'], ...phases('beforeTool') },
    { beforeTool: ['block'] },
    ['hook h cannot ask in beforeTool of codex: it blocks instead'],
  ],
  [
    { decisions: ['ask'], ...phases('beforeTool') },
    { beforeTool: ['rewrite'] },
    ['hook h cannot ask in beforeTool of codex: the operation continues'],
  ],
  [
    { decisions: ['inject'], ...phases('beforeTurn', 'beforeModel') },
    { beforeTurn: [], beforeModel: [] },
    ['hook h cannot inject in beforeTurn, beforeModel of codex: the text is not injected'],
  ],
  [
    { decisions: ['retry'], ...phases('afterTurn', 'beforeTurn') },
    { afterTurn: ['block'], beforeTurn: ['block'] },
    ['hook h cannot retry in afterTurn of codex: it is not retried'],
  ],
  [
    phases('afterTool'),
    { afterTool: ['rewrite'] },
    ['hook h cannot block in afterTool of codex: the operation continues'],
  ],
  [{ decisions: [], ...phases('afterTool') }, { afterTool: ['rewrite'] }, []],
  [
    { decisions: { beforeTool: ['block'], afterTool: ['rewrite'] }, ...phases('beforeTool', 'afterTool') },
    { beforeTool: ['block'], afterTool: ['block'] },
    ['hook h cannot rewrite in afterTool of codex: the value stays as it is'],
  ],
  // It blocks before a tool, and only counts behind it.
  [
    { observeOnly: ['afterTool'], ...phases('beforeTool', 'afterTool') },
    { beforeTool: ['block'], afterTool: ['rewrite'] },
    [],
  ],
  [
    { priority: 10, ...phases('beforeTool') },
    { beforeTool: ['block'] },
    [
      'hook h has a security priority, and its failure lets everything pass: set onFailure to "block", or to "pass" if intended',
    ],
  ],
  [{ priority: 10, onFailure: 'pass', ...phases('beforeTool') }, { beforeTool: ['block'] }, []],
  [{ priority: 10, ...quiet, ...phases('beforeTool') }, { beforeTool: ['block'] }, []],
  [{ priority: 10, decisions: [], ...phases('beforeTool') }, { beforeTool: ['block'] }, []],
  [
    { ...quiet, decisions: ['rewrite'], ...phases('beforeTool') },
    { beforeTool: ['rewrite'] },
    ['hook h cannot block in beforeTool of codex: its failure lets the operation continue'],
  ],
  [
    { ...quiet, ...phases('beforeTool') },
    { beforeTool: ['rewrite'] },
    ['hook h cannot block in beforeTool of codex: the operation continues'],
  ],
]

test.each(IMPOSSIBLE)('attaches %j to %j', (hook, able, lines) => {
  const said = hostHooks([{ name: 'h', ...hook } as AnyHook], able).lines
  expect(said).toEqual(lines.map(line => `hookspan: ${line}`))
})

test('lists for a provider and an extension only their decisions in each phase', () => {
  const able: Capabilities = {
    beforeTurn: ['block'],
    beforeModel: ['inject'],
    afterModel: [],
    beforeTool: ['block'],
    afterTurn: [],
  }
  const method = (): void => undefined
  const provider = { name: 'p', on_before_invocation: method, on_before_tool_call: method, on_after_invocation: method }
  const extension = { transform_user_input: method, before_llm_call: method, intercept_tool_call: method }
  const hooks = [fromProvider(provider), fromExtension(extension, { name: 'x' })]
  expect(hostHooks(hooks, able).lines).toEqual([
    'hookspan: hook p cannot rewrite in beforeTool of codex: the value stays as it is',
    'hookspan: hook x cannot block in beforeModel of codex: the operation continues',
    'hookspan: hook x cannot rewrite in beforeTurn, beforeTool of codex: the value stays as it is',
  ])
})

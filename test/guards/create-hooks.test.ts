import { expect, test } from 'vitest'
import { createHooks } from '../../src/guards/create-hooks.ts'
import { type AnyHook, defineHook, PRIORITY } from '../../src/guards/hook.ts'
import type { EventOf } from '../../src/guards/phases.ts'
import { about, EVENTS, inWords } from './asking.ts'

const beforeTool = (): void => undefined

const WRONG: Record<string, readonly [hooks: readonly unknown[], line: string, options?: object]> = {
  'no object': [['guard'], 'a hook is an object with a name'],
  nothing: [[null], 'a hook is an object with a name'],
  'no name': [[{ beforeTool }], 'a hook is an object with a name'],
  'an empty name': [[{ name: '', beforeTool }], 'a hook is an object with a name'],
  'two of one name': [
    [
      { name: 'a', beforeTool },
      { name: 'a', beforeTool },
    ],
    'two hooks are called "a": give one of them another name',
  ],
  'no phase': [
    [{ name: 'a', before_tool: beforeTool }],
    'the hook "a" has no phase: beforeTurn, afterTurn, beforeModel, afterModel, beforeTool, afterTool',
  ],
  'a phase that is no function': [[{ name: 'a', beforeTool: 'block' }], 'beforeTool of the hook "a" is no function'],
  'a priority that is none': [
    [{ name: 'a', beforeTool, priority: 'security' }],
    'the priority of the hook "a" is no number',
  ],
  'a meaning of failure that is none': [
    [{ name: 'a', beforeTool, onFailure: 'closed' }],
    'onFailure of the hook "a" is "pass" or "block"',
  ],
  'no time': [
    [{ name: 'a', beforeTool, timeLimitMillis: 0 }],
    'timeLimitMillis of the hook "a" is a number of milliseconds above 0',
  ],
  'a time that is none': [
    [{ name: 'a', beforeTool, timeLimitMillis: '1s' }],
    'timeLimitMillis of the hook "a" is a number of milliseconds above 0',
  ],
  'decisions that are no list': [
    [{ name: 'a', beforeTool, decisions: 'block' }],
    'decisions of the hook "a" is a list of pass, block, rewrite, inject, retry, ask, or such a list for each phase',
  ],
  'a decision that is none, in a phase': [
    [{ name: 'a', beforeTool, decisions: { beforeTool: ['deny'] } }],
    'decisions of the hook "a" is a list of pass, block, rewrite, inject, retry, ask, or such a list for each phase',
  ],
  'decisions in a phase that is none': [
    [{ name: 'a', beforeTool, decisions: { before_tool: ['block'] } }],
    'decisions of the hook "a" is a list of pass, block, rewrite, inject, retry, ask, or such a list for each phase',
  ],
  'a decision that is none': [
    [{ name: 'a', beforeTool, decisions: ['deny'] }],
    'decisions of the hook "a" is a list of pass, block, rewrite, inject, retry, ask, or such a list for each phase',
  ],
  'a phase to look in that is none': [
    [{ name: 'a', beforeTool, observeOnly: ['after_tool'] }],
    'observeOnly of the hook "a" is a list of beforeTurn, afterTurn, beforeModel, afterModel, beforeTool, afterTool',
  ],
  'no time for all': [
    [{ name: 'a', beforeTool }],
    'timeLimitMillis is a number of milliseconds above 0',
    { timeLimitMillis: -1 },
  ],
}

test.each(Object.entries(WRONG))('finds %s when the hooks are created', (_, [hooks, line, options]) => {
  expect(() => createHooks(hooks as AnyHook[], options)).toThrow(new TypeError(`createHooks: ${line}`))
})

test('describes hooks by priority', () => {
  const hooks = createHooks([
    { name: 'pretty', priority: PRIORITY.cosmetic, decisions: [], afterTool: beforeTool },
    defineHook({ name: 'guard', priority: PRIORITY.security, onFailure: 'block', beforeTool }),
    { name: 'plain', decisions: { beforeTool: ['block'] }, beforeTool, afterTool: beforeTool },
  ])
  expect(hooks.hooks).toEqual([
    {
      name: 'guard',
      priority: 0,
      phases: ['beforeTool'],
      decisions: ['block'],
      decisionsByPhase: { beforeTool: ['block'] },
      onFailure: 'block',
      isFailurePolicyDefault: false,
    },
    {
      name: 'plain',
      priority: 200,
      phases: ['beforeTool', 'afterTool'],
      decisions: ['block'],
      decisionsByPhase: { beforeTool: ['block'], afterTool: [] },
      onFailure: 'pass',
      isFailurePolicyDefault: true,
    },
    {
      name: 'pretty',
      priority: 300,
      phases: ['afterTool'],
      decisions: [],
      decisionsByPhase: { afterTool: [] },
      onFailure: 'pass',
      isFailurePolicyDefault: true,
    },
  ])
  expect([hooks.handles('beforeTool'), hooks.handles('beforeTurn')]).toEqual([true, false])
})

test('decides and handles nothing without hooks', () => {
  const none = createHooks([])
  expect(none.handles('beforeTool')).toBe(false)
  expect(none.run('beforeTool', EVENTS.beforeTool, about())).toMatchObject({
    decision: 'pass',
    isRewritten: false,
    injected: [],
    runs: [],
    value: EVENTS.beforeTool.tool.arguments,
  })
})

const refusing = new Proxy(
  {},
  {
    get() {
      throw new Error('private')
    },
    ownKeys() {
      throw new Error('private')
    },
  },
)

const UNREADABLE: Record<string, unknown> = {
  'a Proxy that refuses everything': refusing,
  'a call whose arguments refuse': { tool: { ...EVENTS.beforeTool.tool, arguments: refusing } },
  'a getter that throws': {
    get tool() {
      throw new Error('private')
    },
  },
  'no call at all': {},
  nothing: undefined,
}

test.each(Object.entries(UNREADABLE))(
  'passes with open hooks and blocks with closed ones, without an exception: %s',
  (_, event) => {
    const line = 'the event of my-agent in beforeTool cannot be read'
    const open: AnyHook = { name: 'open', beforeTool }
    const closed: AnyHook = { name: 'closed', onFailure: 'block', beforeTool }
    const elsewhere: AnyHook = { name: 'elsewhere', onFailure: 'block', afterTool: beforeTool }
    const run = (...hooks: AnyHook[]) => {
      const told = about()
      const outcome = createHooks(hooks).run('beforeTool', event as EventOf<'beforeTool'>, told)
      return { outcome: outcome as Awaited<typeof outcome>, lines: told.lines }
    }
    const passed = run(open, elsewhere)
    expect(inWords(passed.outcome)).toBe('pass')
    expect(passed.lines).toEqual([`${line}: the hooks did not run, which counts as pass`])
    const blocked = run(open, closed)
    expect(inWords(blocked.outcome)).toBe(
      'block by closed: The hook closed failed to check this, and is set to block on failure.',
    )
    expect(blocked.outcome.detail).toBe(line)
    expect(blocked.lines).toEqual([`${line}: the hooks did not run, which counts as block`])
  },
)

import { expect, test } from 'vitest'
import {
  ask,
  type BeforeTool,
  block,
  createHooks,
  defineHook,
  type Hook,
  inject,
  pass,
  retry,
  rewrite,
  type Verdict,
} from '../../src/guards/index.ts'

/** The compiler reads this file: each `@ts-expect-error` is an error itself where its line compiles. */
const hooks = [
  // What compiles.
  defineHook({ name: 'blocks', beforeTool: ({ tool }) => (tool.kind === 'shell' ? block('No.') : undefined) }),
  defineHook({ name: 'passes', beforeTool: () => pass(), afterTurn: async () => undefined }),
  defineHook({ name: 'rewrites', decisions: ['rewrite'], beforeTurn: ({ prompt }) => rewrite(`${prompt}!`) }),
  defineHook({
    name: 'several',
    decisions: ['block', 'ask', 'rewrite', 'inject', 'retry'],
    beforeTool: async ({ tool }) => (tool.command === undefined ? ask('May I?') : rewrite({ command: 'ls' })),
    beforeModel: () => inject('Be brief.', 'system'),
    afterModel: ({ text }) => (text === '' ? retry({ delayMillis: 5 }) : rewrite('.')),
    afterTool: () => inject('Mind.'),
    afterTurn: () => (Math.random() > 2 ? block('No.') : retry({ feedback: 'Once more.' })),
  }),
  defineHook({ name: 'looks', decisions: [], afterTool: () => undefined }),

  // What a hook does not say that it decides.
  // @ts-expect-error it decides nothing else than `block`, unsaid
  defineHook({ name: 'a', beforeTool: () => rewrite({}) }),
  // @ts-expect-error the same, later
  defineHook({ name: 'b', beforeTool: async () => ask('May I?') }),
  // @ts-expect-error it says that it rewrites, and not that it blocks
  defineHook({ name: 'c', decisions: ['rewrite'], beforeTool: () => block('No.') }),
  // @ts-expect-error it says that it decides nothing
  defineHook({ name: 'd', decisions: [], beforeTool: () => block('No.') }),
  // @ts-expect-error there is no such decision
  defineHook({ name: 'e', decisions: ['allow'], beforeTool: () => undefined }),

  // What a phase cannot do.
  // @ts-expect-error a tool that has run is asked about no more
  defineHook({ name: 'f', decisions: ['ask'], afterTool: () => ask('May I?') }),
  // @ts-expect-error behind a turn there is nothing to say something to
  defineHook({ name: 'g', decisions: ['inject'], afterTurn: () => inject('Mind.') }),
  // @ts-expect-error what has not happened is not tried again
  defineHook({ name: 'h', decisions: ['retry'], beforeTool: () => retry() }),
  // @ts-expect-error neither is a turn
  defineHook({ name: 'i', decisions: ['retry'], beforeTurn: () => retry() }),
  // @ts-expect-error nobody is asked about what the model is sent
  defineHook({ name: 'j', decisions: ['ask'], beforeModel: () => ask('May I?') }),

  // What a rewrite of a phase is.
  // @ts-expect-error arguments are an object
  defineHook({ name: 'k', decisions: ['rewrite'], beforeTool: () => rewrite('ls') }),
  // @ts-expect-error a prompt is a text
  defineHook({ name: 'l', decisions: ['rewrite'], beforeTurn: () => rewrite({ prompt: 'x' }) }),
  // @ts-expect-error messages have texts
  defineHook({ name: 'm', decisions: ['rewrite'], beforeModel: () => rewrite([{ role: 'user' }]) }),

  // What is no answer.
  // @ts-expect-error a word is no verdict
  defineHook({ name: 'n', beforeTool: () => 'block' }),
  // @ts-expect-error a truth is none
  defineHook({ name: 'o', beforeTool: () => false }),
  // @ts-expect-error a block says why
  defineHook({ name: 'p', beforeTool: () => block() }),
  // @ts-expect-error it is for the system or the user
  defineHook({ name: 'q', decisions: ['inject'], beforeTurn: () => inject('Mind.', 'assistant') }),

  // What is no hook.
  // @ts-expect-error one hook has a name
  defineHook({ beforeTool: () => undefined }),
  // @ts-expect-error closed is a word of two
  defineHook({ name: 'r', onFailure: 'closed', beforeTool: () => undefined }),
  // @ts-expect-error there is no such phase
  defineHook({ name: 's', beforeAll: () => undefined }),
]

// Events are not to be changed.
defineHook({
  name: 'changes',
  beforeTool: event => {
    // @ts-expect-error frozen
    event.tool.name = 'ls'
    // @ts-expect-error frozen
    event.tool.arguments['command'] = 'ls'
  },
  beforeModel: ({ messages }) => {
    // @ts-expect-error frozen
    messages.push({ role: 'user', text: 'x' })
  },
  afterTool: (_, ctx) => {
    // @ts-expect-error not theirs
    ctx.metadata = {}
    ctx.state['mine'] = 5
  },
})

const typed: Hook<'block' | 'rewrite'> = { name: 'typed', decisions: ['rewrite'], beforeTurn: () => rewrite('x') }
const verdict: Verdict<'afterTool'> = retry()
// @ts-expect-error a tool that has run is asked about no more
const impossible: Verdict<'afterTool'> = ask('May I?')
const event: BeforeTool['tool']['paths'] = []

test('accepts valid code, and rejects the rest at compile time', () => {
  expect(createHooks(hooks.slice(0, 5)).hooks).toHaveLength(5)
  expect([typed.name, verdict.decision, impossible.decision, event.length]).toEqual(['typed', 'retry', 'ask', 0])
})

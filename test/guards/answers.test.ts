import { describe, expect, test } from 'vitest'
import type { AnyHook } from '../../src/guards/hook.ts'
import type { Phase } from '../../src/guards/phases.ts'
import type { Decision } from '../../src/guards/verdict.ts'
import { askIn, inWords } from './asking.ts'

const ALL: readonly Decision[] = ['block', 'rewrite', 'inject', 'retry', 'ask']

/** Answers that are none, and what the person reads of them. */
const NONSENSE: readonly [answer: unknown, line: string, phase?: Phase][] = [
  [null, 'it returned no verdict'],
  [false, 'it returned no verdict'],
  [true, 'it returned no verdict'],
  [0, 'it returned no verdict'],
  ['block', 'it returned no verdict'],
  [[], 'it returned no verdict'],
  [{}, 'it returned no verdict'],
  [() => ({ decision: 'block' }), 'it returned no verdict'],
  [{ decision: 5 }, 'it returned no verdict'],
  [{ decision: 'deny' }, 'it decided "deny", which is nothing that beforeTool can do'],
  [{ decision: 'toString' }, 'it decided "toString", which is nothing that beforeTool can do'],
  [{ decision: `${'x'.repeat(50)}` }, `it decided "${'x'.repeat(40)}", which is nothing that beforeTool can do`],
  [{ decision: 'a\nb' }, 'it decided "a b", which is nothing that beforeTool can do'],
  [{ decision: 'retry' }, 'it decided "retry", which is nothing that beforeTool can do'],
  [{ decision: 'ask', question: 'May I?' }, 'it decided "ask", which is nothing that afterTurn can do', 'afterTurn'],
  [{ decision: 'inject', role: 'user' }, 'its "inject" has no text'],
  [{ decision: 'inject', role: 'user', text: '' }, 'its "inject" has no text'],
  [{ decision: 'inject', role: 'user', text: 5 }, 'its "inject" has no text'],
  [{ decision: 'inject', role: 'assistant', text: 'Hi' }, 'its "inject" is neither for "system" nor for "user"'],
  [{ decision: 'inject', text: 'Hi' }, 'its "inject" is neither for "system" nor for "user"'],
  [{ decision: 'retry', delayMillis: -1 }, 'the delay of its "retry" is no number of milliseconds', 'afterModel'],
  [{ decision: 'retry', delayMillis: '5' }, 'the delay of its "retry" is no number of milliseconds', 'afterModel'],
  [
    { decision: 'retry', delayMillis: Number.NaN },
    'the delay of its "retry" is no number of milliseconds',
    'afterModel',
  ],
  [
    { decision: 'retry', delayMillis: Number.POSITIVE_INFINITY },
    'the delay of its "retry" is no number of milliseconds',
    'afterModel',
  ],
  [{ decision: 'pass', metadata: 'all of it' }, 'its metadata is not an object'],
  [{ decision: 'rewrite' }, 'its rewrite does not have the shape of the input'],
  [{ decision: 'rewrite', value: 'ls' }, 'its rewrite does not have the shape of the input'],
  [{ decision: 'rewrite', value: ['ls'] }, 'its rewrite does not have the shape of the input'],
  [{ decision: 'rewrite', value: null }, 'its rewrite does not have the shape of the input'],
  [{ decision: 'rewrite', value: new Map() }, 'its rewrite does not have the shape of the input'],
  [{ decision: 'rewrite', value: undefined }, 'its rewrite does not have the shape of the input', 'afterTool'],
  [{ decision: 'rewrite', value: 5 }, 'its rewrite does not have the shape of the input', 'beforeTurn'],
  [{ decision: 'rewrite', value: [] }, 'its rewrite does not have the shape of the input', 'beforeModel'],
  [
    { decision: 'rewrite', value: [{ role: 'user', text: 'a' }] },
    'its rewrite does not have the shape of the input',
    'beforeModel',
  ],
  [
    {
      decision: 'rewrite',
      value: [
        { role: 'user', text: 'a' },
        { role: 'system', text: 'b' },
      ],
    },
    'its rewrite does not have the shape of the input',
    'beforeModel',
  ],
]

/** Answers that break whoever reads them. */
const HOSTILE: Record<string, () => unknown> = {
  'a `then` that throws': () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    get then() {
      throw new Error('no then')
    },
  }),
  'a `then` that throws when it is called': () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    then() {
      throw new Error('no then')
    },
  }),
  'a decision that cannot be read': () => ({
    get decision() {
      throw new Error('not this')
    },
  }),
  'a reason that cannot be read': () => ({
    decision: 'block',
    get reason() {
      throw new Error('not this')
    },
  }),
  'a Proxy that refuses everything': () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error('nothing')
        },
      },
    ),
  'a Proxy that was taken away': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'metadata that cannot be read': () => ({
    decision: 'pass',
    metadata: new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('nothing')
        },
      },
    ),
  }),
  'a value that cannot be read': () => ({
    decision: 'rewrite',
    value: new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('nothing')
        },
      },
    ),
  }),
  'an error that cannot be read': () => {
    throw new Proxy(new Error('x'), {
      get() {
        throw new Error('nothing')
      },
    })
  },
  'an object without a prototype, thrown': () => {
    throw Object.create(null)
  },
  'nothing, thrown': () => {
    throw undefined
  },
}

function saying(answer: () => unknown, onFailure: 'pass' | 'block', phase: Phase, isLate = false): AnyHook {
  const hook = isLate ? async () => answer() : answer
  return { name: 'broken', decisions: ALL, onFailure, [phase]: hook } as AnyHook
}

/** Nothing of it may be in what the others see, and those behind are asked. */
function next(phase: Phase, seen: unknown[]): AnyHook {
  const look = (event: unknown, ctx: { metadata: unknown }): void => void seen.push(event, ctx.metadata)
  return { name: 'next', priority: 300, [phase]: look } as AnyHook
}

describe.each([
  ['at once', false],
  ['later', true],
] as const)('an invalid answer, %s', (_, isLate) => {
  test.each([...NONSENSE])('is reported for %j: %s', async (answer, line, phase: Phase = 'beforeTool') => {
    const open = await askIn(phase, [saying(() => answer, 'pass', phase, isLate)])
    expect(inWords(open.outcome)).toBe('pass')
    expect(open.lines).toEqual([`hook broken failed in ${phase}, which counts as pass: ${line}`])
    expect(open.outcome.runs).toMatchObject([{ verdict: 'failed', failure: 'nonsense', failureMessage: line }])

    const closed = await askIn(phase, [saying(() => answer, 'block', phase, isLate)])
    expect(inWords(closed.outcome)).toBe(
      'block by broken: The hook broken failed to check this, and is set to block on failure.',
    )
    expect(closed.outcome.detail).toBe(line)
    expect(closed.lines).toEqual([`hook broken failed in ${phase}, which counts as block: ${line}`])
  })

  test.each(Object.entries(HOSTILE))('is reported for %s', async (_, answer) => {
    const seen: unknown[] = []
    const open = await askIn('beforeTool', [saying(answer, 'pass', 'beforeTool', isLate), next('beforeTool', seen)])
    expect(inWords(open.outcome)).toBe('pass')
    expect(open.outcome.isRewritten).toBe(false)
    expect(open.lines).toHaveLength(1)
    expect(seen).toMatchObject([{ tool: { command: 'ls -l' } }, {}])
    const closed = await askIn('beforeTool', [saying(answer, 'block', 'beforeTool', isLate)])
    expect(closed.outcome.decision).toBe('block')
  })
})

test('survives a `then` that throws the second time', async () => {
  let reads = 0
  const answer = {
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    get then() {
      if (++reads > 1) throw new Error('no then')
      return () => undefined
    },
  }
  const { outcome, lines } = await askIn('beforeTool', [saying(() => answer, 'block', 'beforeTool')])
  expect(outcome.decision).toBe('block')
  expect(lines).toEqual(['hook broken failed in beforeTool, which counts as block: no then'])
})

test('decides nothing that the hook does not name in "decisions"', async () => {
  const hook = { name: 'quiet', decisions: [], beforeTool: () => ({ decision: 'block', reason: 'no' }) } as AnyHook
  const { outcome, lines } = await askIn('beforeTool', [hook])
  expect(inWords(outcome)).toBe('pass')
  expect(lines).toEqual([
    'hook quiet failed in beforeTool, which counts as pass: it decided "block", which its "decisions" does not name',
  ])
})

/** What was meant is plain: that no reason stands with it opens no door. */
test.each([
  [{ decision: 'block' }, 'block by short: The hook short has blocked this.'],
  [{ decision: 'block', reason: '' }, 'block by short: The hook short has blocked this.'],
  [{ decision: 'block', reason: ' \n' }, 'block by short: The hook short has blocked this.'],
  [{ decision: 'block', reason: 5 }, 'block by short: The hook short has blocked this.'],
  [{ decision: 'ask' }, 'ask by short: The hook short asks whether this may go on.'],
])('reads %j: %s', async (answer, words) => {
  const { outcome, lines } = await askIn('beforeTool', [saying(() => answer, 'pass', 'beforeTool')].map(named))
  expect(inWords(outcome)).toBe(words)
  expect(lines).toEqual([])
})

function named(hook: AnyHook): AnyHook {
  return { ...hook, name: 'short' }
}

test('reads a verdict once', async () => {
  let reads = 0
  const flip = {
    decision: 'block',
    get reason() {
      return ++reads === 1 ? 'No.' : { toString: () => 'Yes.' }
    },
  }
  const { outcome } = await askIn('beforeTool', [saying(() => flip, 'block', 'beforeTool')])
  expect(inWords(outcome)).toBe('block by broken: No.')
  const decisions = ['block', 'pass', 'pass', 'pass', 'pass']
  const turning = {
    reason: 'No.',
    get decision() {
      return decisions.shift()
    },
  }
  expect(inWords((await askIn('beforeTool', [saying(() => turning, 'pass', 'beforeTool')])).outcome)).toBe(
    'block by broken: No.',
  )
})

test('reports a failure to the user in one line, without secrets', async () => {
  const token = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40)
  const hook: AnyHook = {
    name: 'loud',
    beforeTool: () => {
      throw new Error(`cannot push\n\u001b[31mwith ${token}\u001b[0m ${'and so on '.repeat(100)}`)
    },
  }
  const { outcome, lines } = await askIn('beforeTool', [hook])
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^hook loud failed in beforeTool, which counts as pass: cannot push with \[REDACTED\] and so/,
  )
  expect(lines[0]!.length).toBeLessThan(400)
  expect(JSON.stringify(outcome)).not.toContain(token)
})

test('counts a failure even if the logger throws', async () => {
  const hook = saying(() => 'nonsense', 'block', 'beforeTool')
  const logger = {
    info() {},
    warn() {
      throw new Error('nobody listens')
    },
  }
  expect((await askIn('beforeTool', [hook], { logger })).outcome.decision).toBe('block')
  const late = saying(() => 'nonsense', 'block', 'beforeTool', true)
  expect((await askIn('beforeTool', [late], { logger })).outcome.decision).toBe('block')
})

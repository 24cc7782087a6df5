import { expect, test } from 'vitest'
import { type LoopGuardOptions, loopGuard } from '../../../src/guards/builtin/index.ts'
import { Agent } from './steps.ts'

type Call = readonly [name: string, args: Record<string, unknown>, id?: string]

async function made(calls: readonly Call[], options?: LoopGuardOptions): Promise<string> {
  const agent = new Agent(loopGuard(options))
  const words: string[] = []
  for (const call of calls) words.push((await agent.call(...call)).startsWith('block') ? 'x' : '.')
  return words.join('')
}

const LS: Call = ['ls', { path: 'src' }]
const other = (at: number): Call => ['ls', { path: `${at}` }]

const RUNS: Record<string, readonly [calls: readonly Call[], made: string, options?: LoopGuardOptions]> = {
  'three times may be, the fourth not, nor the fifth': [[LS, LS, LS, LS, LS], '...xx'],
  'other arguments are another call': [[LS, other(1), LS, other(2), LS, other(3)], '......'],
  'another tool is, too': [[LS, ['find', { path: 'src' }], LS, ['find', { path: 'src' }], LS], '.....'],
  'the order of keys is nothing': [
    [
      ['w', { a: 1, b: { c: 1, d: 2 } }],
      ['w', { b: { d: 2, c: 1 }, a: 1 }],
    ],
    '.x',
    { repeats: 1 },
  ],
  'the order of a list is something': [
    [
      ['w', { a: [1, 2] }],
      ['w', { a: [2, 1] }],
    ],
    '..',
    { repeats: 1 },
  ],
  'a text is not the number that it shows': [
    [
      ['w', { a: 1 }],
      ['w', { a: '1' }],
    ],
    '..',
    { repeats: 1 },
  ],
  'what lies further back is not counted': [
    [LS, other(1), other(2), LS, other(3), other(4), LS],
    '.......',
    { repeats: 1, within: 3 },
  ],
  'what does not is': [[LS, other(1), LS], '..x', { repeats: 1, within: 3 }],
  'between others, too': [[LS, other(1), LS, other(2), LS, other(3), LS], '......x'],
  'a call about which is asked again counts once': [
    [
      ['ls', {}, 'c1'],
      ['ls', {}, 'c1'],
      ['ls', {}, 'c1'],
      ['ls', {}, 'c2'],
      ['ls', {}, 'c3'],
    ],
    '....x',
    { repeats: 2 },
  ],
}

test.each(Object.entries(RUNS))('stops a loop: %s', async (_, [calls, words, options]) => {
  expect(await made(calls, options)).toBe(words)
})

test('counts parallel calls before they run', async () => {
  const agent = new Agent(loopGuard({ repeats: 2 }))
  const words = await Promise.all(Array.from({ length: 6 }, (_, at) => agent.call('ls', {}, `c${at}`)))
  expect(words.filter(each => each === 'pass')).toHaveLength(2)
})

test('counts each turn by itself, and gives the model advice', async () => {
  const agent = new Agent(loopGuard({ repeats: 1 }))
  await agent.call('ls')
  expect(await agent.call('ls')).toBe(
    'block by loop-guard: ls has been called with the same arguments 2 times. It will not come to anything else: take another way, or say what is in the way.',
  )
  agent.turn('t2')
  expect(await agent.call('ls')).toBe('pass')
})

test('accepts cyclic arguments', async () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  expect(
    await made(
      [
        ['w', circle],
        ['w', circle],
      ],
      { repeats: 1 },
    ),
  ).toBe('.x')
})

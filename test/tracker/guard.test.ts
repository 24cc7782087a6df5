import { expect, test } from 'vitest'
import { Guard } from '../../src/tracker/guard.ts'

function guarded(clean: (text: string) => string = text => text): { guard: Guard; lines: string[] } {
  const lines: string[] = []
  const add = (line: string): void => void lines.push(line)
  return { guard: new Guard({ warn: add, error: add, debug: () => undefined }, clean), lines }
}

function failing(error: unknown): () => never {
  return () => {
    throw error
  }
}

test('returns the result', () => {
  const { guard, lines } = guarded()
  expect(guard.run('site', () => 42, 0)).toBe(42)
  expect(guard.call('site', (one: number, two: number, three: number) => one + two + three, 0, 1, 2, 3)).toBe(6)
  expect([guard.count, lines]).toEqual([0, []])
})

test('returns the fallback if the body throws, counts it, and reports it once', () => {
  const { guard, lines } = guarded()
  const fail = failing(new TypeError('odd'))
  for (let round = 0; round < 3; round += 1) expect(guard.run('pre_tool_call', fail, 7)).toBe(7)
  expect(guard.call('pre_tool_call', fail, 7, 1, 2, 3)).toBe(7)
  expect(guard.count).toBe(4)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('pre_tool_call')
  expect(lines[0]).toContain('TypeError')
})

test('reports another line for another place or cause', () => {
  const { guard, lines } = guarded()
  guard.run('a', failing(new Error('one')), undefined)
  guard.run('b', failing(new Error('one')), undefined)
  guard.run('a', failing(new RangeError('one')), undefined)
  expect(lines).toHaveLength(3)
})

test('reports a hundred causes, and counts the rest', () => {
  const { guard, lines } = guarded()
  for (let cause = 0; cause < 300; cause += 1) guard.run(`site ${cause}`, failing(new Error('x')), undefined)
  expect(lines).toHaveLength(100)
  expect(guard.count).toBe(300)
})

test('reports type and place, not the message, nor an imitated place', () => {
  const { guard, lines } = guarded()
  const quoting = 'she wrote\n    at her (words-of-the-user.ts:7:1)'
  guard.run('site', failing(new TypeError(quoting)), undefined)
  expect(lines.join()).toContain('TypeError')
  expect(lines.join()).not.toContain('words-of-the-user')
})

// Each takes minutes where a pattern looks for the place in what the error says.
test.each([
  ['line ends', `${'\n'.repeat(50_000)}x`],
  ['line ends and blanks', `${'\n '.repeat(50_000)}x`],
  ['a place without end', `\n    at ${'x'.repeat(100_000)}`],
  ['many places', '\n    at x (y'.repeat(10_000)],
])(
  'bounds the text of an error: %s',
  (_what, message) => {
    const { guard, lines } = guarded()
    expect(guard.run('site', failing(new Error(message)), 1)).toBe(1)
    expect(lines.join().length).toBeLessThan(500)
  },
  5000,
)

const unreadable = Object.defineProperty(new Error('x'), 'message', { get: failing(new Error('even this')) })

test.each([
  ['text', 'just text'],
  ['undefined', undefined],
  ['null', null],
  ['a symbol', Symbol('odd')],
  ['an object', { some: 'thing' }],
  ['an object that cannot be text', Object.create(null)],
  ['an error whose message throws', unreadable],
  ['a Proxy of which every trap throws', new Proxy({}, { get: failing(1), getPrototypeOf: failing(1) })],
])('accepts a thrown %s', (_what, thrown) => {
  const { guard, lines } = guarded()
  expect(guard.run('site', failing(thrown), 'fallback')).toBe('fallback')
  expect(guard.count).toBe(1)
  expect(lines).toHaveLength(1)
})

test('loses only the description if the cleaner fails', () => {
  const { guard, lines } = guarded(failing(new Error('cleaner')))
  expect(guard.run('site', failing(new Error('x')), 1)).toBe(1)
  expect(lines).toHaveLength(1)
})

import { expect, test } from 'vitest'
import type { SpanKindName } from '../../src/contract/index.ts'
import { ParentStack } from '../../src/core/parent-stack.ts'
import { newSession, type OpenSpan } from '../../src/core/turn.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'

const turn = turnOf(newSession('s', 'host', 's'))

function stackOf(...kinds: SpanKindName[]): { stack: ParentStack; spans: OpenSpan[] } {
  const stack = new ParentStack()
  const spans = kinds.map(kind => openSpan(kind, turn))
  for (const span of spans) stack.push(span)
  return { stack, spans }
}

test('the innermost of a kind is the one that was opened last', () => {
  const { stack, spans } = stackOf('session', 'llm', 'api', 'tool', 'api', 'tool')
  expect(stack.innermost('api')).toBe(spans[4])
  expect(stack.innermost('session')).toBe(spans[0])
  expect(stack.innermost('skill')).toBeUndefined()
})

test('an end takes off exactly itself, wherever it stands', () => {
  const { stack, spans } = stackOf('session', 'tool', 'tool', 'tool')
  const middle = spans[2] as OpenSpan
  expect(stack.remove(middle)).toBe(true)
  expect(stack.all()).toEqual([spans[3], spans[1], spans[0]])
  expect(stack.innermost('tool')).toBe(spans[3])
})

test('an end that is not there takes nobody off', () => {
  const { stack, spans } = stackOf('session', 'tool')
  expect(stack.remove(openSpan('tool', turn))).toBe(false)
  expect(stack.remove(spans[1] as OpenSpan)).toBe(true)
  expect(stack.remove(spans[1] as OpenSpan)).toBe(false)
  expect(stack.size).toBe(1)
})

test('what is open is told innermost first, as it was when it was asked for', () => {
  const { stack, spans } = stackOf('session', 'llm', 'tool')
  for (const open of stack.all()) stack.remove(open)
  expect(stack.size).toBe(0)
  expect(stack.bottom()).toBeUndefined()
  const { stack: other } = stackOf('session', 'llm', 'tool')
  expect(other.all(open => open.kind !== 'session').map(open => open.kind)).toEqual(['tool', 'llm'])
  expect(spans).toHaveLength(3)
})

test('knows both of its ends', () => {
  const { stack, spans } = stackOf('session', 'llm')
  expect([stack.bottom(), stack.size]).toEqual([spans[0], 2])
})

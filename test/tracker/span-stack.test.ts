import { expect, test } from 'vitest'
import type { SpanKindName } from '../../src/contract/index.ts'
import { SpanStack } from '../../src/tracker/span-stack.ts'
import { TrackedSession, type TrackedSpan } from '../../src/tracker/turn.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'
import fc from '../support/fast-check.ts'

const turn = turnOf(new TrackedSession('s', 'host', 's'))

function stackOf(...kinds: SpanKindName[]): { stack: SpanStack<TrackedSpan>; spans: TrackedSpan[] } {
  const stack = new SpanStack<TrackedSpan>()
  const spans = kinds.map(kind => openSpan(kind, turn))
  for (const span of spans) stack.push(span)
  return { stack, spans }
}

test('returns the last span opened as the innermost of a kind', () => {
  const { stack, spans } = stackOf('session', 'llm', 'api', 'tool', 'api', 'tool')
  expect(stack.innermost('api')).toBe(spans[4])
  expect(stack.innermost('session')).toBe(spans[0])
  expect(stack.innermost('skill')).toBeUndefined()
})

test('removes exactly its own span at an end', () => {
  const { stack, spans } = stackOf('session', 'tool', 'tool', 'tool')
  const middle = spans[2] as TrackedSpan
  expect(stack.remove(middle)).toBe(true)
  expect(stack.all()).toEqual([spans[3], spans[1], spans[0]])
  expect(stack.innermost('tool')).toBe(spans[3])
})

test('removes nothing at an unknown end', () => {
  const { stack, spans } = stackOf('session', 'tool')
  expect(stack.remove(openSpan('tool', turn))).toBe(false)
  expect(stack.remove(spans[1] as TrackedSpan)).toBe(true)
  expect(stack.remove(spans[1] as TrackedSpan)).toBe(false)
  expect(stack.size).toBe(1)
})

test('lists open spans innermost first, as a copy', () => {
  const { stack, spans } = stackOf('session', 'llm', 'tool')
  for (const open of stack.all()) stack.remove(open)
  expect(stack.size).toBe(0)
  expect(stack.outermostBut(undefined)).toBeUndefined()
  const { stack: other } = stackOf('session', 'llm', 'tool')
  expect(other.all(open => open.kind !== 'session').map(open => open.kind)).toEqual(['tool', 'llm'])
  expect(spans).toHaveLength(3)
})

test('finds the outermost past the root', () => {
  const { stack, spans } = stackOf('session', 'llm', 'tool')
  expect(stack.outermostBut(spans[0])).toBe(spans[1])
  expect(stack.outermostBut(spans[1])).toBe(spans[0])
  expect(stack.outermostBut(undefined)).toBe(spans[0])
})

const NAMES: ReadonlySet<string> = new Set(['delegate_task', 'task'])

test('finds a tool by name if it is the only one of these names', () => {
  const stack = new SpanStack<TrackedSpan>()
  const named = (tool_name: unknown): TrackedSpan => openSpan('tool', turn, { start: { tool_name } })
  const [first, second] = [named('Delegate_Task'), named('task')]
  for (const open of [openSpan('session', turn), named('terminal'), first, openSpan('api', turn)]) stack.push(open)
  expect(stack.onlyToolNamed(NAMES)).toBe(first)
  stack.push(second)
  expect(stack.onlyToolNamed(NAMES)).toBeUndefined()
  stack.remove(first)
  expect(stack.onlyToolNamed(NAMES)).toBe(second)
  expect(stack.onlyToolNamed(new Set(['terminal']))?.start).toEqual({ tool_name: 'terminal' })
})

/** What the stack says it is, without any care for cost. */
class Model {
  readonly spans: TrackedSpan[] = []

  remove(open: TrackedSpan): boolean {
    const at = this.spans.indexOf(open)
    if (at >= 0) this.spans.splice(at, 1)
    return at >= 0
  }

  onlyToolNamed(names: ReadonlySet<string>): TrackedSpan | undefined {
    const found = this.spans.filter(({ kind, start }) => {
      return kind === 'tool' && names.has((start as { tool_name: string }).tool_name)
    })
    return found.length === 1 ? found[0] : undefined
  }
}

const KINDS = ['session', 'llm', 'api', 'tool', 'subagent'] as const
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom(...KINDS), tool: fc.constantFrom('task', 'terminal', 'delegate_task') }),
  fc.record({ end: fc.nat(40) }),
  fc.constant('ask' as const),
)

test('gives the same answers as a plain list for any sequence', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const stack = new SpanStack<TrackedSpan>()
      const model = new Model()
      const started: TrackedSpan[] = []
      for (const one of steps) {
        if (one === 'ask') expect(stack.onlyToolNamed(NAMES)).toBe(model.onlyToolNamed(NAMES))
        else if ('kind' in one) {
          const open = openSpan(one.kind, turn, { start: { tool_name: one.tool } })
          started.push(open)
          stack.push(open)
          model.spans.push(open)
        } else {
          // Also one that has ended already.
          const open = started[one.end % Math.max(1, started.length)] ?? openSpan('tool', turn)
          expect(stack.remove(open)).toBe(model.remove(open))
        }
        expect(stack.size).toBe(model.spans.length)
        expect(stack.all()).toEqual(model.spans.toReversed())
        expect(stack.outermostBut(undefined)).toBe(model.spans[0])
        expect(stack.outermostBut(started[0])).toBe(model.spans.find(open => open !== started[0]))
        for (const kind of KINDS) expect(stack.innermost(kind)).toBe(model.spans.findLast(open => open.kind === kind))
      }
    }),
  )
})

test('visits few spans at a start and an end, however many are open', () => {
  let looks = 0
  const watched = (kind: SpanKindName): TrackedSpan => {
    const start = { tool_name: 'terminal' }
    return Object.defineProperty(openSpan(kind, turn, { start }), 'kind', {
      get() {
        looks += 1
        return kind
      },
    })
  }
  const stack = new SpanStack<TrackedSpan>()
  stack.push(openSpan('session', turn))
  const open = Array.from({ length: 1000 }, () => watched('tool'))
  for (const one of open) stack.push(one)
  stack.onlyToolNamed(NAMES)
  looks = 0
  for (const one of open) {
    stack.innermost('api')
    stack.innermost('session')
    stack.onlyToolNamed(NAMES)
    stack.push(watched('tool'))
    const oldest = stack.outermostBut(undefined)
    if (oldest !== undefined) stack.remove(oldest)
    stack.remove(one)
  }
  expect(looks).toBeLessThan(10 * open.length)
})

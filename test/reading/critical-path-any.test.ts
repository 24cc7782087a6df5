/** Whatever the spans are, and however many: the critical path comes to an end, and adds up. */
import { describe, expect, test } from 'vitest'
import { criticalPath, pathSums } from '../../src/reading/critical-path.ts'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import fc from '../support/fast-check.ts'
import { times } from '../support/sample.ts'
import { type Kind, note, treeOf } from './kind-notes.ts'
import { storedSpans, TURN_AT } from './sample-turn.ts'

describe('the path of many spans', () => {
  const COUNT = times(800, 30_000)
  const [TEMPLATE] = storedSpans(note('s', '', 'tool', 0, 0))
  type Place = readonly [parent: string, kind: Kind, from: number, to: number]

  function many(place: (index: number) => Place): TraceTree {
    const spans = Array.from({ length: COUNT }, (_, index): StoredSpan => {
      const [parentSpanId, kind, from, to] = place(index)
      const span = { ...(TEMPLATE as StoredSpan), spanId: `s${index}`, startAt: TURN_AT + from, endAt: TURN_AT + to }
      return { ...span, ...(index > 0 && { parentSpanId }), attributes: { 'hermes.span.kind': kind } }
    })
    return buildForest(spans)[0] as TraceTree
  }

  const flat = (place: (index: number) => readonly [Kind, number, number]): TraceTree =>
    many(index => (index === 0 ? ['', 'session', 0, COUNT] : ['s0', ...place(index)]))

  // Whoever comes back to the parent, or looks through all siblings, for each of them, is at it for hours.
  test.each<[string, () => TraceTree]>([
    ['behind one another', () => flat(index => ['tool', index, index + 1])],
    ['all at once', () => flat(index => ['tool', 0, COUNT - index])],
    ['of no length', () => flat(() => ['tool', 5, 5])],
    ['unknown spans at once', () => flat(index => ['other', index, COUNT])],
    [
      'requests and what they asked for',
      () =>
        many(index => {
          if (index === 0) return ['', 'session', 0, COUNT]
          return index % 2 === 0 ? [`s${index - 1}`, 'tool', index, index + 1] : ['s0', 'api', index, index + 1]
        }),
    ],
    ['in one another', () => many(index => [`s${index - 1}`, 'tool', index, 2 * COUNT - index])],
    ['each beyond the one that it is in', () => many(index => [`s${index - 1}`, 'tool', index, index + 3])],
  ])('terminates: %s', (_, make) => {
    const sections = criticalPath(make())
    expect(sections.length).toBeGreaterThan(0)
    expect(sections.length).toBeLessThanOrEqual(2 * COUNT + 1)
  })
})

describe('arbitrary spans', () => {
  const kinds: readonly Kind[] = [
    'session',
    'llm',
    'api',
    'tool',
    'subagent',
    'approval',
    'hook',
    'skill',
    'auxiliary',
    'other',
  ]
  const spans = fc
    .array(
      fc.record({
        kind: fc.constantFrom(...kinds),
        parent: fc.nat(14),
        from: fc.integer({ min: 0, max: 40 }),
        length: fc.integer({ min: -2, max: 30 }),
      }),
      { minLength: 1, maxLength: 14 },
    )
    .map(given =>
      given.map(({ kind, parent, from, length }, index) => note(`s${index}`, `s${parent}`, kind, from, from + length)),
    )

  test('has consecutive sections, inside of the root, that cover it', () => {
    const root = fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 40 }))
    fc.assert(
      fc.property(spans, root, (notes, [from, length]) => {
        const below = notes.map(each => (each.parent === each.id ? { ...each, parent: 'root' } : each))
        const tree = treeOf(note('root', '', 'session', from, from + length), ...below)
        fc.pre(tree.roots.length === 1)
        const sections = criticalPath(tree)
        let cursor = TURN_AT + from
        for (const { startAt, endAt } of sections) {
          expect(startAt).toBe(cursor)
          expect(endAt).toBeGreaterThan(startAt)
          cursor = endAt
        }
        expect(cursor).toBe(TURN_AT + from + length)
        expect(pathSums(sections).reduce((sum, [, millis]) => sum + millis, 0)).toBe(length)
      }),
    )
  })

  test('lies within the trace and within its spans, also without a root, and with cycles', () => {
    fc.assert(
      fc.property(spans, notes => {
        const tree = treeOf(...notes)
        let cursor = tree.startAt
        for (const { span, startAt, endAt } of criticalPath(tree)) {
          expect(startAt).toBeGreaterThanOrEqual(cursor)
          expect(startAt).toBeGreaterThanOrEqual(span.startAt)
          expect(endAt).toBeLessThanOrEqual(Math.max(span.startAt, span.endAt))
          expect(endAt).toBeGreaterThan(startAt)
          cursor = endAt
        }
        expect(cursor).toBeLessThanOrEqual(tree.endAt)
      }),
    )
  })
})

import { describe, expect, test } from 'vitest'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest, walkTree } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import fc from '../support/fast-check.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

function note(id: string, parent?: string, from = 0, more: Partial<SpanNote> = {}): SpanNote {
  return { id, name: id, from, to: from + 1, ...(parent !== undefined && { parent }), ...more }
}

/** Every tree as text, names and flags only. */
function drawn(...notes: readonly SpanNote[]): string {
  return buildForest(storedSpans(...notes))
    .map(tree => outline(tree, { status: false }))
    .join('\n')
}

function placed(spans: Iterable<StoredSpan>): string[] {
  return buildForest(spans).flatMap(tree =>
    Array.from(walkTree(tree), ({ node }) => node.span.traceId + node.span.spanId),
  )
}

describe('buildForest', () => {
  test('puts the sample turn together', () => {
    const [tree, ...others] = buildForest(storedSpans(...SAMPLE_TURN))
    expect(others).toEqual([])
    expect(tree).toMatchObject({ spanCount: 13, startAt: 1795256100000, endAt: 1795256114150 })
    expect(tree && outline(tree)).toBe(
      `
agent OK
  llm.qwen3-coder-30b OK
    api.qwen3-coder-30b ERROR RateLimitError
    api.qwen3-coder-30b OK
      tool.terminal OK
        approval.rm_rf OK
      tool.read_file OK
      tool.delegate_task OK
        subagent.leaf OK
          agent OK
            llm.qwen3-coder-30b OK
              api.qwen3-coder-30b OK
    api.qwen3-coder-30b OK`.trim(),
    )
  })

  test('sorts children by start, and those of one start by arrival', () => {
    expect(drawn(note('b', 'r', 5), note('z', 'r', 3), note('a', 'r', 5), note('r'))).toBe('r\n  z\n  b\n  a')
  })

  test.each<[string, SpanNote['attributes']]>([
    [
      'messages',
      {
        'gen_ai.output.messages': JSON.stringify([
          {
            role: 'assistant',
            parts: [{ type: 'text' }, { type: 'tool_call', id: 'c1' }, { type: 'tool_call', id: 'c2' }],
          },
        ]),
      },
    ],
    [
      'a list',
      {
        'llm.output_messages.0.message.tool_calls.1.tool_call.id': 'c2',
        'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'c1',
      },
    ],
  ])('sorts calls of one start in the order of the answer, stored as %s', (_, answer) => {
    const call = (id: string, from: number): SpanNote =>
      note(id, 'r', from, { attributes: { 'gen_ai.tool.call.id': id } })
    const calls = [note('x', 'r', 5), call('c2', 5), call('c1', 5), call('c0', 4)]
    expect(drawn(...calls, note('r', undefined, 0, { attributes: answer ?? {} }))).toBe('r\n  c0\n  c1\n  c2\n  x')
    expect(drawn(...calls, note('r'))).toBe('r\n  c0\n  x\n  c2\n  c1')
  })

  test.each(['', '{}', '[', '[null, {"parts": 7}, {"parts": [null, {"id": 3}]}]'])(
    'survives an answer that is %j',
    answer => {
      const call = (id: string): SpanNote => note(id, 'r', 5, { attributes: { 'gen_ai.tool.call.id': id } })
      const request = note('r', undefined, 0, { attributes: { 'gen_ai.output.messages': answer } })
      expect(drawn(call('b'), call('a'), request)).toBe('r\n  b\n  a')
    },
  )

  test('keeps traces apart, in the order of their starts', () => {
    const forest = buildForest(
      storedSpans(note('a', undefined, 9, { trace: 't2' }), note('a', undefined, 4, { trace: 't1' })),
    )
    expect(forest.map(({ traceId }) => traceId)).toEqual(['t1', 't2'])
  })

  test('keeps the last of two spans with one id', () => {
    expect(drawn(note('a', undefined, 0, { name: 'first' }), note('a', undefined, 0, { name: 'second' }))).toBe(
      'second',
    )
  })

  test('makes a span with a missing parent a marked root', () => {
    expect(drawn(note('r', undefined, 0), note('lost', 'gone', 1), note('child', 'lost', 2))).toBe(
      'r\nlost (parent missing)\n  child',
    )
  })

  test.each([
    ['its own parent', [note('a', 'a')], 'a (parent missing)'],
    ['two in a circle', [note('b', 'a', 2), note('a', 'b', 1)], 'a (parent missing)\n  b'],
    [
      'a circle with a tail',
      [note('t', 'c', 9), note('c', 'b', 3), note('b', 'a', 2), note('a', 'c', 1), note('r', undefined, 0)],
      'r\na (parent missing)\n  b\n    c\n      t',
    ],
  ])('opens %s', (_, notes, expected) => {
    expect(drawn(...notes)).toBe(expected)
  })

  test('survives ten thousand levels, and as many children', () => {
    const deep = Array.from({ length: 10_000 }, (_, index) =>
      note(`s${index}`, index === 0 ? undefined : `s${index - 1}`, index),
    )
    const [tree] = buildForest(storedSpans(...deep))
    const steps = tree === undefined ? [] : Array.from(walkTree(tree))
    expect(steps.at(-1)?.depth).toBe(9_999)
    const wide = [note('r'), ...Array.from({ length: 10_000 }, (_, index) => note(`s${index}`, 'r', index))]
    expect(buildForest(storedSpans(...wide))[0]?.roots[0]?.children).toHaveLength(10_000)
  })

  test('includes every span exactly once, in any order and with any repetition', () => {
    const id = fc.integer({ min: 1, max: 12 }).map(String)
    const anyNote = fc.record({
      id,
      parent: id,
      trace: fc.constantFrom('t1', 't2'),
      from: fc.integer({ min: 0, max: 5 }),
    })
    fc.assert(
      fc.property(fc.array(anyNote, { maxLength: 40 }), notes => {
        const spans = storedSpans(...notes.map(each => ({ ...each, name: 'x', to: 9 })))
        const expected = [...new Set(spans.map(span => span.traceId + span.spanId))]
        expect(placed(spans).sort()).toEqual(expected.sort())
      }),
    )
  })

  test('has a shape independent of the order of arrival', () => {
    const notes = SAMPLE_TURN.map((each, index) => ({ ...each, from: each.from + index / 1000 }))
    const expected = drawn(...notes)
    fc.assert(
      fc.property(fc.shuffledSubarray(notes, { minLength: notes.length }), shuffled => {
        expect(drawn(...shuffled)).toBe(expected)
      }),
    )
  })
})

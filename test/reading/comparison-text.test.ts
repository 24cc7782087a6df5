/** What is said of two turns: for people, and for programs. */
import { describe, expect, test } from 'vitest'
import { compareTraces, comparisonJson } from '../../src/reading/compare-traces.ts'
import { renderComparison } from '../../src/reading/comparison-text.ts'
import { displayWidth } from '../../src/reading/display-width.ts'
import fc, { ANY_CHARACTER } from '../support/fast-check.ts'
import { type Step, text, told, turn, used } from './turn-notes.ts'

describe('the text', () => {
  test('counts equal steps, and calls of one tool that one side alone made', () => {
    const many = (count: number, name: string): Step[] =>
      Array.from({ length: count }, (_, index) => [`tool.${name}`, told({ path: `${name}${index}` })])
    const a = turn('aaaa', [...many(9, 'read'), ...many(6, 'grep'), ['tool.end']])
    const b = turn('bbbb', [...many(9, 'read'), ['tool.end']])
    const lines = text([a], [b], 60).split('\n')
    expect(
      lines.slice(
        lines.findIndex(line => line.startsWith('= turn')),
        -1,
      ),
    ).toEqual([
      '= turn                                         1.6 s   1.0 s',
      '=   read  {"path":"read0"}                    100 ms  100 ms',
      '=   … 7 steps alike                           700 ms  700 ms',
      '=   read  {"path":"read8"}                    100 ms  100 ms',
      '-   grep  ×6                                  600 ms       –',
      '=   end                                       100 ms  100 ms',
    ])
  })

  const hostile = fc.oneof(
    fc.string({ unit: ANY_CHARACTER }),
    fc.constantFrom(
      '\x1b[2J',
      '\u202eevil',
      '日本語'.repeat(40),
      '{"a":"\x1b]0;t\x07"}',
      '\x9b31m',
      '[[[',
      'x\ny\r\nz',
    ),
  )

  test('fits its width, and acts on no terminal', () => {
    const step = fc.tuple(hostile, hostile).map(([name, argument]): Step => {
      return [`tool.${name}`, { attributes: { 'gen_ai.tool.name': name, 'gen_ai.tool.call.arguments': argument } }]
    })
    const steps = fc.array(step, { maxLength: 4 })
    fc.assert(
      fc.property(steps, steps, hostile, fc.integer({ min: 0, max: 150 }), (inA, inB, prompt, width) => {
        const trees = [turn('aaaa', inA, { attributes: { 'input.value': prompt } })]
        const drawn = renderComparison(compareTraces(trees, [turn('bbbb', inB)]), { width, color: false })
        expect(drawn).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\p{Cs}/u)
        for (const line of drawn.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(20, width))
      }),
    )
  })
})

test('includes every step as JSON, with the whole difference', () => {
  const a = turn('aaaa', [['api.m', used(10, 2)], ['tool.edit', told({ path: 'a' })], ['tool.ls']])
  const b = turn('bbbb', [
    ['api.m', used(20, 3)],
    ['tool.edit', told({ path: 'b\u202e' })],
  ])
  const line = comparisonJson(compareTraces([a], [b]))
  expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  const { first_difference, steps, a: sideA } = JSON.parse(line)
  expect(first_difference).toBe(2)
  expect(sideA).toMatchObject({
    agent: 'toy',
    models: ['m'],
    tokens: { input: 10, output: 2 },
    tools: 2,
    duration_ms: 300,
  })
  expect(steps.map((step: { in: string }) => step.in)).toEqual(['both', 'both', 'both', 'a'])
  expect(steps[2]).toMatchObject({
    depth: 1,
    differences: ['arguments'],
    argument_diff: ['- path: "a"', '+ path: "b\u202e"'],
    a: { kind: 'tool', name: 'edit', trace_id: 'aaaa', span_id: 'aaaa1', duration_ms: 100 },
  })
})

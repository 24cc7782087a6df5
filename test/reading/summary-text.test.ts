import { expect, test } from 'vitest'
import { renderSummary } from '../../src/reading/summary-text.ts'
import type { SpanNote } from './sample-turn.ts'
import { turn, used } from './turn-notes.ts'

function paid(dollars: number, more: Partial<SpanNote> = {}): Partial<SpanNote> {
  return { ...more, attributes: { ...used(1_000, 20).attributes, 'llm.cost.total': dollars } }
}

const CHAT = { 'input.value': 'Why does\nCI fail?', 'output.value': 'The cache is cold.' }

test('has the question, the answer, the cost, the tokens and the critical path', () => {
  const tree = turn(
    'a',
    [
      ['api.large', paid(0.25)],
      ['approval.push', { to: 400, attributes: { 'hermes.span.kind': 'approval' } }],
      ['api.small', paid(0.5, { from: 500, to: 600 })],
    ],
    { to: 600, attributes: CHAT },
  )
  expect(`\n${renderSummary(tree)}\n`).toBe(`
  Question  Why does CI fail?
  Answer    The cache is cold.
  Cost      $0.7500 (small $0.5000, large $0.2500)
  Usage     2 000 → 40 tokens
  Time      600 ms: model 200 ms, you 300 ms, untraced 100 ms
  Slowest   approval.push 300 ms
`)
})

test('leaves out what is not recorded', () => {
  expect(renderSummary(turn('a', [['tool.ls']]))).toBe('  Time      100 ms: tools 100 ms\n  Slowest   tool.ls 100 ms')
})

test('limits a long answer, and fits its width', () => {
  const attributes = { ...CHAT, 'output.value': 'word '.repeat(200) }
  const lines = renderSummary(turn('a', [], { to: 100, attributes }), { width: 40 }).split('\n')
  expect(lines[0]).toBe('  Question  Why does CI fail?')
  expect(lines.slice(1, 5).map(line => line.slice(0, 16))).toEqual([
    '  Answer    word',
    '            word',
    '            word',
    '            word',
  ])
  expect(lines[4]).toMatch(/^ {12}word .*…$/)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(40)
})

test('has no effect on the terminal by hostile text', () => {
  const attributes = { ...CHAT, 'output.value': '\u001b[2Jgone\u202e' }
  expect(renderSummary(turn('a', [['tool.\u001b[2J']], { attributes }))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
})

/** What requests cost, where they say it: in their rows, and each once in the sums. */
import { expect, test } from 'vitest'
import { compareTraces, comparisonJson } from '../../src/reading/compare-traces.ts'
import { renderComparison } from '../../src/reading/comparison-text.ts'
import { humanCost } from '../../src/reading/human-figures.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { treeJson } from '../../src/reading/tree-json.ts'
import { renderTotals, renderTree } from '../../src/reading/tree-text.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

const COSTS: Readonly<Record<string, number>> = {
  '0000000000000004': 0.0125,
  '000000000000000c': 0.002,
  '000000000000000d': 0.0005,
}

/** The sample turn, of which these requests say what they cost; `c` is that of the sub-agent. */
function turn(costs: Readonly<Record<string, number>>): TraceTree {
  const notes = SAMPLE_TURN.map(note => {
    const cost = costs[note.id]
    return cost === undefined ? note : { ...note, attributes: { ...note.attributes, 'llm.cost.total': cost } }
  })
  return treeOf(notes)
}

function treeOf(notes: readonly SpanNote[]): TraceTree {
  const [tree] = buildForest(storedSpans(...notes))
  if (tree === undefined) throw new Error('no tree')
  return tree
}

test('appears in the rows of requests and once in the header', () => {
  const lines = renderTree(turn(COSTS), { width: 160 }).split('\n')
  expect(lines[1]).toContain(' in sub-agents · $0.0150 · 13 spans')
  const rows = lines.filter(line => line.includes('$')).slice(1)
  expect(rows.map(row => /(\w+\.)\S+ .*(\$\S+)/.exec(row)?.slice(1))).toEqual([
    ['api.', '$0.0125'],
    ['api.', '$0.0020'],
    ['api.', '$0.0005'],
  ])
})

test('is summed over traces', () => {
  expect(renderTotals([turn(COSTS), turn(COSTS)])).toContain(' · $0.0300 · 26 spans')
})

test('is not counted again where an outer span repeats it', () => {
  const repeated = { ...COSTS, '0000000000000001': 0.015, '000000000000000a': 0.002, '0000000000000002': 0.013 }
  const text = renderTree(turn(repeated), { width: 120 })
  expect(text).toContain(' · $0.0150 · ')
  expect(text.match(/\$/g)).toHaveLength(4)
})

test('has its number of requests, if others used tokens at unknown cost', () => {
  const { '000000000000000c': _of, ...some } = COSTS
  expect(renderTree(turn(some), { width: 160 })).toContain(' · $0.0130 for 2 of 3 requests · ')
  expect(renderTotals([turn(some), turn({})], { width: 160 })).toContain(' · $0.0130 for 2 of 6 requests · ')
  expect(JSON.parse(treeJson(turn(some)))).toMatchObject({ cost: 0.013, requests_of_unknown_cost: 1 })
})

test('is compared only where all of it is known on both sides', () => {
  const { '000000000000000c': _of, ...some } = COSTS
  const costLine = (a: TraceTree, b: TraceTree): string | undefined =>
    /^ *cost +(.*)$/m.exec(renderComparison(compareTraces([a], [b]), { width: 100, color: false }))?.[1]?.trim()
  expect(costLine(turn(COSTS), turn(COSTS))).toBe('$0.0150  $0.0150  =')
  expect(costLine(turn(COSTS), turn(some))).toBe('$0.0150  at least $0.0130')
  expect(costLine(turn(some), turn(some))).toBe('at least $0.0130  at least $0.0130')
  const sides = JSON.parse(comparisonJson(compareTraces([turn(COSTS)], [turn(some)])))
  expect(sides.a).not.toHaveProperty('requests_of_unknown_cost')
  expect(sides.b).toMatchObject({ cost: 0.013, requests_of_unknown_cost: 1 })
})

test('falls back to the cost of the root if no request has one', () => {
  expect(renderTree(turn({ '0000000000000001': 0.25 }), { width: 120 })).toContain(' · $0.2500 · ')
})

test('is never made up', () => {
  expect(renderTree(turn({}), { width: 160 })).not.toContain('$')
  expect(renderTotals([turn({}), turn({})])).not.toContain('$')
  expect(JSON.parse(treeJson(turn({})))).not.toHaveProperty('cost')
  expect(renderTree(turn({ '0000000000000004': -1 }), { width: 160 })).not.toContain('$')
})

test('yields to the names in a narrow window', () => {
  const text = renderTree(turn(COSTS), { width: 44 })
  expect(text.split('\n').slice(2).join('\n')).not.toContain('$')
})

test.each([
  [0, '$0'],
  [0.000_01, '<$0.0001'],
  [0.0123, '$0.0123'],
  [0.999_96, '$1.00'],
  [1.2, '$1.20'],
  [1204.5, '$1 204.50'],
])('writes %d as %s', (dollars, text) => {
  expect(humanCost(dollars)).toBe(text)
})

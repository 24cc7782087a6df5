/** What is running, as a person sees it who looks at a certain time. */
import { describe, expect, test } from 'vitest'
import type { NumberedLine } from '../../src/reading/line-reader.ts'
import { renderOpenTurns } from '../../src/reading/open-turns-text.ts'
import { readEntry, type StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import { renderTotals, renderTree } from '../../src/reading/tree-text.ts'
import { exportLine, noteLine, SAMPLE_TURN, SESSION_ID, type SpanNote, TURN_AT } from './sample-turn.ts'

function spansOf(...texts: readonly string[]): StoredSpan[] {
  return texts.flatMap(text => {
    const entry = readEntry({ line: 1, text } satisfies NumberedLine)
    return 'spans' in entry ? [...entry.running, ...entry.spans] : []
  })
}

/** A turn of which a request has ended, and two tools that it asked for are running. */
function openTurn(trace: string, from = 0): TraceTree {
  const note = (id: string, name: string, more: Partial<SpanNote>): SpanNote => ({
    id,
    trace,
    name,
    from,
    to: from,
    attributes: { 'hermes.span.kind': name.split('.')[0] ?? '', 'session.id': 's1' },
    ...more,
  })
  const root = note('1', 'agent', {
    attributes: {
      'hermes.span.kind': 'session',
      'session.id': 's1',
      'gen_ai.agent.name': 'toy',
      'hermes.turn.number': 2,
    },
  })
  const request = note('3', 'api.m', { parent: '2', from: from + 20, to: from + 1_500 })
  const tool = note('4', 'tool.terminal', {
    parent: '3',
    from: from + 1_600,
    attributes: { 'hermes.span.kind': 'tool', 'hermes.tool.command': 'npm test' },
  })
  const spans = spansOf(
    noteLine(root, note('2', 'llm.m', { parent: '1' })),
    exportLine(request),
    noteLine(tool, note('5', 'tool.grep', { parent: '3', from: from + 1_550 })),
  )
  const [tree] = buildForest(spans)
  if (tree === undefined) throw new Error('no tree')
  return tree
}

const look = { width: 80, color: false, maxLines: 8 }

describe('a tree of running spans', () => {
  test('is drawn up to now with the time since the last activity', () => {
    const text = renderTree(openTurn('a1b2c3d4e5f6'), { width: 80, now: TURN_AT + 245_000 })
    expect(`\n${text}\n`).toBe(`
● toy · s1 · turn 2                                      2026-11-21 10:15:00 UTC
  running · 4 m 05 s · silent for 4 m 03 s · 5 spans, 4 running         a1b2c3d4

  agent                             ─────────────────────────  4 m 05 s  running
  └─ llm.m                          ─────────────────────────  4 m 05 s  running
     └─ api.m                       ╸                             1.5 s
        ├─ tool.grep                ━━━━━━━━━━━━━━━━━━━━━━━━━  4 m 03 s  running
        └─ tool.terminal  npm test  ━━━━━━━━━━━━━━━━━━━━━━━━━  4 m 03 s  running
`)
  })

  test('has no silence while there are records, nor once all has ended', () => {
    expect(renderTree(openTurn('a1'), { now: TURN_AT + 9_000 })).not.toContain('silent')
    const [ended] = buildForest(spansOf(exportLine(...SAMPLE_TURN)))
    expect(renderTree(ended as TraceTree, { now: TURN_AT + 9_000_000 })).toBe(renderTree(ended as TraceTree))
  })

  test('counts in the sum of several traces, up to now', () => {
    const trees = [openTurn('a1'), openTurn('b2')]
    expect(renderTotals(trees, { now: TURN_AT + 245_000 })).toContain('2 traces · 8 m 10 s · ')
    expect(renderTotals(trees)).toContain('2 traces · 3.2 s · ')
  })

  test('does not go back behind the last known time, whatever the clock shows', () => {
    expect(renderTree(openTurn('a1'), { now: 0 })).toBe(renderTree(openTurn('a1')))
  })
})

describe('running spans, in a few lines', () => {
  test('shows open time, silent time and the spans in progress', () => {
    const lines = renderOpenTurns([openTurn('a1b2c3d4e5f6')], { ...look, now: TURN_AT + 245_900 })
    expect(`\n${lines.join('\n')}\n`).toBe(`
○ toy · s1 · turn 2        running for 4 m 05 s · silent for 4 m 04 s · a1b2c3d4
  └─ tool.grep                                                          4 m 04 s
  └─ tool.terminal  npm test                                            4 m 04 s
`)
  })

  test('changes once a second at most', () => {
    const at = (millis: number): string[] => renderOpenTurns([openTurn('a1')], { ...look, now: TURN_AT + millis })
    expect(at(5_100)).toEqual(at(5_400))
    expect(at(5_100).join()).toContain('running for 5 s')
    expect(at(5_100).join()).not.toContain('silent')
  })

  test('is nothing when nothing is', () => {
    expect(renderOpenTurns(buildForest(spansOf(exportLine(...SAMPLE_TURN))), { ...look, now: TURN_AT })).toEqual([])
  })

  test('has those first in which something happened last, and counts those without room', () => {
    const trees = [openTurn('aa', 0), openTurn('bb', 9_000), openTurn('cc', 5_000)]
    const lines = renderOpenTurns(trees, { ...look, maxLines: 7, now: TURN_AT + 60_000 })
    const ids = lines.map(line => /· (\w\w)$/.exec(line)?.[1]).filter(id => id !== undefined)
    expect(ids).toEqual(['bb', 'cc'])
    expect(lines).toHaveLength(7)
    expect(lines[6]).toBe('  … and 1 more running')
    expect(renderOpenTurns(trees, { ...look, maxLines: 9, now: TURN_AT + 60_000 })).toHaveLength(9)
    expect(renderOpenTurns(trees, { ...look, maxLines: 1, now: TURN_AT })).toEqual(['  … and 3 more running'])
  })

  test('counts the tools that run at once', () => {
    const tools = Array.from({ length: 9 }, (_, index) => ({
      id: `t${index}`,
      parent: 'r',
      name: 'tool.x',
      from: 1,
      to: 1,
    }))
    const trees = buildForest(spansOf(noteLine({ id: 'r', name: 'agent', from: 0, to: 0 }, ...tools)))
    const lines = renderOpenTurns(trees, { ...look, now: TURN_AT })
    expect(lines.filter(line => line.includes('tool.x'))).toHaveLength(3)
    expect(lines.at(-1)).toBe('     and 6 more in parallel')
  })

  test('fits into narrow windows, and acts on no terminal', () => {
    const root = {
      id: 'r',
      name: '\u001b[2J\u202eevil\nname '.repeat(9),
      from: 0,
      to: 0,
      attributes: { 'session.id': SESSION_ID },
    }
    const [line = '', ...rest] = renderOpenTurns(buildForest(spansOf(noteLine(root))), {
      ...look,
      width: 40,
      now: TURN_AT,
    })
    expect(line.length).toBeLessThanOrEqual(40)
    expect([line, ...rest].join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})

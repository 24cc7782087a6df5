import { describe, expect, test } from 'vitest'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { type OutlineOptions, outline } from '../../src/reading/tree-outline.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

function outlined(notes: readonly SpanNote[], options?: OutlineOptions): string {
  return buildForest(storedSpans(...notes))
    .map(tree => outline(tree, options))
    .join('\n')
}

const ROOT: SpanNote = { id: '1', name: 'agent', from: 0, to: 100, attributes: { 'hermes.span.kind': 'session' } }

describe('the outline of a trace', () => {
  test('is a span a line with its status', () => {
    const failed = {
      id: '2',
      parent: '1',
      name: 'api.m',
      from: 1,
      to: 2,
      attributes: { 'error.type': 'RateLimitError' },
    }
    const open: SpanNote = { id: '3', parent: '1', name: 'tool.ls', from: 3, to: 4, status: 0 }
    expect(outlined([ROOT, { ...failed, status: 2 }, open])).toBe(
      'agent OK\n  api.m ERROR RateLimitError\n  tool.ls UNSET',
    )
  })

  test('has the marks of a doubtful span', () => {
    const marked: SpanNote = {
      id: '2',
      parent: '1',
      name: 'tool.ls',
      from: 1,
      to: 2,
      status: 0,
      attributes: {
        'hermes.span.incomplete': 'turn_ended',
        'hermes.span.retroactive': true,
        'hermes.correlation': 'ambiguous',
      },
    }
    expect(outlined([ROOT, marked])).toBe(
      'agent OK\n  tool.ls UNSET (incomplete: turn_ended) (retroactive) (ambiguous)',
    )
  })

  test('shows the requested attributes, if a span has them', () => {
    const tool: SpanNote = {
      id: '2',
      parent: '1',
      name: 'tool.ls',
      from: 1,
      to: 2,
      attributes: { 'hermes.tool.outcome': 'blocked', 'hermes.tool.command': 'ls -l, "a"', count: 3, list: ['a', 'b'] },
    }
    const attributes = ['hermes.tool.outcome', 'hermes.tool.command', 'count', 'list', 'toString']
    expect(outlined([ROOT, tool], { attributes, status: false })).toBe(
      'agent\n  tool.ls [hermes.tool.outcome=blocked, hermes.tool.command="ls -l, \\"a\\"", count=3, list=["a","b"]]',
    )
  })

  test('shows durations on request', () => {
    expect(outlined([ROOT], { durations: true })).toBe('agent OK 100 ms')
  })

  test('is short for the sample', () => {
    expect(outlined(SAMPLE_TURN).split('\n')).toHaveLength(SAMPLE_TURN.length)
  })

  test('shows the level of spans too deep to indent', () => {
    const deep = Array.from({ length: 10_000 }, (_, index) => ({
      id: `s${index}`,
      ...(index > 0 && { parent: `s${index - 1}` }),
      name: `n${index}`,
      from: index,
      to: 10_000,
    }))
    expect(outlined(deep).split('\n').at(-1)?.trim()).toBe('(level 9999) n9999 OK')
  })
})

/** One trace with all that is stored of it. */
import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../src/reading/display-width.ts'
import { readExportLine } from '../../src/reading/stored-span.ts'
import { renderDetails } from '../../src/reading/trace-details.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import type { TreeTextOptions } from '../../src/reading/tree-text.ts'
import { exportLine, SAMPLE_TURN, type SpanNote, storedSpans } from './sample-turn.ts'

function treeOf(...notes: readonly SpanNote[]): TraceTree {
  const [tree] = buildForest(storedSpans(...notes))
  if (tree === undefined) throw new Error('no tree')
  return tree
}

function details(tree: TraceTree, options: TreeTextOptions = {}): string {
  return [...renderDetails(tree, options)].join('\n\n')
}

const HOSTILE = '\u001b[2J\u001b]0;title\u0007\u009b31m\u202ered\u0000'

describe('the details of a trace', () => {
  test('lists all data of each span, in the order of the tree', () => {
    const root: SpanNote = {
      id: '00000000000000aa',
      name: 'agent',
      from: 0,
      to: 2_000,
      attributes: { 'hermes.span.kind': 'session', 'session.id': 's1', 'a.list': ['x', 'y'], 'a.flag': true },
    }
    const tool: SpanNote = {
      id: '00000000000000bb',
      parent: '00000000000000aa',
      name: 'tool.ls',
      from: 500,
      to: 1_250,
      status: 2,
      message: 'no such directory',
      attributes: { 'hermes.span.kind': 'tool', 'error.type': 'ENOENT' },
    }
    const request = JSON.parse(exportLine(root, tool))
    const [, stored] = request.resourceSpans[0].scopeSpans[0].spans
    const pair = (key: string, stringValue: string) => ({ key, value: { stringValue } })
    stored.events = [{ name: 'retry', timeUnixNano: '1795256100900000000', attributes: [pair('why', 'busy')] }]
    stored.links = [{ traceId: 'f'.repeat(32), spanId: 'e'.repeat(16), attributes: [pair('kind', 'earlier')] }]
    const [tree] = buildForest(readExportLine(JSON.stringify(request)))
    expect(`\n${details(tree as TraceTree, { width: 80 })}\n`).toBe(`
■ agent
  span      00000000000000aa
  parent    none
  kind      internal
  status    ok
  start     2026-11-21 10:15:00.000 UTC
  duration  2.0 s
  attributes
    a.flag            true
    a.list            ["x","y"]
    hermes.span.kind  session
    session.id        s1
  resource, written by hookspan 0.1.0
    service.name  hermes-agent

■ tool.ls  ENOENT
  span      00000000000000bb
  parent    00000000000000aa, agent
  kind      internal
  status    error: no such directory
  start     2026-11-21 10:15:00.500 UTC, 500 ms after the trace's
  duration  750 ms
  attributes
    error.type        ENOENT
    hermes.span.kind  tool
  event retry, 400 ms after the span's start
    why  busy
  link to span eeeeeeeeeeeeeeee of trace ffffffffffffffffffffffffffffffff
    kind  earlier
`)
  })

  test('omits no attribute', () => {
    const text = details(treeOf(...SAMPLE_TURN), { width: 160 })
    for (const { id, attributes = {} } of SAMPLE_TURN) {
      expect(text).toContain(id)
      for (const name of Object.keys(attributes)) expect(text).toContain(`${name} `)
      for (const value of Object.values(attributes)) expect(text).toContain(String(value))
    }
  })

  test('keeps the lines of a text, and wraps those that are too long', () => {
    const attributes = { code: 'if (a) {\n\treturn b\n}', words: 'several words that do not fit into one line' }
    const text = details(treeOf({ id: '1', name: 'x', from: 0, to: 1, attributes }), { width: 40 })
    expect(text).toContain('    code   if (a) {\n               return b\n           }\n')
    expect(text).toContain('    words  several words that do not fit\n           into one line\n')
  })

  test('gives a name that is too long for its column a line of its own', () => {
    const name = `${'long.'.repeat(12)}name`
    const text = details(treeOf({ id: '1', name: 'x', from: 0, to: 1, attributes: { [name]: 'v', a: 'b' } }), {
      width: 80,
    })
    expect(text).toContain(`    a  b\n    ${name}\n       v\n`)
  })

  test('truncates a long value and shows its length', () => {
    const attributes = { long: 'x'.repeat(100_000), lines: 'y\n'.repeat(5_000) }
    const text = details(treeOf({ id: '1', name: 'x', from: 0, to: 1, attributes }), { width: 100 })
    expect(text.split('\n').length).toBeLessThan(120)
    expect(text).toContain('… truncated: 100 000 characters in total')
    expect(text).toContain('… truncated: 10 000 characters in total')
  })

  test('has no hostile effect on a terminal', () => {
    const note = { id: HOSTILE, name: HOSTILE, from: 0, to: 1, status: 2 as const, message: HOSTILE }
    const request = JSON.parse(exportLine({ ...note, attributes: { [HOSTILE]: HOSTILE, list: [HOSTILE] } }))
    const evil = [{ key: HOSTILE, value: { stringValue: HOSTILE } }]
    request.resourceSpans[0].resource.attributes = evil
    request.resourceSpans[0].scopeSpans[0].scope = { name: HOSTILE, version: HOSTILE }
    const [span] = request.resourceSpans[0].scopeSpans[0].spans
    Object.assign(span, {
      parentSpanId: HOSTILE,
      events: [{ name: HOSTILE, attributes: evil }],
      links: [{ traceId: HOSTILE, spanId: HOSTILE, attributes: evil }],
    })
    const [tree] = buildForest(readExportLine(JSON.stringify(request)))
    const text = details(tree as TraceTree, { width: 80 })
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    // A list is written as JSON, which spells out what it had.
    expect(text.replace(/^ +list.*$/m, '')).not.toContain('title')
    expect(text.match(/red/g)?.length).toBeGreaterThan(10)
  })

  test.each([20, 33, 80])('is no wider than %d cells', width => {
    const wide = { id: '1', name: 'x', from: 0, to: 1, attributes: { 'text.of.wide.characters': '漢字'.repeat(50) } }
    for (const line of details(treeOf(...SAMPLE_TURN, wide), { width }).split('\n')) {
      expect(displayWidth(line)).toBeLessThanOrEqual(width)
    }
  })
})

import { expect, test } from 'vitest'
import { type TreeSpan, treeText } from './tree-text.ts'

function span(spanId: string, startMicros: number, parts: Partial<TreeSpan> = {}): TreeSpan {
  return { traceId: 't', spanId, name: spanId, status: 'OK', startUnixNano: BigInt(startMicros) * 1000n, ...parts }
}

const ROOT = span('agent', 0, { kind: 'INTERNAL', attributes: { 'session.id': 's' } })
const LLM = span('llm', 1, { parentSpanId: 'agent' })
const FAILED = span('api-1', 2, { parentSpanId: 'llm', name: 'api', status: 'ERROR' })
const RETRIED = span('api-2', 2, { parentSpanId: 'llm', name: 'api', endUnixNano: 9_000n })
const SPANS = [ROOT, LLM, FAILED, RETRIED]

test('writes a span a line, below its parent', () => {
  expect(treeText(SPANS)).toBe('agent OK INTERNAL session.id=s\n  llm OK\n    api ERROR\n    api OK')
})

test('has an order independent of arrival and of the precision of times', () => {
  const coarse = SPANS.map(each => ({ ...each, startUnixNano: (each.startUnixNano / 1000n) * 1000n }))
  const fine = SPANS.map((each, at) => ({ ...each, startUnixNano: each.startUnixNano + BigInt(900 - at) }))
  expect(treeText(coarse.toReversed())).toBe(treeText(fine))
})

test('omits on both sides what a server cannot store', () => {
  const options = { kinds: false, attributes: [] }
  expect(treeText([ROOT], options)).toBe('agent OK')
  expect(treeText([RETRIED], { durations: true })).toBe('api OK 7us (parent missing)')
})

test('differs for a span that is elsewhere, lost or doubled', () => {
  const moved = [ROOT, LLM, FAILED, { ...RETRIED, parentSpanId: 'agent' }]
  const lost = [ROOT, FAILED, RETRIED]
  const inAnotherTrace = [ROOT, LLM, FAILED, { ...RETRIED, traceId: 'u' }]
  for (const other of [moved, lost, inAnotherTrace]) expect(treeText(other)).not.toBe(treeText(SPANS))
  expect(() => treeText([...SPANS, RETRIED])).toThrow('1 spans are there twice')
})

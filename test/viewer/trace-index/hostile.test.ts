/** No content of a log makes the index fall over, grow without bound, or mean something else. */
import { expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, TRACE_ID } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

interface RawSpan {
  readonly traceId: string
  readonly [field: string]: unknown
}

function rawLine(...spans: readonly RawSpan[]): string {
  const complete = spans.map(span => ({ spanId: '1', name: 'x', startTimeUnixNano: '1795256100000000000', ...span }))
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: complete }] }] })
}

function attributes(values: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(values).map(([key, value]) => ({ key, value }))
}

const number = (doubleValue: number): unknown => ({ doubleValue })
const text = (stringValue: string): unknown => ({ stringValue })

function usage(traceId: string, tokens: number, more: Readonly<Record<string, unknown>> = {}): RawSpan {
  const names = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'gen_ai.usage.cache_read.input_tokens']
  const used = Object.fromEntries(names.map(name => [name, number(tokens)]))
  const chat = { 'gen_ai.operation.name': text('chat'), 'llm.cost.total': number(tokens) }
  return { traceId, attributes: attributes({ ...used, ...chat, ...more }) }
}

const INJECTIONS = [
  "'; DROP TABLE span; --",
  '" OR 1=1',
  '%_\\',
  '\u0000nul\u0000',
  '\ud800 alone',
  '__proto__',
  'constructor',
  '\u202egnp',
]
const NUMBERS = [1e308, -1e308, 1e18, 2 ** 60, 0.1, -0, 5e-324]

const LINES: Readonly<Record<string, readonly string[]>> = {
  'ids that mean something elsewhere': INJECTIONS.map((id, n) =>
    rawLine({ traceId: id, spanId: id }, { traceId: id, spanId: `${n}`, parentSpanId: id }),
  ),
  'names that mean something elsewhere': INJECTIONS.map((name, n) =>
    rawLine({
      traceId: `n${n}`,
      name,
      attributes: attributes({
        [name]: text(name),
        [`${name}.span.kind`]: text('session'),
        [`${name}.session.id`]: text(name),
        'gen_ai.request.model': text(name),
        'gen_ai.tool.name': text(name),
        'gen_ai.agent.name': text(name),
      }),
    }),
  ),
  'numbers beyond all measure': NUMBERS.flatMap((tokens, n) => [
    rawLine(
      usage(`u${n}`, tokens),
      { ...usage(`u${n}`, tokens), spanId: '2' },
      { ...usage(`u${n}`, -tokens), spanId: '3' },
    ),
    rawLine(usage(`v${n}`, tokens, { 'hermes.span.kind': text('session'), 'hermes.turn.number': number(tokens) })),
  ]),
  'times at the ends': [
    rawLine({ traceId: 't0', startTimeUnixNano: '0', endTimeUnixNano: '99999999999999999999' }),
    rawLine({ traceId: 't1', startTimeUnixNano: '99999999999999999999', endTimeUnixNano: '0' }),
  ],
  'values of other shapes': [
    rawLine({ traceId: 's0', attributes: [{ key: 'session.id', value: { arrayValue: { values: [text('a')] } } }] }),
    rawLine({ traceId: 's1', attributes: 'none', status: 7, events: [], links: [], flags: 'x' }),
    rawLine({
      traceId: 's2',
      attributes: attributes({ 'hermes.span.kind': { kvlistValue: {} }, 'error.type': number(1) }),
    }),
  ],
  'what is long': [
    rawLine({
      traceId: 'l0',
      name: 'long '.repeat(200_000),
      attributes: attributes({ 'session.id': text('s'.repeat(100_000)) }),
    }),
    rawLine({ traceId: 'l'.repeat(50_000), spanId: '2'.repeat(50_000) }),
    rawLine({
      traceId: 'l1',
      attributes: Array.from({ length: 2_000 }, (_, n) => ({ key: `${n}.session.id`, value: text(`${n}`) })),
    }),
  ],
  'parents that go round': [
    rawLine(...['1', '2', '3'].map((spanId, n) => ({ traceId: 'r', spanId, parentSpanId: `${((n + 1) % 3) + 1}` }))),
    rawLine({ traceId: 'self', spanId: '1', parentSpanId: '1' }),
  ],
  'no spans': [
    '{',
    'null',
    '[]',
    '{}',
    '""',
    '0',
    '{"resourceSpans":1}',
    '{"hookspan.open":[]}',
    '\u0000\u0000',
    ' ',
    '\ufeff{}',
  ],
}

async function useAll(opened: Opened): Promise<void> {
  const { rows } = await opened.sessions({ limit: 500 })
  for (const { id } of rows) expect(await opened.session(id)).toBeDefined()
  for (const traceId of (await opened.turns()).keys()) {
    await opened.children(traceId)
    await opened.trace(traceId)
  }
  for (const { input, output, dollars } of (await opened.usage()).groups) {
    for (const figure of [input, output, dollars]) expect(Number.isFinite(figure)).toBe(true)
  }
  for (const name of INJECTIONS) {
    await opened.sessions({ text: name })
    await opened.sessions({ agent: name, model: name, tool: name, outcome: name })
    expect(await opened.session(`${name} of nobody`)).toBeUndefined()
  }
}

test.each(Object.entries(LINES))('survives %s', async (_, lines) => {
  const scene = new LogScene()
  scene.lines('1-1.jsonl', exportLine(...SAMPLE_TURN), ...lines)
  const opened = scene.open()
  // Each step counts: none is taken back, and nothing is made anew.
  for (let step = await opened.index.step(); step !== undefined; step = await opened.index.step()) {
    expect(opened.status().indexedBytes).toBeGreaterThan(0)
  }
  await opened.index.readOpenTraces()
  const { indexedBytes, bytes, failure } = opened.status()
  expect([indexedBytes, failure]).toEqual([bytes, undefined])
  expect(await opened.trace(TRACE_ID)).toHaveLength(SAMPLE_TURN.length)
  await useAll(opened)
  scene.remove('1-1.jsonl')
  await opened.catchUp()
  expect((await opened.sessions()).rows).toEqual([])
  expect(await opened.usage()).toMatchObject({ groups: [], cells: [], sessions: [], tools: [] })
})

test("limits the stored part of a span's text", async () => {
  const scene = new LogScene()
  const note = { traceId: 'l', attributes: attributes({ 'gen_ai.agent.name': text('a'.repeat(300_000)) }) }
  scene.lines('1-1.jsonl', rawLine(note))
  const opened = scene.open()
  await opened.catchUp()
  expect((await opened.turns()).get('l')?.agent.length).toBeLessThan(1_000)
  expect((await opened.trace('l'))[0]?.attributes['gen_ai.agent.name']).toHaveLength(300_000)
})

import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { describe, expect, test } from 'vitest'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { Instruments } from '../../src/tracker/instruments.ts'
import type { MetricPoint } from '../../src/tracker/spans/span-definition.ts'

class Reader extends MetricReader {
  protected onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
  protected onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

interface Collected {
  readonly name: string
  readonly labels: Readonly<Record<string, unknown>>
  readonly value: unknown
}

/** Instruments on a real meter, and what it says that it was told. */
function metered(
  options: Partial<ConstructorParameters<typeof Instruments>[0]> = {},
  gauges: ConstructorParameters<typeof Instruments>[1] = {},
  isAttached = true,
) {
  const reader = new Reader()
  const provider = new MeterProvider({ readers: [reader] })
  const attributeOptions = { nextMetrics: false }
  const all = { namespace: 'hermes', emitGenAiMetrics: true, attributeOptions, ...options }
  const instruments = new Instruments(all, gauges)
  const attach = (): void => instruments.attach(provider.getMeter('test'))
  if (isAttached) attach()
  const collect = async (): Promise<Collected[]> => {
    const { resourceMetrics, errors } = await reader.collect()
    expect(errors).toEqual([])
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({
          name: descriptor.name,
          labels: attributes,
          value: value as unknown,
        })),
      ),
    )
  }
  return { instruments, attach, collect }
}

const tool = (tool_name: string, outcome = 'completed'): Record<string, string> => ({ tool_name, outcome })

describe('before there is a meter', () => {
  const points: MetricPoint[] = [
    { instrument: 'toolCalls', value: 2, labels: tool('a') },
    { instrument: 'toolDuration', value: 7, labels: tool('a') },
    { instrument: 'toolDuration', value: 5, labels: tool('a') },
  ]

  test('keeps the points', async () => {
    const { instruments, attach, collect } = metered({}, {}, false)
    instruments.record(points)
    attach()
    instruments.record(points)
    expect(await collect()).toMatchObject([
      { name: 'hermes.tool.calls', value: 4 },
      { name: 'hermes.tool.duration', value: { sum: 24, count: 4 } },
    ])
  })

  test('requests one for a thousand points of histograms', async () => {
    let requested = 0
    const openMeter = (): void => {
      requested++
      attach()
    }
    const { instruments, attach, collect } = metered({ openMeter }, {}, false)
    const point: MetricPoint = { instrument: 'toolDuration', value: 1, labels: tool('a') }
    for (let count = 1; count < 1000; count++) instruments.record([point])
    expect(requested).toBe(0)
    instruments.record([point, point])
    expect(requested).toBe(1)
    expect(await collect()).toMatchObject([{ value: { sum: 1001, count: 1001 } }])
  })
})

describe('a counter', () => {
  test('sums the points of each label set', async () => {
    const { instruments, collect } = metered()
    instruments.record([
      { instrument: 'toolCalls', value: 1, labels: tool('a') },
      { instrument: 'toolCalls', value: 2, labels: tool('b') },
    ])
    instruments.add('toolCalls', 3, tool('a'))
    instruments.add('toolCalls', 4, tool('a', 'error'))
    expect(await collect()).toEqual([
      { name: 'hermes.tool.calls', labels: tool('a'), value: 4 },
      { name: 'hermes.tool.calls', labels: tool('b'), value: 2 },
      { name: 'hermes.tool.calls', labels: tool('a', 'error'), value: 4 },
    ])
  })

  test('reports the same sum again, and continues from it', async () => {
    const { instruments, collect } = metered()
    instruments.add('toolCalls', 1, tool('a'))
    const first = await collect()
    expect(await collect()).toEqual(first)
    instruments.add('toolCalls', 1, tool('a'))
    expect(await collect()).toEqual([{ ...first[0], value: 2 }])
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('ignores %d', async value => {
    const { instruments, collect } = metered()
    instruments.add('toolCalls', value, tool('a'))
    instruments.add('toolDuration', value, tool('a'))
    expect(await collect()).toEqual([])
  })

  test('separates label sets whose values concatenate to the same text', async () => {
    const { instruments, collect } = metered()
    instruments.add('toolCalls', 1, tool('a', 'bc'))
    instruments.add('toolCalls', 1, tool('ab', 'c'))
    expect(await collect()).toHaveLength(2)
  })
})

describe('more label sets than there is room for', () => {
  /** 2500 sets of labels that each have 50 values. */
  const SETS = Array.from({ length: 2500 }, (_, at) => tool(`t${at % 50}`, `o${Math.floor(at / 50)}`))

  test('loses no count', async () => {
    const { instruments, collect } = metered()
    for (const labels of [...SETS, ...SETS]) instruments.add('toolCalls', 1, labels)
    const samples = await collect()
    expect(samples.reduce((sum, { value }) => sum + Number(value), 0)).toBe(5000)
    expect(samples.length).toBeLessThanOrEqual(2001)
    expect(samples.filter(({ labels }) => 'otel.metric.overflow' in labels)).toEqual([])
  })

  test('leaves the earlier ones unchanged', async () => {
    const { instruments, collect } = metered()
    for (const labels of SETS) instruments.add('toolCalls', 1, labels)
    instruments.add('toolCalls', 10, tool('t0', 'o0'))
    const first = (await collect()).find(({ labels }) => labels['tool_name'] === 't0' && labels['outcome'] === 'o0')
    expect(first?.value).toBe(11)
  })
})

test('replaces labels beyond their limit by other', async () => {
  const { instruments, collect } = metered()
  for (let name = 0; name < 102; name++) instruments.add('toolCalls', 1, tool(`t${name}`))
  const counted = new Map((await collect()).map(({ labels, value }) => [labels['tool_name'], value]))
  expect([counted.size, counted.get('t99'), counted.get('other')]).toEqual([101, 1, 2])
})

test('gives a histogram the buckets of its row', async () => {
  const { instruments, collect } = metered()
  instruments.add('toolDuration', 30, tool('a'))
  const [sample] = await collect()
  expect(sample).toMatchObject({
    name: 'hermes.tool.duration',
    value: { sum: 30, count: 1, buckets: { boundaries: INSTRUMENTS.toolDuration.buckets } },
  })
})

test("keeps only hookspan's own instruments if the conventional ones are off", async () => {
  const { instruments, collect } = metered({ emitGenAiMetrics: false })
  instruments.add('genAiTokenUsage', 1, {})
  instruments.add('toolDuration', 1, tool('a'))
  expect((await collect()).map(({ name }) => name)).toEqual(['hermes.tool.duration'])
})

test("gives hookspan's own instruments the configured namespace", async () => {
  const { instruments, collect } = metered({ namespace: 'mine' })
  instruments.add('toolCalls', 1, tool('a'))
  instruments.add('genAiTokenUsage', 1, {})
  instruments.add('hooks', 1, { hook: 'pre_tool_call', result: 'ok' })
  expect((await collect()).map(({ name }) => name).sort()).toEqual([
    'gen_ai.client.token.usage',
    'hookspan.hooks',
    'mine.tool.calls',
  ])
})

test('reads gauges at collection', async () => {
  let open = 3
  const { collect } = metered(
    {},
    { spansOpen: result => result.observe(open), exportSpans: result => result.observe(7, { backend: 'b' }) },
  )
  const read = async (): Promise<unknown[]> => (await collect()).map(({ name, value }) => [name, value])
  expect(new Set(await read())).toEqual(
    new Set([
      ['hookspan.spans.open', 3],
      ['hookspan.export.spans', 7],
    ]),
  )
  open = 1
  expect(await read()).toContainEqual(['hookspan.spans.open', 1])
})

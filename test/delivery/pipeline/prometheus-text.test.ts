import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider, type MetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { expect, test } from 'vitest'
import { type OmittedSeries, PIECE_SERIES, prometheusText } from '../../../src/delivery/pipeline/prometheus.ts'

const BUCKETS = [1, 10, 100]
/** Of one label set of such a histogram: its buckets, the one without a bound, sum and count. */
const HISTOGRAM_SERIES = BUCKETS.length + 3

async function collected(labelSets: number): Promise<ResourceMetrics> {
  const reader: MetricReader = new PrometheusExporter({ preventServerStart: true })
  const meter = new MeterProvider({ readers: [reader] }).getMeter('hookspan', '1.2.3')
  const histogram = meter.createHistogram('waiting', { advice: { explicitBucketBoundaries: BUCKETS }, unit: 'ms' })
  const counter = meter.createCounter('calls', { description: 'two\nlines, "quoted"' })
  meter.createObservableGauge('open').addCallback(result => result.observe(3, { kind: 'a\\b "c"\nd' }))
  for (let at = 0; at < labelSets; at++) {
    histogram.record(at, { tool: `t${at}` })
    counter.add(at, { tool: `t${at}` })
  }
  return (await reader.collect()).resourceMetrics
}

function textOf(metrics: ResourceMetrics, maxSeries: number): { pieces: string[]; leftOut: readonly OmittedSeries[] } {
  const text = prometheusText(metrics, maxSeries)
  const pieces: string[] = []
  for (let next = text.next(); ; next = text.next()) {
    if (next.done) return { pieces, leftOut: next.value }
    pieces.push(next.value)
  }
}

const isSample = (line: string): boolean => line !== '' && !line.startsWith('# ')
const linesOf = (text: string): string[] => text.split('\n').filter(line => line !== '')

test.each([0, 1, 250])('writes in pieces the text of the official serializer for %d label sets', async labelSets => {
  const metrics = await collected(labelSets)
  const { pieces, leftOut } = textOf(metrics, 100_000)
  const official = linesOf(new PrometheusSerializer().serialize(metrics))
  expect(linesOf(pieces.join('')).toSorted()).toEqual(official.toSorted())
  expect(leftOut).toEqual([])
})

test('keeps the lines of a metric together below its description', async () => {
  const { pieces } = textOf(await collected(250), 100_000)
  const families = linesOf(pieces.join('')).map(line => /^(?:# \w+ )?(target_info|[a-z]+)/.exec(line)?.[1])
  const changes = families.filter((family, at) => family !== families[at - 1])
  expect(changes).toEqual(['target_info', 'calls', 'open', 'waiting'])
})

test('limits the size of each piece', async () => {
  const { pieces } = textOf(await collected(250), 100_000)
  const longest = Math.max(...pieces.map(piece => piece.split('\n').filter(isSample).length))
  expect(longest).toBeLessThanOrEqual(PIECE_SERIES)
  expect(longest).toBeGreaterThan(PIECE_SERIES / 2)
})

test('leaves out whole label sets, histograms first, and lists them', async () => {
  const { pieces, leftOut } = textOf(await collected(250), 250 + 1 + 10 * HISTOGRAM_SERIES + 1)
  const lines = linesOf(pieces.join(''))
  expect(lines.filter(line => line.startsWith('calls_total{'))).toHaveLength(250)
  expect(lines.filter(line => line.startsWith('waiting'))).toHaveLength(10 * HISTOGRAM_SERIES)
  expect(leftOut).toEqual([{ metric: 'waiting', labelSets: 240 }])
  expect(lines.at(-1)).toBe('# left out of waiting: 240 label sets')
})

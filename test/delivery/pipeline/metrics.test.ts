import { expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { backend, countPoint, Lines, openPipeline, QUICKLY, startSink } from './pipeline-fixture.ts'

interface MetricsRequest {
  readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Sum[] }[] }[]
}

interface Sum {
  readonly sum: { readonly dataPoints: readonly { readonly asDouble: number }[] }
}

function value(json: unknown): number | undefined {
  return (json as MetricsRequest).resourceMetrics[0]?.scopeMetrics[0]?.metrics[0]?.sum.dataPoints[0]?.asDouble
}

test('collects metrics at their interval without a flush', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], metricsIntervalMillis: 10 })
  countPoint(pipeline, 'points')
  await sink.until(() => sink.metricNames.length >= 2)
})

test('sends every collection in order to a slow backend', async () => {
  const sink = await startSink({ kind: 'slow', millis: 20 })
  const settings = { protocol: 'http/json', temporality: 'delta' } as const
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, settings)] })
  const flushes: Promise<void>[] = []
  for (let round = 0; round < 5; round++) {
    for (let point = 0; point <= round; point++) countPoint(pipeline, 'points')
    flushes.push(pipeline.flush())
    await new Promise(setImmediate)
  }
  await Promise.all(flushes)
  const values = sink.requests.map(request => value(request.json) ?? 0)
  expect(values.reduce((sum, one) => sum + one, 0)).toBe(15)
})

test('drops and reports collections beyond the limit', async () => {
  const sink = await startSink({ kind: 'hanging' })
  const lines = new Lines()
  const said = new Promise<void>(resolve => {
    lines.warn = line => {
      lines.warnings.push(line)
      resolve()
    }
  })
  const pipeline = openPipeline(
    { backends: [backend('otlp', sink.url)], metricsIntervalMillis: 2, flushWaitMillis: QUICKLY },
    lines,
  )
  countPoint(pipeline, 'points')
  await said
  await pipeline.shutdown()
  expect(lines.said).toEqual([
    expect.stringMatching(
      /did not answer within \d+ ms\. .*; until it answers, (its traces are \w+, and )?its metrics are dropped/,
    ),
  ])
})

interface Point {
  readonly startTimeUnixNano: string
  readonly timeUnixNano: string
}

function points(json: unknown): readonly Point[] {
  const metrics = (json as MetricsRequest).resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? []
  return metrics.flatMap(({ sum }) => sum.dataPoints as unknown as readonly Point[])
}

/** The times of two collections differ then. */
async function nextMilli(): Promise<void> {
  const at = Date.now()
  await until(() => Date.now() > at + 1)
}

test('starts the first series at the start of the pipeline', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { protocol: 'http/json' })] })
  const openedAt = Date.now()
  const counter = pipeline.meterProvider.getMeter('test').createObservableCounter('points')
  counter.addCallback(result => result.observe(3))
  await nextMilli()
  await pipeline.flush()
  await pipeline.flush()
  const [first, second] = sink.requests.flatMap(request => points(request.json))
  expect(Number(first?.startTimeUnixNano) / 1e6).toBeLessThan(openedAt + 1)
  expect(Number(first?.startTimeUnixNano)).toBeLessThan(Number(first?.timeUnixNano))
  // Another start would be a counter that has begun anew.
  expect(second?.startTimeUnixNano).toBe(first?.startTimeUnixNano)
})

test('starts a later series at the previous collection', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, { protocol: 'http/json' })] })
  const seen = ['early']
  const counter = pipeline.meterProvider.getMeter('test').createObservableCounter('points')
  counter.addCallback(result => {
    for (const which of seen) result.observe(1, { which })
  })
  await pipeline.flush()
  seen.push('late')
  await nextMilli()
  await pipeline.flush()
  const [[first] = [], [early, late] = []] = sink.requests.map(request => points(request.json))
  expect(early?.startTimeUnixNano).toBe(first?.startTimeUnixNano)
  expect(Number(late?.startTimeUnixNano)).toBeGreaterThanOrEqual(Number(first?.timeUnixNano))
  expect(Number(late?.startTimeUnixNano)).toBeLessThan(Number(late?.timeUnixNano))
})

test('starts deltas at the end of the previous ones', async () => {
  const sink = await startSink()
  const settings = { protocol: 'http/json', temporality: 'delta' } as const
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url, settings)] })
  countPoint(pipeline, 'points')
  await pipeline.flush()
  await nextMilli()
  countPoint(pipeline, 'points')
  await pipeline.flush()
  const [first, second] = sink.requests.flatMap(request => points(request.json))
  expect(second?.startTimeUnixNano).toBe(first?.timeUnixNano)
})

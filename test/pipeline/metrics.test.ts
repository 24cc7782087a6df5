import { expect, test } from 'vitest'
import { backend, countPoint, Lines, openPipeline, startSink } from './pipeline-fixture.ts'

interface MetricsRequest {
  readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Sum[] }[] }[]
}

interface Sum {
  readonly sum: { readonly dataPoints: readonly { readonly asDouble: number }[] }
}

function value(json: unknown): number | undefined {
  return (json as MetricsRequest).resourceMetrics[0]?.scopeMetrics[0]?.metrics[0]?.sum.dataPoints[0]?.asDouble
}

test('metrics are collected at their interval, without a flush', async () => {
  const sink = await startSink()
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], metricsIntervalMillis: 10 })
  countPoint(pipeline, 'points')
  await sink.until(() => sink.metricNames.length >= 2)
})

test('a slow backend gets every collection in order, with nothing left out', async () => {
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

test('collections that a backend does not keep up with are dropped, which is said', async () => {
  const sink = await startSink({ kind: 'hanging' })
  const lines = new Lines()
  const said = new Promise<void>(resolve => {
    lines.warn = line => {
      lines.warnings.push(line)
      resolve()
    }
  })
  const pipeline = openPipeline({ backends: [backend('otlp', sink.url)], metricsIntervalMillis: 2 }, lines)
  countPoint(pipeline, 'points')
  await said
  await pipeline.shutdown()
  expect(lines.said).toEqual([
    expect.stringMatching(/did not answer within \d+ ms\. .*; until it answers, its metrics are dropped/),
  ])
})

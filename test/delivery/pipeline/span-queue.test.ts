import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import type { ExportResult, SpanSink } from '../../../src/delivery/pipeline/delivery.ts'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import { directProcessor } from '../../../src/delivery/pipeline/span-processors.ts'
import { SpanQueue } from '../../../src/delivery/pipeline/span-queue.ts'
import type { Batch } from '../../../src/delivery/trace-log/segments.ts'
import { SpanLine, sizeOf } from '../../../src/delivery/trace-log/span-line.ts'
import { Lines } from './pipeline-fixture.ts'

const facts = {
  name: 'odd',
  type: 'otlp',
  urls: { traces: 'http://127.0.0.1:4318/v1/traces' },
  protocol: 'http/json',
  credentials: 'headers',
  defaultEndpoint: undefined,
} as const

function queueOf(sink: Partial<SpanSink>, lines: Lines, exportTimeoutMillis = 60_000, burstBytes?: number): SpanQueue {
  const whole = { export: async () => ({ lost: 0 }), close: async () => undefined, ...sink }
  const batch = { maxQueueSize: 100, scheduleDelayMillis: 1000, maxExportBatchSize: 10, exportTimeoutMillis }
  return new SpanQueue({ sink: whole, batch, report: new DeliveryReport(facts, lines), burstBytes })
}

function span(traceFlags = 1): ReadableSpan {
  const spanContext = () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags })
  return { spanContext, name: 'one', status: { code: 0 }, events: [], links: [], attributes: {} } as never
}

function batch(): Batch {
  return { lines: [new SpanLine([span()])] }
}

test('times out an exporter that never answers', async () => {
  const lines = new Lines()
  let exports = 0
  const queue = queueOf(
    { export: () => (exports++ === 0 ? new Promise(() => undefined) : Promise.resolve({ lost: 0 })) },
    lines,
    20,
  )
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  expect(queue.counts()).toMatchObject({ delivered: 1, dropped: 1, queued: 0 })
  expect(lines.said[0]).toContain('did not answer within 20 ms')
})

test('uses the result of an exporter after an abort', async () => {
  const lines = new Lines()
  const queue = queueOf(
    {
      export: (lines, signal) =>
        new Promise<ExportResult>(resolve => {
          const failure = { kind: 'status', status: 429 } as const
          signal.addEventListener('abort', () => resolve({ lost: sizeOf(lines), failure }))
        }),
    },
    lines,
    20,
  )
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  expect(lines.said).toEqual([expect.stringContaining('answered 429')])
})

test('loses one batch if an exporter rejects', async () => {
  const lines = new Lines()
  let exports = 0
  const queue = queueOf(
    { export: () => (exports++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve({ lost: 0 })) },
    lines,
  )
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  expect(queue.counts()).toMatchObject({ delivered: 1, dropped: 1, queued: 0 })
})

test('runs one export at a time, however many flushes', async () => {
  let [running, most] = [0, 0]
  const queue = queueOf(
    {
      export: async () => {
        most = Math.max(most, ++running)
        await new Promise(setImmediate)
        running--
        return { lost: 0 }
      },
    },
    new Lines(),
  )
  const flushes: Promise<void>[] = []
  for (let ended = 0; ended < 55; ended++) {
    queue.enqueueBatch(batch())
    flushes.push(queue.forceFlush())
  }
  await Promise.all(flushes)
  expect(most).toBe(1)
  expect(queue.counts()).toMatchObject({ delivered: 55, dropped: 0, queued: 0 })
})

test('never runs the exporter synchronously in the end of a span', () => {
  let exports = 0
  const queue = queueOf({ export: async () => ({ lost: exports++ }) }, new Lines())
  for (let ended = 0; ended < 50; ended++) queue.enqueueBatch(batch())
  void queue.forceFlush()
  expect(exports).toBe(0)
})

test('accepts a burst above the queue limit, up to a number of bytes', async () => {
  const lines = new Lines()
  const { bytes } = new SpanLine([span()])
  const queue = queueOf({}, lines, undefined, 150 * bytes)
  // The last one may be larger than what is left, as where they were held.
  for (let ended = 0; ended < 160; ended++) queue.enqueueBatch(batch())
  expect(queue.counts()).toMatchObject({ dropped: 9, queued: 151 })
  expect(lines.said).toEqual([expect.stringContaining('151 spans are waiting')])
  await queue.forceFlush()
  queue.enqueueBatch(batch())
  await queue.forceFlush()
  expect(queue.counts()).toMatchObject({ dropped: 9, delivered: 152 })
})

test('skips spans without the sampled flag', () => {
  const taken: Batch[] = []
  const fanOut = directProcessor([{ enqueueBatch: batch => taken.push(batch) }])
  fanOut.onEnd(span(0))
  expect(taken).toEqual([])
  fanOut.onEnd(span())
  expect(taken).toHaveLength(1)
})

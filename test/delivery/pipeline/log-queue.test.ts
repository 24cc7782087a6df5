import { expect, test, vi } from 'vitest'
import { BackOff } from '../../../src/delivery/pipeline/back-off.ts'
import type { DeliveryFailure, ExportResult } from '../../../src/delivery/pipeline/delivery.ts'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import { LogQueue } from '../../../src/delivery/pipeline/log-queue.ts'
import type { QueuedLogEvent } from '../../../src/delivery/pipeline/log-sink.ts'
import { afterwards } from '../../support/afterwards.ts'
import { Lines } from './pipeline-fixture.ts'

const FACTS = {
  name: 'loki',
  type: 'otlp',
  urls: { logs: 'http://127.0.0.1:3100/otlp/v1/logs' },
  protocol: 'http/json',
  credentials: 'headers',
  defaultEndpoint: undefined,
} as const
const BATCH = { maxQueueSize: 4, scheduleDelayMillis: 3_600_000, maxExportBatchSize: 2, exportTimeoutMillis: 10_000 }
const TAKEN: ExportResult = { lost: 0 }

function failing(failure: DeliveryFailure): ExportResult {
  return { lost: 0, failure }
}

function status(code: number): ExportResult {
  return failing({ kind: 'status', status: code })
}

/** A queue whose backend answers as it is told, and then takes everything. No pause is longer than the rounding of the clock. */
function queueOf(...answers: ExportResult[]) {
  return queueThatPauses(0, answers)
}

/** @param scale of the pauses */
function queueThatPauses(scale: number, answers: ExportResult[]) {
  const sent: string[] = []
  const lines = new Lines()
  const sink = {
    send(events: readonly QueuedLogEvent[]): Promise<ExportResult> {
      sent.push(events.map(({ name }) => name).join(' '))
      return Promise.resolve(answers.shift() ?? TAKEN)
    },
    close: () => Promise.resolve(),
  }
  const queue = new LogQueue({
    sink,
    batch: BATCH,
    report: new DeliveryReport(FACTS, lines),
    backOff: new BackOff(scale),
  })
  return { queue, sent, lines }
}

function take(queue: LogQueue, ...names: string[]): void {
  for (const name of names) queue.enqueueEvent({ name, severity: 'INFO', at: 0, observedAt: 0, attributes: {} })
}

test('sends events in order, in requests of the configured size', async () => {
  const { queue, sent, lines } = queueOf()
  take(queue, 'a', 'b', 'c')
  await queue.forceFlush()
  expect(sent).toEqual(['a b', 'c'])
  expect(queue.counts()).toEqual({ delivered: 3, dropped: 0, queued: 0 })
  expect(lines.said).toEqual([])
})

test.each([
  ['unwell', status(503)],
  ['unreachable', failing({ kind: 'network', code: 'ECONNREFUSED' })],
  ['silent', failing({ kind: 'timeout', afterMillis: 10 })],
])('retries the same events for a backend that is %s', async (_why, answer) => {
  const { queue, sent, lines } = queueOf(answer)
  take(queue, 'a')
  await queue.forceFlush()
  await queue.forceFlush()
  expect(sent).toEqual(['a', 'a'])
  expect(queue.counts()).toEqual({ delivered: 1, dropped: 0, queued: 0 })
  expect(lines.said.at(-1)).toBe('backend loki: logs arrive again')
})

test('drops, counts and reports refused events, and continues', async () => {
  const { queue, sent, lines } = queueOf(status(400))
  take(queue, 'a', 'b', 'c')
  await queue.forceFlush()
  expect(sent).toEqual(['a b', 'c'])
  expect(queue.counts()).toEqual({ delivered: 1, dropped: 2, queued: 0 })
  expect(lines.said).toEqual([
    'backend loki: http://127.0.0.1:3100/otlp/v1/logs answered 400: it does not take logs as http/json, and there are no others. Set logs: false',
    'backend loki: logs arrive again; 2 events were lost',
  ])
})

test('halves a request that is too large', async () => {
  const { queue, sent } = queueOf(status(413))
  take(queue, 'a', 'b')
  await queue.forceFlush()
  expect(sent).toEqual(['a b', 'a', 'b'])
  expect(queue.counts()).toEqual({ delivered: 2, dropped: 0, queued: 0 })
})

test('counts partially accepted events', async () => {
  const { queue } = queueOf({ lost: 1, failure: { kind: 'rejected' } })
  take(queue, 'a', 'b')
  await queue.forceFlush()
  expect(queue.counts()).toEqual({ delivered: 1, dropped: 1, queued: 0 })
})

test('drops, counts and reports once the events beyond its limit', async () => {
  const { queue, sent, lines } = queueOf()
  take(queue, 'a', 'b', 'c', 'd', 'e', 'f')
  expect(queue.counts()).toEqual({ delivered: 0, dropped: 2, queued: 4 })
  expect(lines.said).toEqual([
    'backend loki: its logs were not sent: too many are waiting, and further ones are dropped',
  ])
  await queue.forceFlush()
  expect(sent).toEqual(['a b', 'c d'])
})

test('reports no wait before the request is made', async () => {
  const { queue } = queueOf()
  const now = vi.spyOn(performance, 'now').mockReturnValue(3_600_000)
  afterwards(() => now.mockRestore())
  take(queue, 'a')
  const sent = queue.shutdown()
  // Who ends the process subtracts it from the time that there is.
  expect(queue.waitedMillis()).toBe(0)
  await sent
})

test('drops, counts and reports the events left at the end', async () => {
  const { queue, sent, lines } = queueThatPauses(1, [status(503)])
  take(queue, 'a', 'b')
  await queue.forceFlush()
  await queue.forceFlush()
  expect(sent).toEqual(['a b'])
  await queue.abandon()
  take(queue, 'c')
  expect(queue.counts()).toEqual({ delivered: 0, dropped: 3, queued: 0 })
  expect(lines.said.at(-1)).toBe('backend loki: its logs were not sent: the process ended before they were sent')
})

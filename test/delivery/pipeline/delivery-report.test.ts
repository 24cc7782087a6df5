import { expect, test, vi } from 'vitest'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import { Lines } from './pipeline-fixture.ts'

const FACTS = {
  name: 'jaeger',
  type: 'jaeger',
  urls: { traces: 'http://h/otel/v1/traces', metrics: 'http://h/otel/v1/metrics' },
  protocol: 'http/json',
  credentials: '',
  defaultEndpoint: undefined,
} as const
const NOT_THERE = { kind: 'status', status: 404 } as const

function reporting(): { report: DeliveryReport; lines: Lines } {
  const lines = new Lines()
  return { report: new DeliveryReport(FACTS, lines), lines }
}

test('reports a wrong path for traces even after a report for metrics', () => {
  const { report, lines } = reporting()
  report.failed('metrics', NOT_THERE, 0)
  report.failed('traces', NOT_THERE, 3)
  report.failed('metrics', { kind: 'status', status: 405 }, 0)
  report.failed('traces', NOT_THERE, 3)
  expect(lines.said).toEqual([
    expect.stringMatching(/v1\/metrics answered 404.*, or metrics: false if it takes traces and no metrics$/),
    expect.stringMatching(/v1\/traces answered 404: there is no OTLP endpoint for traces\. The endpoint is a base URL/),
  ])
  expect(lines.said[1]).not.toContain('metrics')
})

test('does not report metrics that fail like the traces before', () => {
  const { report, lines } = reporting()
  report.failed('traces', NOT_THERE, 3)
  report.failed('metrics', NOT_THERE, 0)
  expect(lines.said).toEqual([expect.stringContaining('/v1/traces answered 404')])
  report.delivered('traces')
  report.delivered('metrics')
  expect(lines.said.slice(1)).toEqual([expect.stringContaining('traces arrive again; 3 spans were lost')])
})

test('reports a wrong path for metrics alone', () => {
  const { report, lines } = reporting()
  report.delivered('traces')
  report.failed('metrics', NOT_THERE, 0)
  report.failed('metrics', NOT_THERE, 0)
  expect(lines.said).toEqual([expect.stringContaining('metrics: false')])
})

test('reports refused credentials once, whatever failed first', () => {
  const { report, lines } = reporting()
  report.failed('metrics', { kind: 'status', status: 401 }, 0)
  report.failed('traces', { kind: 'status', status: 403 }, 1)
  expect(lines.said).toHaveLength(1)
})

test('reports failures after the clock was set back', () => {
  const { report, lines } = reporting()
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.UTC(2030, 0, 1) })
  try {
    report.failed('traces', { kind: 'status', status: 503 }, 1)
    report.delivered('traces')
    vi.setSystemTime(Date.UTC(2026, 0, 1))
    vi.advanceTimersByTime(120_000)
    report.failed('traces', { kind: 'status', status: 503 }, 1)
  } finally {
    vi.useRealTimers()
  }
  expect(lines.said.filter(line => line.includes('503'))).toHaveLength(2)
})

test('reports the spans dropped by a full queue once it has caught up', () => {
  const { report, lines } = reporting()
  report.failed('traces', { kind: 'status', status: 503 }, 0)
  report.overflowed(2048, 128)
  report.overflowed(2048, 64)
  report.delivered('traces')
  report.caughtUp()
  expect(lines.said.slice(1)).toEqual([
    expect.stringContaining('2048 spans are waiting for it, and further ones are dropped'),
    'backend jaeger: traces arrive again',
    'backend jaeger: has caught up; 192 spans were dropped in the meantime',
  ])
})

test('includes the fate of traces whatever signal fails first', () => {
  const [kept, lines] = [{ ...FACTS, isKept: true }, new Lines()]
  const failures = [
    { kind: 'network', code: 'ECONNREFUSED' },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 429 },
    { kind: 'timeout', afterMillis: 10_000 },
  ] as const
  for (const failure of failures) {
    for (const signal of ['metrics', 'logs'] as const) new DeliveryReport(kept, lines).failed(signal, failure, 0)
  }
  const traces = 'its traces are kept in the trace log, and sent later'
  const [metrics, logs] = [`${traces}, and its metrics are dropped`, `${traces}, and its logs are kept in memory`]
  expect(lines.said).toEqual(failures.flatMap(() => [metrics, logs].map(told => expect.stringContaining(told))))
})

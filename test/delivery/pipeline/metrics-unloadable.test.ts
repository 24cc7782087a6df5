import { Module } from 'node:module'
import { expect, test, vi } from 'vitest'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import { MetricQueue } from '../../../src/delivery/pipeline/metrics.ts'
import { Lines } from './pipeline-fixture.ts'

test('reports metrics that cannot be serialised because the serializer cannot be loaded', () => {
  const lines = new Lines()
  const facts = {
    name: 'otlp',
    type: 'otlp',
    urls: {},
    protocol: 'http/json',
    credentials: 'headers',
    defaultEndpoint: undefined,
  } as const
  const transport = { deliver: () => Promise.reject(new Error('nothing can be sent')), close: () => Promise.resolve() }
  const queue = new MetricQueue(transport, true, 'cumulative', new DeliveryReport(facts, lines))
  const loading = vi.spyOn(Module as unknown as { _load(name: string): unknown }, '_load')
  loading.mockImplementation(() => {
    throw new Error('EMFILE')
  })
  let isDone = false
  try {
    queue.export({ resource: { attributes: {} } as never, scopeMetrics: [] }, () => {
      isDone = true
    })
  } finally {
    loading.mockRestore()
  }
  expect(isDone).toBe(true)
  expect(lines.said).toHaveLength(1)
})

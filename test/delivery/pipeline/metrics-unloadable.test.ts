import { expect, test, vi } from 'vitest'
import { DeliveryReport } from '../../../src/delivery/pipeline/delivery-report.ts'
import { MetricQueue } from '../../../src/delivery/pipeline/metrics.ts'
import { Lines } from './pipeline-fixture.ts'

vi.mock('../../../src/delivery/pipeline/sdk.ts', async original => ({
  ...(await original<object>()),
  transformer: () => {
    throw new Error('EMFILE')
  },
}))

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
  let isDone = false
  queue.export({ resource: { attributes: {} } as never, scopeMetrics: [] }, () => {
    isDone = true
  })
  expect(isDone).toBe(true)
  expect(lines.said).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { fixturesOf, replayEvents } from './replay-fixture.ts'

/** Two requests in each capture: 0.000561 dollars apiece, told up to five times over by the events of the run. */
test.each(['pi', 'openclaw', 'opencode'])('has the cost of each request once: %s', async host => {
  const basic = fixturesOf(host).find(({ scenario }) => scenario === 'basic')
  const { plugin } = await replayEvents(host, basic?.events ?? [])
  const costs = plugin.spans().flatMap(span => span.attributes['llm.cost.total'] ?? [])
  expect(costs).toEqual([expect.closeTo(0.000_561, 9), expect.closeTo(0.000_561, 9)])
})

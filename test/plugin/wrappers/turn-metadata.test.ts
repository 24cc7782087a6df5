/** What other parts of the plugin offer works with the wrappers by itself. */
import { trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'

test('sets turn metadata on everything below the turn, including children', async () => {
  const hooks = createTestPlugin()
  await hooks.turn({ user_id: 'u1', tags: ['beta'], metadata: { plan: 'pro' } }, async turn => {
    await turn.tool('t', {}, async (_, tool) => tool.subagent({}, async child => child.request({}, async () => 'x')))
  })
  const spans = hooks.spans()
  expect(spans.length).toBe(7)
  expect(spans.map(span => span.attributes['user.id'])).toEqual(spans.map(() => 'u1'))
})

test('puts your spans below the tool whose ids they name', () => {
  const hooks = createTestPlugin({ propagate_context: true })
  const context = hooks.turn({}, turn => turn.tool('t', {}, (_, tool) => hooks.context(tool.ids)))
  expect(trace.getSpanContext(context)?.spanId).toBe(hooks.spans()[0]?.spanId)
})

import { expect, test } from 'vitest'
import { createTestPlugin } from '../../src/testing.ts'
import { feed, recording } from '../support/feed.ts'

test('the demo session: three linked turns, one child that outlives its turn', () => {
  const plugin = createTestPlugin({ host: 'demo' })
  feed(plugin, recording('demo-session.jsonl'))
  console.log(plugin.tree({ durations: true }))
  console.log(plugin.reported, plugin.stats())
})

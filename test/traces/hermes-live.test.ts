/** Recordings of real Hermes runs, and the tree of each as text. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { FIXTURES, SHOWN } from '../agents/shown.ts'
import { feed, recordsOf } from '../support/feed.ts'

const FOLDER = join(FIXTURES, 'hermes')
const SCENARIOS = readdirSync(FOLDER)
  .filter(name => name.endsWith('.jsonl'))
  .map(name => name.slice(0, -'.jsonl'.length))

const KINDS = ['hermes.session.kind', 'error.type', 'hermes.turn.approval_wait_ms']

async function replayed(scenario: string): Promise<TestPlugin> {
  const plugin = createTestPlugin({ host: 'hermes', content_capture: 'full' })
  feed(plugin, recordsOf(join(FOLDER, `${scenario}.jsonl`)))
  await plugin.shutdown()
  return plugin
}

describe.each(SCENARIOS)('%s', scenario => {
  test('builds the tree of the file beside it', async () => {
    const plugin = await replayed(scenario)
    const tree = plugin.tree({ attributes: [...SHOWN, ...KINDS], durations: true })
    await expect(`${tree}\n`).toMatchFileSnapshot(join(FOLDER, `${scenario}.tree.txt`))
  })

  test('reports nothing, fails nothing, and finds every parent', async () => {
    const plugin = await replayed(scenario)
    expect(plugin.tree()).not.toMatch(/parent missing|ambiguous/)
    expect(plugin.stats().hooks.error).toBe(0)
    expect(plugin.reported).toEqual([])
  })
})

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MACHINES } from '../../src/agents/machines.ts'
import { FIXTURES, fixturesOf, replayEvents } from './replay-fixture.ts'

/** Captures that were cut off while the host was at work. */
const CUT_OFF: ReadonlySet<string> = new Set(['gemini/fatal', 'opencode/err'])

const hosts = Object.keys(MACHINES).map(host => ({ host, fixtures: fixturesOf(host) }))

describe.each(hosts)('$host', ({ host, fixtures }) => {
  test('has captures', () => {
    expect(fixtures.length).toBeGreaterThan(1)
  })

  test.each(fixtures)('builds the tree in the file beside it: $scenario', async ({ scenario, events }) => {
    const { tree } = await replayEvents(host, events)
    await expect(`${tree}\n`).toMatchFileSnapshot(join(FIXTURES, host, `${scenario}.tree.txt`))
  })

  test.each(fixtures)(
    'builds one connected trace a turn, with all ends reported by the host: $scenario',
    async fixture => {
      const { plugin, leftOpen, tree } = await replayEvents(host, fixture.events)
      expect(tree).not.toMatch(/parent missing|ambiguous|retroactive/)
      expect(plugin.stats().hooks).toMatchObject({ ignored: 0, error: 0 })
      expect(plugin.reported).toEqual([])
      if (CUT_OFF.has(`${host}/${fixture.scenario}`)) return
      expect(leftOpen).toBe(0)
      expect(tree).not.toContain('incomplete')
    },
  )
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { AGENT_TURNS, feedAgents, SHARED_PROCESS } from '../workload/several-agents.ts'
import { Scene } from './scene.ts'

/** What the list of found traces shows of each: the service and the name of the root, and the time. */
describe('the list of traces', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await Scene.start()
    const backends = [{ type: 'jaeger', endpoint: scene.jaeger.otlpUrl }] as const
    await feedAgents(scene.home, { root_label: 'session', backends })
  })

  afterAll(() => scene?.stop())

  const sharing = AGENT_TURNS.filter(({ agent }) => agent !== 'pi' && agent !== 'claude-agent-sdk')
  const label = ({ agent, session }: (typeof AGENT_TURNS)[number]): string => `agent ${agent} …${session.slice(-8)}`

  test('tells programs apart by their service', async () => {
    const services = await eventually(
      () => scene.query.services(),
      found => found.length >= 3,
    )
    expect([...services].toSorted()).toEqual(['claude-agent-sdk', SHARED_PROCESS, 'pi'])
  })

  test('tells agents of one process, and their sessions, apart by the names of the roots', async () => {
    const browser = await openBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(`${scene.jaeger.url}/search?service=${SHARED_PROCESS}&lookback=1h&limit=20`)
      const titles = page.locator('.ResultItemTitle')
      await titles.nth(sharing.length - 1).waitFor()
      const shown = await titles.allInnerTexts()
      for (const turn of sharing) {
        const count = sharing.filter(other => label(other) === label(turn)).length
        expect(shown.filter(text => text.includes(`${SHARED_PROCESS}: ${label(turn)}`))).toHaveLength(count)
      }
      expect(shown).toHaveLength(sharing.length)
    } finally {
      await browser.close()
    }
  })
})

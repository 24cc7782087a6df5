import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { feedAgents } from '../workload/several-agents.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { Scene } from './scene.ts'
let scene: Scene
beforeAll(async () => { scene = await Scene.start() }, START_MILLIS)
afterAll(() => scene?.stop())
test('exploring lists', async () => {
  await feedAgents(scene.home, { backends: [{ type: 'phoenix', endpoint: scene.phoenix.url }] })
  await scene.settled('default', 14)
  const { id } = await scene.query.project('default')
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: 1600, height: 900 } })
  page.setDefaultTimeout(90000)
  for (const tab of ['traces', 'sessions', 'spans']) {
    await page.goto(`${scene.phoenix.url}/projects/${id}/${tab}`)
    await page.locator('table tbody tr').first().waitFor()
    await page.waitForTimeout(1500)
    console.log(tab, await page.locator('table').allInnerTexts())
    await page.screenshot({ path: `/tmp/phoenix-${tab}.png` })
  }
  await browser.close()
}, 300000)

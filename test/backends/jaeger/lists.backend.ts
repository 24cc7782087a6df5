import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { feedAgents } from '../workload/several-agents.ts'
import { Scene } from './scene.ts'
let scene: Scene
beforeAll(async () => { scene = await Scene.start() })
afterAll(() => scene?.stop())
test('exploring lists', async () => {
  await feedAgents(scene.home, { backends: [{ type: 'jaeger', endpoint: scene.jaeger.otlpUrl }] })
  const services = await scene.query.services()
  console.log(services)
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto(`${scene.jaeger.url}/search?service=gateway&lookback=1h&limit=20`)
  await page.locator('.ResultItem').first().waitFor()
  console.log(await page.locator('.ResultItem').allInnerTexts())
  await page.screenshot({ path: '/tmp/jaeger-list.png' })
  await browser.close()
})

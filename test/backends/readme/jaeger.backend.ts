import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Jaeger, startJaeger } from '../servers/jaeger.ts'
import { openBrowser, pageOf } from '../support/browser.ts'
import { takePicture } from '../support/picture.ts'
import { type, typedAfterStart } from './typed.ts'

const WINDOW = { width: 1280, height: 640 }
/** Of the column with the names: in it the deepest one can be read. */
const NAMES_WIDTH = 460

let home = ''
let jaeger: Jaeger
let browser: Browser
let page: Page

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-readme-'))
  jaeger = await startJaeger({ usualPorts: 'on 127.0.0.1' })
  browser = await openBrowser()
  page = await pageOf(browser, WINDOW)
})

afterAll(async () => {
  await browser?.close()
  await jaeger?.stop()
  rmSync(home, { recursive: true, force: true })
})

test("shows a turn with its retry, its tools and its sub-agent by README.md's commands for Jaeger", async () => {
  const [command = '', ...others] = typedAfterStart('jaeger')
  expect(others).toEqual([])
  expect(await type(command, home)).toContain('jaeger got 41 spans')
  const tags = encodeURIComponent(JSON.stringify({ 'error.type': 'RateLimitError' }))
  await page.goto(`${jaeger.url}/search?service=hookspan-demo&lookback=1h&limit=20&tags=${tags}`)
  await page.locator('.ResultItem a').first().click()
  for (const name of ['agent', 'tool.terminal', 'approval.rm_rf', 'subagent.leaf']) {
    await page.locator('.endpoint-name', { hasText: name }).first().waitFor()
  }
  expect(await page.locator('.span-row').count()).toBe(13)
  expect(await page.locator('.SpanBarRow--errorIcon').count()).toBe(1)
  await widenNames(page)
  await takePicture(page, 'jaeger-trace')
})

/** Drags the border of the column, as a person does. */
async function widenNames(shown: Page): Promise<void> {
  const box = await shown.locator('.TimelineHeaderRow .VerticalResizer--dragger').boundingBox()
  if (box === null) throw new Error('the column of names has no border to drag')
  await shown.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await shown.mouse.down()
  await shown.mouse.move(NAMES_WIDTH, box.y + box.height / 2, { steps: 5 })
  await shown.mouse.up()
  await shown.mouse.move(0, 0)
}

import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, TRACE_ID } from '../../reading/sample-turn.ts'
import { afterwards, cleanUp } from '../../support/afterwards.ts'
import { openBrowser } from '../support/browser.ts'
import { Viewer, Watch } from './viewer.ts'

let viewer: Viewer
let browser: Browser
let page: Page

beforeAll(async () => {
  viewer = new Viewer()
  viewer.write('sample.jsonl', exportLine(...SAMPLE_TURN))
  await viewer.start()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await viewer?.stop()
})

beforeEach(async () => {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  const watch = new Watch(context)
  page = await context.newPage()
  afterwards(async () => {
    await context.close()
    expect(watch.slips, 'violations by the page').toEqual([])
    expect(watch.strangers(viewer.origin), 'requests to other origins').toEqual([])
  })
})

afterEach(cleanUp)

test('selects the tabs of a turn by key and by address', async () => {
  await page.goto(viewer.at(`/turns/${TRACE_ID}`))
  await page.getByRole('tree').waitFor()
  await page.keyboard.press('u')
  await page.getByRole('row', { name: /^terminal 1 5\.7 s/ }).waitFor()
  expect(page.url()).toContain('tab=usage')
  await page.reload()
  await page.getByRole('link', { name: 'Usage' }).waitFor()
  expect(await page.getByRole('link', { name: 'Usage' }).getAttribute('aria-current')).toBe('page')
  await page.keyboard.press('l')
  await page.getByRole('tree').waitFor()
})

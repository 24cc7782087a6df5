import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { takePicture } from '../support/picture.ts'
import type { Fed } from '../workload/feed.ts'
import { Scene, serviceOf } from './scene.ts'

/** A turn with a retry, tools side by side, an approval and a sub-agent: the tree that the page is to show. */
const TREE = `
agent
  llm.qwen3-coder-30b
    api.qwen3-coder-30b !
    api.qwen3-coder-30b
      tool.terminal
        approval.rm_rf
      tool.read_file
      tool.delegate_task
        subagent.leaf
          agent
            llm.claude-sonnet-4-6
              api.claude-sonnet-4-6
    api.qwen3-coder-30b`.trim()

const WINDOW = { width: 1280, height: 640 }
/** Of the column with the names: in it the deepest one can be read. */
const NAMES_WIDTH = 420

let scene: Scene
let browser: Browser
let page: Page
let fed: Fed

beforeAll(async () => {
  scene = await Scene.start()
  fed = await scene.feed({}, { scenarios: ['recordings/hermes-turn'], config: { service_name: 'hermes' } })
  browser = await openBrowser()
  page = await browser.newPage({ viewport: WINDOW })
})

afterAll(async () => {
  await browser?.close()
  await scene?.stop()
})

const traceId = (): string => fed.spans[0]?.traceId ?? ''

describe("Jaeger's page", () => {
  test('shows the turn with its spans in their places', async () => {
    await page.goto(`${scene.jaeger.url}/trace/${traceId()}`)
    await page
      .locator('.span-row')
      .nth(fed.spans.length - 1)
      .waitFor()
    expect(await rowsOf(page)).toBe(TREE)
    await widenNames(page)
    await takePicture(page, 'jaeger-trace')
  })

  test('finds it by the service and the type of the error', async () => {
    const tags = encodeURIComponent(JSON.stringify({ 'error.type': 'RateLimitError' }))
    await page.goto(`${scene.jaeger.url}/search?service=${serviceOf(fed)}&lookback=1h&limit=20&tags=${tags}`)
    const results = page.locator('.ResultItem')
    await results.first().waitFor()
    expect(await results.count()).toBe(1)
    expect(await results.first().innerText()).toContain(`${fed.spans.length} Spans`)
  })
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

/** The rows in the order of the page, indented by the guides that it draws, `!` where it shows an error. */
async function rowsOf(shown: Page): Promise<string> {
  const rows = await shown.locator('.span-row').evaluateAll(elements =>
    elements.map(row => ({
      depth: row.querySelectorAll('.SpanTreeOffset--indentGuide').length,
      name: row.querySelector('.endpoint-name')?.textContent ?? '',
      isError: row.querySelector('.SpanBarRow--errorIcon') !== null,
    })),
  )
  const least = Math.min(...rows.map(({ depth }) => depth))
  return rows.map(({ depth, name, isError }) => `${'  '.repeat(depth - least)}${name}${isError ? ' !' : ''}`).join('\n')
}

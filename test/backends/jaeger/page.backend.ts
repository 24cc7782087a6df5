import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
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

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PhoenixQuery, type StoredSpan } from '../phoenix/query.ts'
import { type Phoenix, START_MILLIS, startPhoenix } from '../servers/phoenix.ts'
import { openBrowser, pageOf } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { takePicture } from '../support/picture.ts'
import { type, typedAfterStart } from './typed.ts'

/** Without a project of one's own. */
const PROJECT = 'default'
const SPANS = 41
const ASKED = 'The login test has been failing since yesterday.'
const WINDOW = { width: 1400, height: 920 }
/** What lies over the table, without what the page has around it: in a README it can still be read. */
const DRAWER = { x: 351, y: 47, width: WINDOW.width - 351, height: WINDOW.height - 47 }
/** Its page is a large program, which is fetched and compiled anew. */
const SHOWN_MILLIS = 90_000

let home = ''
let phoenix: Phoenix
let browser: Browser
let page: Page
let spans: readonly StoredSpan[]

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-readme-'))
  phoenix = await startPhoenix({ usualPort: true })
  const [command = '', ...others] = typedAfterStart('phoenix')
  expect(others).toEqual([])
  expect(await type(command, home)).toContain(`phoenix got ${SPANS} spans`)
  const query = new PhoenixQuery(phoenix.url, undefined)
  await eventually(
    () => query.count(PROJECT),
    count => count >= SPANS,
  )
  spans = await query.spans(PROJECT)
  browser = await openBrowser()
  page = await pageOf(browser, WINDOW)
  // Its own way of remembering that somebody prefers it light.
  await page.addInitScript({ content: "localStorage.setItem('arize-phoenix-theme', 'light')" })
  page.setDefaultTimeout(SHOWN_MILLIS)
}, START_MILLIS)

afterAll(async () => {
  await browser?.close()
  await phoenix?.stop()
  rmSync(home, { recursive: true, force: true })
})

const attribute = (span: StoredSpan | undefined, name: string): string => String(span?.attributes[name] ?? '')

describe("README.md's commands for Phoenix", () => {
  test('stores question and answer on every turn, request and tool', () => {
    expect(spans).toHaveLength(SPANS)
    const named = (prefix: string): StoredSpan[] =>
      spans.filter(({ name, status_code: status }) => name.startsWith(prefix) && status !== 'ERROR')
    for (const prefix of ['agent', 'llm.', 'api.', 'aux.', 'tool.']) {
      expect(named(prefix).length, prefix).toBeGreaterThan(0)
      for (const span of named(prefix)) {
        expect(attribute(span, 'input.value').length, span.name).toBeGreaterThan(10)
        expect(attribute(span, 'output.value').length, span.name).toBeGreaterThan(10)
      }
    }
    for (const span of [...named('api.'), ...named('aux.')]) {
      expect(attribute(span, 'llm.input_messages.0.message.role'), span.name).toBe('system')
    }
  })

  test('shows the messages of a request beside the tree of its turn', async () => {
    const turn = spans.find(span => span.parent_id === null && attribute(span, 'input.value').startsWith(ASKED))
    await page.goto(`${phoenix.url}/redirects/traces/${turn?.context.trace_id}`)
    await page.locator('.span-node-wrap', { hasText: 'api.' }).first().click()
    await page.getByText('3 tool calls', { exact: true }).waitFor()
    await page.getByText('Tool Call: call_01').waitFor()
    await page.getByText(ASKED).first().waitFor()
    await takePicture(page, 'phoenix-trace', { clip: DRAWER })
  })

  test('shows the conversation as one session', async () => {
    const query = new PhoenixQuery(phoenix.url, undefined)
    const { id } = await query.project(PROJECT)
    const session = (await query.sessions(PROJECT)).find(({ sessionId }) => sessionId === 's-7f3a')
    await page.goto(`${phoenix.url}/projects/${id}/sessions/${session?.id}`)
    for (const text of [ASKED, 'instead of 3600', 'delete the old build output']) {
      await page.getByText(text).first().waitFor()
    }
    await takePicture(page, 'phoenix-session', { clip: DRAWER })
  })
})

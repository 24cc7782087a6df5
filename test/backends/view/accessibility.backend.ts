import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, type SpanNote, TRACE_ID, TURN_AT } from '../../reading/sample-turn.ts'
import { afterwards, cleanUp } from '../../support/afterwards.ts'
import { openBrowser } from '../support/browser.ts'
import { Agent, openPage, Viewer } from './viewer.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const MODES = (['light', 'dark'] as const).flatMap(colorScheme =>
  ([1440, 390] as const).flatMap(width => [
    { colorScheme, width, forcedColors: 'none', reducedMotion: 'no-preference' } as const,
    { colorScheme, width, forcedColors: 'active', reducedMotion: 'reduce' } as const,
  ]),
)

const DAY_MILLIS = 86_400_000

/** A turn with one tool that fails with this message. */
function failedTurn(trace: string, title: string, daysAgo: number, message: string): string {
  const from = Date.now() - daysAgo * DAY_MILLIS - TURN_AT
  const root: SpanNote = {
    id: '1'.repeat(16),
    trace: trace.repeat(16),
    name: 'agent',
    from,
    to: from + 4_000,
    status: 2,
    attributes: { 'hermes.span.kind': 'session', 'session.id': trace, 'input.value': title },
  }
  const tool: SpanNote = {
    ...root,
    id: '2'.repeat(16),
    parent: root.id,
    name: 'tool.terminal',
    message,
    attributes: { 'hermes.span.kind': 'tool', 'session.id': trace, 'hermes.tool.command': 'npm publish' },
  }
  return exportLine(tool, root)
}

let viewer: Viewer
let browser: Browser
let page: Page

beforeAll(async () => {
  viewer = new Viewer()
  viewer.write('sample.jsonl', exportLine(...SAMPLE_TURN))
  viewer.write(
    'failed.jsonl',
    failedTurn('1a', 'Publish the release', 0.9, 'E403: the token has expired'),
    failedTurn('2b', 'Publish the beta', 20, 'ENOTFOUND'),
  )
  // Its messages are captured whole.
  await viewer.program.run(['demo'])
  await viewer.start()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await viewer?.stop()
})

beforeEach(async () => {
  ;({ page } = await openPage(browser, viewer, 1440, 900))
})

afterEach(cleanUp)

/** 24 hours beside each other leave less than 24 px for each. The Sessions view leads to the same sessions. */
const withoutHours = `({ violations }) => ({
  violations: violations.map(({ id, nodes }) => ({
    id,
    nodes: nodes
      .filter(({ element }) => id !== 'target-size' || element.closest('.heat') === null)
      .map(({ target, failureSummary }) => ({ target, failureSummary })),
  })),
})`

/** The violations that axe finds in the page as it is, one line per element. */
async function violations(): Promise<readonly string[]> {
  const rules = { 'target-size': { enabled: true } }
  const run = `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], rules, elementRef: true })}).then(${withoutHours})`
  const found = await page.evaluate<AxeResults>(run)
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`),
  )
}

async function expectAccessible(): Promise<void> {
  await page.evaluate(AXE)
  const found = new Set<string>()
  for (const { width, ...media } of MODES) {
    await page.emulateMedia(media)
    await page.setViewportSize({ width, height: 900 })
    const mode = `${width} px, ${media.colorScheme}${media.forcedColors === 'active' ? ', forced colours' : ''}`
    for (const violation of await violations()) found.add(`${mode}: ${violation}`)
  }
  expect([...found]).toEqual([])
}

const turnPath = (query = ''): string => `/turns/${TRACE_ID}${query}`
const heading = (name: string) => (): Locator => page.getByRole('heading', { name, exact: true })

const VIEWS: readonly (readonly [name: string, path: string, shown: () => Locator])[] = [
  ['Live without a running turn', '/', heading('Recent sessions')],
  ['Sessions', '/sessions', () => page.getByRole('table')],
  ['the timeline of a turn', turnPath(), () => page.getByRole('treeitem').first()],
  ['a failed span', turnPath('?span=0000000000000003'), heading('Failed')],
  ['Usage', '/usage?since=all', () => page.locator('.heat')],
  ['the transcript of a session', '/sessions/s-7f3a', () => page.locator('.talk').first()],
  ['the transcript of a turn', turnPath('?tab=transcript'), () => page.locator('.talk-step').first()],
  ['the usage of a turn', turnPath('?tab=usage'), () => page.getByRole('table').first()],
  ['Compare', `/compare?a=${TRACE_ID}&b=${'1a'.repeat(16)}`, heading('Comparison')],
]

for (const [name, path, shown] of VIEWS) {
  test(`has no violation in ${name}`, async () => {
    await page.goto(viewer.at(path))
    await shown().waitFor()
    await expectAccessible()
  })
}

test('has no violation in the panel of a request with captured messages', async () => {
  await page.goto(viewer.at('/sessions/s-7f3a'))
  const requests = page.locator('.talk > ol > li').filter({ has: page.getByText('model request', { exact: true }) })
  await requests.nth(1).locator('.talk-line > a').first().click()
  const panel = page.getByRole('complementary')
  await panel.getByRole('heading', { name: /^Answer/ }).waitFor()
  await panel.getByText('Instructions', { exact: true }).click()
  await panel.getByText('All attributes').click()
  await expectAccessible()
})

test('has no violation in Live with a running turn and an open approval', async () => {
  const agent = new Agent(viewer)
  agent.emit('on_session_start', { agent_name: 'claude-code' })
  agent.emit('pre_llm_call', { user_message: 'Publish it', model: 'qwen3' })
  agent.emit('pre_tool_call', { tool_name: 'terminal', tool_call_id: 'c1', args: { command: 'git push' } })
  agent.emit('pre_approval_request', { command: 'git push', pattern_key: 'push', surface: 'cli' })
  await page.goto(viewer.url)
  await page.locator('.approval pre').waitFor()
  await expectAccessible()
})

test('has no violation in the dialogs', async () => {
  await page.goto(viewer.at(turnPath()))
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByText('13 spans').waitFor()
  await expectAccessible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await expectAccessible()
})

test('has no violation in the first steps', async () => {
  const empty = new Viewer()
  afterwards(() => empty.stop())
  await empty.start()
  ;({ page } = await openPage(browser, empty, 1440, 900))
  await page.goto(empty.url)
  await page.getByRole('heading', { name: 'No traces yet' }).waitFor()
  await expectAccessible()
})

/** Far more than the elements before any target. */
const MAX_TABS = 80

async function hasFocus(target: Locator): Promise<boolean> {
  return (await target.and(page.locator(':focus')).count()) > 0
}

async function tabTo(target: Locator): Promise<void> {
  await target.waitFor()
  for (let count = 0; count < MAX_TABS; count++) {
    if (await hasFocus(target)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`not reached by Tab: ${target}`)
}

test('leads from Live to a failure of yesterday and its message by keyboard alone', async () => {
  await page.goto(viewer.url)
  await tabTo(page.getByRole('link', { name: 'Sessions', exact: true }))
  await page.keyboard.press('Enter')
  await tabTo(page.getByRole('combobox', { name: 'Time range' }))
  await page.keyboard.type('a day')
  await expect.poll(() => page.url()).toContain('since=24h')
  await tabTo(page.getByRole('link', { name: /^with errors/ }))
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Publish the beta' }).waitFor({ state: 'hidden' })
  await tabTo(page.getByRole('link', { name: 'Publish the release' }))
  await page.keyboard.press('Enter')
  await tabTo(page.locator('.talk-head a').first())
  await page.keyboard.press('Enter')
  await tabTo(page.getByRole('tree'))
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  const panel = page.getByRole('complementary')
  await panel.locator('.failure-text', { hasText: 'E403: the token has expired' }).waitFor()
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'hidden' })
  expect(await hasFocus(page.getByRole('tree'))).toBe(true)
})

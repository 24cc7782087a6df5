import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { cleanUp } from '../../support/afterwards.ts'
import { openBrowser } from '../support/browser.ts'
import { Agent, openPage, Viewer } from './viewer.ts'

const EVIL = `<img src=x onerror="window.evil=1"> [x](javascript:window.evil=2) ![x](http://evil.example/x.png)
**<svg onload="window.evil=3">** \u202e\u001b[2J
\`\`\`html"><script>window.evil=4</script>
</code></pre><script>window.evil=5</script>`

const EVIL_TRACE = 'c'.repeat(32)

function turnNote(trace: string, session: string, more: Readonly<Record<string, string>> = {}): SpanNote {
  const attributes = { 'hermes.span.kind': 'session', 'session.id': session, ...more }
  return { id: '1'.repeat(16), trace, name: 'agent', from: 0, to: 900, attributes }
}

const LONG_SESSION = Array.from({ length: 500 }, (_, index) => {
  const trace = `d${index.toString(16).padStart(3, '0')}`.repeat(8)
  const texts = { 'input.value': `question ${index}`, 'output.value': `answer ${index}` }
  return { ...turnNote(trace, 'long', texts), from: index * 2_000, to: index * 2_000 + 900 }
})

let viewer: Viewer
let browser: Browser
let page: Page

beforeAll(async () => {
  viewer = new Viewer()
  viewer.write('sample.jsonl', exportLine(...SAMPLE_TURN))
  viewer.write('long.jsonl', ...LONG_SESSION.map(note => exportLine(note)))
  viewer.write('bare.jsonl', exportLine(turnNote('b'.repeat(32), 'bare')))
  viewer.write(
    'evil.jsonl',
    exportLine(turnNote(EVIL_TRACE, 'evil', { 'input.value': EVIL, 'output.value': EVIL }), {
      ...turnNote(EVIL_TRACE, 'evil', {
        'hermes.span.kind': 'tool',
        'gen_ai.tool.name': EVIL,
        'gen_ai.tool.call.arguments': JSON.stringify({ old: EVIL, new: `${EVIL}x`, path: 'a.ts' }),
        'gen_ai.tool.call.result': EVIL,
      }),
      id: '2'.repeat(16),
      parent: '1'.repeat(16),
      status: 2,
      message: EVIL,
    }),
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
  ;({ page } = await openPage(browser, viewer, 1280, 800))
})

afterEach(cleanUp)

test('selects the tabs of a turn by key and by address', async () => {
  await page.goto(viewer.at(`/turns/${TRACE_ID}`))
  await page.getByRole('tree').waitFor()
  await page.keyboard.press('u')
  await page.getByRole('row', { name: /^terminal 1 0 5\.7 s/ }).waitFor()
  expect(page.url()).toContain('tab=usage')
  await page.reload()
  const tab = page.getByRole('navigation', { name: 'Views of this turn' }).getByRole('link', { name: 'Usage' })
  await tab.waitFor()
  expect(await tab.getAttribute('aria-current')).toBe('page')
  await page.keyboard.press('l')
  await page.getByRole('tree').waitFor()
})

async function openDemo(): Promise<Locator> {
  await page.goto(viewer.at('/sessions/s-7f3a'))
  const turn = page.getByRole('article', { name: /Fix it, delete the old build output/ })
  await turn.locator('.talk').waitFor()
  return turn
}

test('reads a session as a conversation', async () => {
  const turn = await openDemo()
  await turn.locator('.said.is-question', { hasText: 'Fix it, delete the old build output' }).waitFor()
  await turn.locator('.said.is-answer', { hasText: 'is in seconds now' }).waitFor()
  await turn.getByText(/by you, waited/).waitFor()
  const agent = turn.locator('.talk-step.is-agent')
  expect(await agent.locator('.talk').count()).toBe(0)
  await agent.locator('button.unfold').first().click()
  await agent.locator('.said.is-answer', { hasText: 'The change in src/session.ts is right' }).waitFor()
  const failed = page.getByRole('article', { name: /The login test/ }).locator('.talk-step.is-failed')
  await failed.locator('.failure-text', { hasText: 'AssertionError: expected 3600000 to be 3600' }).waitFor()
})

test('moves between steps by key, and opens the span of one', async () => {
  await page.goto(viewer.at(`/turns/${TRACE_ID}?tab=transcript`))
  const first = page.locator('.talk-step button.unfold').first()
  await first.waitFor()
  await first.focus()
  expect(await first.getAttribute('aria-expanded')).toBe('true')
  await page.getByText(/^2 in parallel/).waitFor()
  expect(await page.locator('.talk-step.in-group').count()).toBe(2)
  await page.keyboard.press('Enter')
  await expect.poll(() => first.getAttribute('aria-expanded')).toBe('false')
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('complementary').getByRole('heading', { level: 2, name: 'tool.terminal' }).waitFor()
  await page.keyboard.press('t')
  await first.waitFor()
})

test('opens a session of 500 turns, renders the visible ones, and jumps to the end', async () => {
  const startedAt = performance.now()
  await page.goto(viewer.at('/sessions/long'))
  await page.getByRole('feed').getByText('question 0', { exact: true }).waitFor()
  console.log(`500 turns: ${Math.round(performance.now() - startedAt)} ms`)
  expect(await page.locator('.said').count()).toBeLessThan(100)
  expect(await page.getByRole('article').count()).toBe(500)
  await page.getByRole('button', { name: 'Jump to now' }).click()
  await page.getByText('answer 499', { exact: true }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'Jump to now' }).count()).toBe(0)
  expect(await page.locator('.said').count()).toBeLessThan(100)
})

test('follows a running turn at its end', async () => {
  const agent = new Agent(viewer)
  agent.emit('pre_llm_call', { user_message: 'Count to forty', model: 'qwen3' })
  const question = page.getByRole('feed').getByText('Count to forty').first()
  await expect
    .poll(
      async () => {
        // Without another page between them, the second visit would not load anything.
        await page.goto('about:blank')
        await page.goto(viewer.at('/sessions/s-live'))
        await question.waitFor({ timeout: 3_000 }).catch(() => undefined)
        return question.count()
      },
      { timeout: 20_000 },
    )
    .toBe(1)
  for (let index = 0; index < 40; index++) {
    const call = { tool_name: 'terminal', tool_call_id: `c${index}`, args: { command: `echo ${index}` } }
    agent.emit('pre_tool_call', call)
    agent.emit('post_tool_call', { ...call, result: 'yes', status: 'completed' })
  }
  await expect
    .poll(
      () => page.getByText('echo 39', { exact: true }).evaluate(element => element.getBoundingClientRect().bottom),
      {
        timeout: 20_000,
      },
    )
    .toBeLessThan(800)
  await agent.end()
})

test('explains that content was not captured, and how to switch it on', async () => {
  await page.goto(viewer.at('/sessions/bare'))
  await page.getByText('content_capture: preview').waitFor()
})

test('shows hostile content of a transcript as text', async () => {
  for (const path of ['/sessions/evil', `/turns/${EVIL_TRACE}?tab=transcript`]) {
    await page.goto(viewer.at(path))
    await page.locator('.said.is-answer').waitFor()
    await page.locator('.failure-text').waitFor()
    expect(await page.evaluate('window.evil')).toBeUndefined()
    expect(await page.locator('main :is(img, script, svg svg, iframe, style, [onload], [onerror])').count()).toBe(0)
    expect(await page.locator('main a:not([href^="/"])').count()).toBe(0)
    const text = await page.locator('main').innerText()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u001b\u202e]/)
    expect(text).toContain('x (http://evil.example/x.png)')
  }
})

test('fits a narrow screen in every tab, without sideways scrolling', async () => {
  await page.setViewportSize({ width: 390, height: 800 })
  for (const path of ['/sessions/evil', `/turns/${TRACE_ID}?tab=transcript`, `/turns/${TRACE_ID}?tab=usage`]) {
    await page.goto(viewer.at(path))
    await page.locator('.talk-step, .list').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390)
  }
})

/** The panel of a request in the demo's second turn, counted from 0. */
async function openRequest(nth: number): Promise<Locator> {
  const turn = await openDemo()
  const requests = turn.locator('.talk > ol > li').filter({ has: page.getByText('model request', { exact: true }) })
  await requests.nth(nth).locator('.talk-line > a').first().click()
  return page.getByRole('complementary')
}

test('begins a request with its figures, the answer and the new messages', async () => {
  const panel = await openRequest(1)
  const headings = panel.getByRole('heading', { level: 3 })
  await panel.getByRole('heading', { name: /^Answer/ }).waitFor()
  await panel.getByText('tokens in', { exact: true }).waitFor()
  await panel.getByText('finish reason', { exact: true }).waitFor()
  expect((await headings.allTextContents()).slice(0, 2).map(text => text.replace(/ ?Copy$/, ''))).toEqual([
    'Answer',
    expect.stringMatching(/^New since the last request \(\d+\)$/),
  ])
  const instructions = panel.getByText('Instructions', { exact: true })
  expect(await panel.getByRole('heading', { name: /^Instructions/ }).count()).toBe(0)
  await instructions.click()
  await panel.getByRole('heading', { name: /^Instructions/ }).waitFor()
  await panel.getByText(/^\d+ earlier messages?$/).click()
  await panel.getByRole('heading', { name: /^Earlier messages/ }).waitFor()
  expect(await panel.locator('.message.role-system').count()).toBe(0)
  const comparison = panel.locator('details', { hasText: 'Prompt compared with the last request' })
  await comparison.locator('summary').click()
  await comparison.locator('.diff .is-new').first().waitFor()
  await panel.getByRole('button', { name: 'Show the last request' }).click()
  await panel.getByRole('heading', { name: /^Messages \(\d+\)/ }).waitFor()
})

test('begins a failure with what failed', async () => {
  await page.goto(viewer.at(`/turns/${EVIL_TRACE}?span=${'2'.repeat(16)}`))
  const panel = page.getByRole('complementary')
  await panel.getByRole('heading', { level: 3 }).first().waitFor()
  expect(await panel.getByRole('heading', { level: 3 }).first().textContent()).toBe('Failed')
  await panel.locator('.failure-text', { hasText: '<img src=x' }).waitFor()
  await panel.locator('.diff .is-new').waitFor()
  expect(await page.evaluate('window.evil')).toBeUndefined()
  expect(await panel.locator('img, script, iframe, a[href^="javascript"]').count()).toBe(0)
})

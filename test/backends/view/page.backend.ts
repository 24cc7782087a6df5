import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { exportLine, noteLine, SAMPLE_TURN, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { afterwards, cleanUp } from '../../support/afterwards.ts'
import { openBrowser } from '../support/browser.ts'
import { takePicture } from '../support/picture.ts'
import { Agent, openPage, Viewer, type Watch } from './viewer.ts'

const MANY = 'b'.repeat(32)
const HOSTILE = 'c'.repeat(32)

/** What would do something, if anything of it were taken for what it looks like. */
const EVIL = `</script><script>window.evil=1</script><img src=x onerror="window.evil=2"><svg onload="window.evil=3"></svg>
<iframe srcdoc="<script>parent.evil=4</script>"></iframe><a href="javascript:window.evil=5">x</a>
![x](http://evil.example/x.png) {{constructor.constructor('window.evil=6')()}} \${alert(7)}
\u001b]0;title\u0007\u001b[2J\u009b31m \u202eevil\u2066 \u200b`

function manySpans(count: number): string {
  const root: SpanNote = {
    id: 'a000000000000000',
    trace: MANY,
    name: 'agent',
    from: 0,
    to: count * 10,
    attributes: { 'hermes.span.kind': 'session', 'session.id': 'many', 'input.value': 'a turn of very many steps' },
  }
  const steps = Array.from({ length: count - 1 }, (_, index): SpanNote => {
    const id = (index + 1).toString(16).padStart(16, '0')
    const attributes = { 'hermes.span.kind': 'tool', 'hermes.tool.command': `step ${index + 1}` }
    return {
      id,
      parent: root.id,
      trace: MANY,
      name: `tool.t${index % 7}`,
      from: index * 10,
      to: index * 10 + 9,
      attributes,
    }
  })
  return exportLine(root, ...steps)
}

const HOSTILE_TURN = exportLine(
  {
    id: 'c000000000000001',
    trace: HOSTILE,
    name: EVIL,
    from: 1_000,
    to: 2_000,
    message: EVIL,
    status: 2,
    attributes: {
      'hermes.span.kind': 'session',
      'session.id': `evil"><script>window.evil=8</script>`,
      'gen_ai.agent.name': EVIL,
      'gen_ai.request.model': EVIL,
      'input.value': EVIL,
      'output.value': EVIL,
      [EVIL]: EVIL,
      __proto__x: 'x',
    },
  },
  {
    id: 'c"><script>window.evil=9</script>',
    parent: 'c000000000000001',
    trace: HOSTILE,
    name: 'tool.evil',
    from: 1_100,
    to: 1_200,
    attributes: {
      'hermes.span.kind': 'tool',
      'gen_ai.tool.call.arguments': JSON.stringify({
        html: EVIL,
        ['<img src=x onerror=window.evil=10>']: [EVIL, { deep: EVIL }],
      }),
      'gen_ai.tool.call.result': EVIL.repeat(2_000),
      'gen_ai.input.messages': JSON.stringify([
        { role: EVIL, parts: [{ type: 'text', content: EVIL }, { type: EVIL }] },
      ]),
    },
  },
)

/** What a page may try that runs at another port; as text, because it is for a browser. */
function attackOn(origin: string): string {
  return `(async () => {
    const origin = ${JSON.stringify(origin)}
    const read = options => fetch(origin + '/api/status', options).then(({ type, status }) => type + ' ' + status, () => 'refused')
    const added = (name, source) => new Promise(resolve => {
      const element = document.createElement(name)
      element.onload = () => resolve(element.contentDocument ? 'readable' : 'loaded')
      element.onerror = () => resolve('refused')
      element.src = source
      document.body.append(element)
    })
    const frame = await added('iframe', origin)
    const script = await added('script', origin + '/page.js')
    const opened = open(origin)
    await new Promise(resolve => setTimeout(resolve, 500))
    let inWindow
    try { inWindow = 'readable: ' + opened.document.body.innerText } catch { inWindow = 'another origin' }
    return [
      await read({ credentials: 'include' }),
      await read({ mode: 'no-cors' }),
      await read({ headers: { authorization: 'Bearer x' } }),
      frame, script, inWindow,
    ]
  })()`
}

const PARENT = 'e'.repeat(32)

/** A delegation, and the turn of its child, which is a trace of its own. */
const DELEGATION = exportLine(
  {
    id: 'e000000000000001',
    trace: PARENT,
    name: 'agent',
    from: 0,
    to: 900,
    attributes: { 'hermes.span.kind': 'session', 'hermes.session.id': 'parent', 'session.id': 'parent' },
  },
  {
    id: 'e000000000000002',
    parent: 'e000000000000001',
    trace: PARENT,
    name: 'subagent.helper',
    from: 100,
    to: 800,
    attributes: { 'hermes.span.kind': 'subagent', 'hermes.subagent.child_session_id': 'child', 'session.id': 'parent' },
  },
  {
    id: 'e000000000000003',
    trace: 'f'.repeat(32),
    name: 'agent.child',
    from: 150,
    to: 700,
    attributes: { 'hermes.span.kind': 'session', 'hermes.session.id': 'child', 'session.id': 'child' },
  },
)

/** An agent is a process that has to start, on a machine that may be busy. */
const SOON = { timeout: 20_000 }

let viewer: Viewer
let browser: Browser
let context: BrowserContext
let watch: Watch
let page: Page

beforeAll(async () => {
  viewer = new Viewer()
  viewer.write('sample.jsonl', exportLine(...SAMPLE_TURN))
  viewer.write('many.jsonl', manySpans(5_000))
  viewer.write('evil.jsonl', HOSTILE_TURN)
  viewer.write('delegation.jsonl', DELEGATION)
  await viewer.replay('hermes-turn.jsonl', 'demo-session.jsonl')
  await viewer.start()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await viewer?.stop()
})

beforeEach(async () => {
  ;({ context, page, watch } = await openPage(browser, viewer, 1280, 800))
})

afterEach(cleanUp)

function tree(of: Page = page): Locator {
  return of.getByRole('tree')
}

async function activeRow(): Promise<string | null> {
  const id = await tree().getAttribute('aria-activedescendant')
  const text = await page.locator(`[id="${id}"] .name-cell`).textContent()
  return text?.replace(/^[▾▸]/, '') ?? null
}

async function openTurn(traceId: string, query = ''): Promise<void> {
  await page.goto(viewer.at(`/turns/${traceId}${query}`))
  await tree().waitFor()
}

describe('access', () => {
  test('removes the token from the address, and keeps it for the tab', async () => {
    await page.goto(viewer.url)
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    expect(page.url()).toBe(`${viewer.origin}/`)
    await page.reload()
    await page.getByText('live', { exact: true }).waitFor()
  })

  test('gets the token in a new tab from an open one', async () => {
    await page.goto(viewer.url)
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    const other = await context.newPage()
    await other.goto(`${viewer.origin}/sessions`)
    await other.getByRole('table').waitFor()
  })

  test('explains what to do in a tab without another one', async () => {
    await page.goto(viewer.origin)
    await page.getByText('This tab has no token').waitFor()
    expect(watch.requests.filter(url => url.includes('/api/'))).toEqual([])
  })

  test('gives nothing to a page of another port, in any way', async () => {
    const attacker = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html>'),
    )
    await new Promise<void>(resolve => attacker.listen(0, '127.0.0.1', resolve))
    afterwards(() => attacker.close())
    const { port } = attacker.address() as AddressInfo
    const other = await browser.newContext()
    afterwards(() => other.close())
    const evil = await other.newPage()
    await evil.goto(`http://127.0.0.1:${port}/`)
    const found = await evil.evaluate(attackOn(viewer.origin))
    expect(found).toEqual(['refused', 'refused', 'refused', 'loaded', 'refused', 'another origin'])
  })
})

describe('the list of sessions', () => {
  test('searches them, and leads to their turns', async () => {
    await page.goto(viewer.at('/sessions'))
    await page.getByRole('table').waitFor()
    const all = await page.getByRole('row').count()
    expect(all).toBeGreaterThan(3)
    await page.getByText('Latest: And what did the reviewer say?').waitFor()
    await page.getByLabel('Text', { exact: true }).fill('reviewer')
    await expect.poll(() => page.getByRole('row').count()).toBeLessThan(all)
    expect(page.url()).toContain('text=reviewer')
    // Lists, the page and its tab name a session by its first question.
    const title = 'The login test has been failing since yesterday. Why?'
    await page.getByRole('link', { name: title, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
    expect(await page.title()).toContain(title)
    await page.locator('.turn-card a').first().click()
    await tree().waitFor()
    await page.goBack()
    await page.locator('.turn-card').first().waitFor()
  })
})

describe('the sessions of projects', () => {
  const PROJECTS = [
    { project: 'shop', branch: 'main', cost: 0.5 },
    { project: 'shop', branch: 'fix/login', cost: 4 },
    { project: 'blog', branch: 'main', cost: 2 },
  ]

  beforeAll(() => {
    const lines = PROJECTS.map(({ project, branch, cost }, index) => {
      const attributes = {
        'hermes.span.kind': 'session',
        'hermes.workspace.directory': project,
        'vcs.ref.head.name': branch,
        'session.id': `basket${index}`,
        'llm.cost.total': cost,
        'input.value': `basket ${index} of ${project}`,
      }
      return exportLine({ id: '1', trace: `ba${index}0`.repeat(8), name: 'agent', from: 0, to: 60, attributes })
    })
    viewer.write('projects.jsonl', ...lines)
  })

  const titles = (): Promise<string[]> => page.locator('.sessions tbody .two-lines').allTextContents()
  const facet = (name: RegExp): Locator =>
    page.getByRole('complementary', { name: 'Filters' }).getByRole('link', { name })

  test('are narrowed by a value with its count, which the address keeps, and widened again', async () => {
    await page.goto(viewer.at('/sessions?text=basket'))
    await facet(/^shop\s*2$/).click()
    await expect.poll(titles, SOON).toHaveLength(2)
    expect(page.url()).toContain('project=shop')
    // The counts of a facet are those without its own value.
    await facet(/^blog\s*1$/).waitFor()
    await facet(/^fix\/login\s*1$/).click()
    await expect.poll(titles).toEqual(['basket 1 of shop'])
    await page.reload()
    await expect.poll(titles, SOON).toEqual(['basket 1 of shop'])
    expect(await facet(/^shop/).getAttribute('aria-current')).toBe('page')
    await facet(/^shop/).click()
    await facet(/^fix\/login/).click()
    await expect.poll(titles).toHaveLength(3)
  })

  test('are sorted by a column, in both directions', async () => {
    await page.goto(viewer.at('/sessions?text=basket'))
    const head = page.getByRole('columnheader', { name: 'Cost' })
    await head.getByRole('link').click()
    await expect.poll(titles, SOON).toEqual([1, 2, 0].map(index => `basket ${index} of ${PROJECTS[index]?.project}`))
    expect(await head.getAttribute('aria-sort')).toBe('descending')
    await head.getByRole('link').click()
    await expect.poll(titles).toEqual([0, 2, 1].map(index => `basket ${index} of ${PROJECTS[index]?.project}`))
    expect(page.url()).toContain('sort=-cost')
  })

  test('open with a click anywhere in the row, and name the tab', async () => {
    await page.goto(viewer.at('/sessions?text=basket'))
    await expect.poll(() => page.title(), SOON).toBe('Sessions · hookspan')
    const row = page.getByRole('row', { name: /basket 1/ })
    // The link of the title covers the row.
    await row.getByRole('cell').nth(4).click({ force: true })
    await page.getByRole('heading', { level: 1, name: 'basket 1 of shop' }).waitFor()
    await page.getByText('shop · fix/login').waitFor()
    await expect.poll(() => page.title()).toBe('basket 1 of shop · hookspan')
  })
})

test('shows the first steps while there are no traces', async () => {
  const empty = new Viewer()
  afterwards(() => empty.stop())
  await empty.start()
  const other = await browser.newContext()
  afterwards(() => other.close())
  const first = await other.newPage()
  await first.goto(empty.url)
  await first.getByRole('heading', { name: 'No traces yet' }).waitFor()
  expect(await first.locator('.first-steps li').allTextContents()).toEqual([
    expect.stringMatching(/^Run npx hookspan init/),
    expect.stringMatching(/^Use your agent/),
    'Its turns appear here.',
  ])
  expect(await first.getByRole('heading', { name: 'Recent sessions' }).count()).toBe(0)
  await empty.replay('hermes-turn.jsonl')
  await first.getByRole('heading', { name: 'Recent sessions' }).waitFor(SOON)
  await first.getByRole('heading', { name: 'No traces yet' }).waitFor({ state: 'hidden' })
})

test('is no wider than the window with one long word', async () => {
  const word = `${'x'.repeat(3_000)} plan`
  const attributes = {
    'hermes.span.kind': 'session',
    'session.id': 'long',
    'gen_ai.agent.name': 'y'.repeat(300),
    'input.value': word,
  }
  viewer.write(
    'long.jsonl',
    exportLine({ id: '9'.repeat(16), trace: '9'.repeat(32), name: 'agent', from: 0, to: 900, attributes }),
  )
  for (const path of ['/sessions?text=plan', '/sessions', '/']) {
    await page.goto(viewer.at(path))
    await page.getByRole('link', { name: /^xxx/ }).first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(1280)
    const widths = await page
      .getByRole('columnheader')
      .evaluateAll(all => all.map(each => each.getBoundingClientRect().width))
    expect(Math.min(...widths), path).toBeGreaterThan(50)
  }
})

describe('a turn', () => {
  test('is a tree for keys and screen readers', async () => {
    await openTurn(TRACE_ID, '?stored=1')
    const rows = page.getByRole('treeitem')
    await expect.poll(() => rows.count()).toBe(SAMPLE_TURN.length)
    await tree().focus()
    await page.keyboard.press('End')
    await expect.poll(activeRow).toMatch(/^model request api\.qwen3/)
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    await expect.poll(activeRow).toMatch(/^loop llm\.qwen3/)
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => rows.count()).toBe(2)
    expect(await rows.nth(1).getAttribute('aria-expanded')).toBe('false')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => rows.count()).toBe(SAMPLE_TURN.length)
    await page.keyboard.press('Enter')
    await page.getByRole('complementary').getByRole('heading', { level: 2, name: 'llm.qwen3-coder-30b' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('complementary').count()).toBe(0)
    const levels = await rows.evaluateAll(all => all.map(row => row.getAttribute('aria-level')).join(' '))
    expect(levels).toBe('1 2 3 3 4 5 4 4 5 6 7 8 3')
  })

  test('finds text of arguments, and a link leads to the span', async () => {
    await openTurn(TRACE_ID)
    await tree().focus()
    await page.keyboard.press('/')
    await page.keyboard.type('rm -rf')
    await page.getByText('– of 2').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('1 of 2').waitFor()
    await page.getByRole('treeitem', { name: /tool\.terminal/ }).click()
    const panel = page.getByRole('complementary')
    await panel.getByText('rm -rf ./build').first().waitFor()
    const link = page.url()
    expect(link).toContain('span=0000000000000005')
    const other = await context.newPage()
    await other.goto(link)
    await other.getByRole('complementary').getByText('rm -rf ./build').first().waitFor()
  })

  test('opens the turn of a child session inside of its own, and so does the address', async () => {
    await openTurn(PARENT, '?stored=1')
    const rows = page.getByRole('treeitem')
    await tree().focus()
    await page.keyboard.press('End')
    await expect.poll(() => rows.last().getAttribute('aria-expanded')).toBe('false')
    await page.keyboard.press('ArrowRight')
    const child = page.getByRole('treeitem', { name: /agent\.child/ })
    await child.waitFor()
    expect(await child.getAttribute('aria-level')).toBe('3')
    await child.click()
    await page.getByRole('complementary').getByRole('heading', { level: 2, name: 'agent.child' }).waitFor()
    await page.reload()
    await child.waitFor()
    await page.getByRole('complementary').getByRole('heading', { level: 2, name: 'agent.child' }).waitFor()
  })

  test('puts a distant match in the middle, and marks it in the row and in the details', async () => {
    const marked = (): Promise<unknown> =>
      page.evaluate("[...(CSS.highlights.get('match') ?? [])].map(range => range.toString())")
    await openTurn(MANY, '?unfolded=1&find=step+3333')
    await page.getByText('1 of 1').or(page.getByText('– of 1')).waitFor()
    await tree().focus()
    await page.keyboard.press('n')
    const row = page.getByRole('treeitem', { name: /step 3333/ })
    await row.waitFor()
    const [box, around] = [await row.boundingBox(), await tree().boundingBox()]
    const middle = ((box?.y ?? 0) - (around?.y ?? 0)) / (around?.height ?? 1)
    expect(middle).toBeGreaterThan(0.25)
    expect(middle).toBeLessThan(0.75)
    await expect.poll(marked).toContain('step 3333')
    const before = ((await marked()) as string[]).length
    await page.keyboard.press('Enter')
    await page.getByRole('complementary').waitFor()
    await expect.poll(async () => ((await marked()) as string[]).length).toBeGreaterThan(before)
    await page.goto(viewer.at('/sessions?text=reviewer'))
    await page.locator('.match').first().waitFor()
    await expect.poll(marked).toContain('reviewer')
  })

  test('shows its bars in forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' })
    await openTurn(TRACE_ID)
    const styles = (selector: string, style: string): Promise<string[]> =>
      page.evaluate(`[...document.querySelectorAll('${selector}')].map(each => getComputedStyle(each).${style})`)
    const colours = await styles('.row .bar', 'background')
    const [canvas = ''] = await styles('body', 'backgroundColor')
    expect(new Set(colours).size).toBeGreaterThan(2)
    expect(colours.filter(colour => colour.startsWith(`${canvas} none`))).toEqual([])
    const icons = await styles('.icon', 'fill')
    expect(new Set(icons).size).toBeGreaterThan(2)
  })

  test('renders as many of five thousand spans as are visible, and scrolls to its end', async () => {
    await openTurn(MANY, '?unfolded=1')
    expect(await page.getByRole('treeitem').count()).toBeLessThan(100)
    await tree().focus()
    await page.keyboard.press('End')
    await page.getByRole('treeitem', { name: /step 4999/ }).waitFor()
    expect(await page.getByRole('treeitem').count()).toBeLessThan(100)
  })

  test('fits a narrow screen, without sideways scrolling', async () => {
    await page.setViewportSize({ width: 390, height: 800 })
    for (const path of [
      '/',
      '/sessions',
      '/usage?since=all',
      `/turns/${TRACE_ID}`,
      `/turns/${TRACE_ID}?span=0000000000000005`,
    ]) {
      await page.goto(viewer.at(path))
      await page
        .getByText(/Recent sessions|Sessions|Usage|Remove the build/)
        .first()
        .waitFor()
      const width = await page.evaluate('document.documentElement.scrollWidth')
      expect(width, path).toBeLessThanOrEqual(390)
    }
  })
})

test('shows an open span when it begins, extends it, and ends it', async () => {
  await page.goto(viewer.url)
  await page.getByText('No turn is running').waitFor()
  const root: SpanNote = {
    id: 'd000000000000001',
    trace: 'd'.repeat(32),
    name: 'agent',
    from: Date.now() - 1_795_256_100_000,
    to: Date.now() - 1_795_256_100_000 + 1_000,
    attributes: { 'hermes.span.kind': 'session', 'session.id': 'now', 'input.value': 'What is open now?' },
  }
  const tool: SpanNote = {
    ...root,
    id: 'd000000000000002',
    parent: root.id,
    name: 'tool.sleep',
    attributes: { 'hermes.span.kind': 'tool' },
  }
  viewer.write('open.jsonl', noteLine(root, tool))
  const card = page.locator('.open-card', { hasText: 'What is open now?' })
  await card.waitFor()
  await card.getByText('tool.sleep').waitFor()
  // Nobody has said which process writes this file.
  expect(await card.textContent()).toMatch(/Process exited|Running/)
  viewer.write('open.jsonl', exportLine(tool, root))
  await page.getByText('No turn is running').waitFor()
})

test('stays open with a mark if it is silent for long while its process lives', async () => {
  const from = Date.now() - 1_795_256_100_000 - 41 * 60_000 - 5_000
  const root: SpanNote = {
    id: 'e100000000000001',
    trace: 'e1'.repeat(16),
    name: 'agent',
    from,
    to: from,
    attributes: { 'hermes.span.kind': 'session', 'session.id': 'silent', 'input.value': 'Run all tests' },
  }
  const tool = {
    ...root,
    id: 'e100000000000002',
    parent: root.id,
    name: 'tool.terminal',
    attributes: { 'hermes.span.kind': 'tool' },
  }
  viewer.own('1000-1')
  viewer.write('1000-1.jsonl', noteLine(root, tool))
  await page.goto(viewer.url)
  const card = page.locator('.open-card.is-hung', { hasText: 'Run all tests' })
  await card.getByText(/^Silent for 41 m \d\d s \(process alive\) · open for 41 m/).waitFor()
  await card.getByRole('link', { name: 'Run all tests' }).click()
  await page.getByText('silent for (process alive)').waitFor()
  viewer.write('1000-1.jsonl', exportLine(tool, root))
  await page.goto(viewer.url)
  await page.getByText('No turn is running').waitFor()
})

test("shows the agent's current step while it runs, and is drawn to its end", async () => {
  const agent = new Agent(viewer)
  agent.emit('pre_llm_call', { user_message: 'Is anybody there?', model: 'qwen3' })
  agent.emit('pre_tool_call', { tool_name: 'terminal', tool_call_id: 'c1', args: { command: 'sleep 60' } })
  await page.goto(viewer.url)
  const card = page.locator('.open-card', { hasText: 'Is anybody there?' })
  await card.getByText('sleep 60').waitFor()
  await card.getByText(/^Running/).waitFor()
  await expect.poll(() => page.title()).toBe('1 open · hookspan')
  await card.getByRole('link', { name: 'Is anybody there?' }).click()
  const row = page.getByRole('treeitem', { name: /tool\.terminal.*open/ })
  await row.waitFor()
  const bar = row.locator('.bar').first()
  const before = (await bar.boundingBox())?.width ?? 0
  // It is reckoned from one property, of which a second more is as good as a second that has passed.
  await tree().evaluate(element => {
    const { style } = element as unknown as { style: { setProperty(name: string, value: string): void } }
    style.setProperty('--span', '600000')
    style.setProperty('--now', '590000')
  })
  expect((await bar.boundingBox())?.width).toBeGreaterThan(before * 0.9)
  agent.emit('post_tool_call', { tool_name: 'terminal', tool_call_id: 'c1', result: 'yes', status: 'completed' })
  agent.emit('on_session_end', { completed: true })
  await page.getByRole('treeitem', { name: /tool\.terminal.*completed/ }).waitFor()
  await page.getByText('completed', { exact: true }).first().waitFor()
  await page.goto(viewer.url)
  await page.getByText('No turn is running').waitFor()
})

test('shows hostile content as text, everywhere', async () => {
  const look = async (): Promise<void> => {
    expect(await page.evaluate('window.evil')).toBeUndefined()
    expect(await page.locator('iframe, img, script:not([src="/page.js"]), a[href^="javascript"], style').count()).toBe(
      0,
    )
    const text = await page.locator('body').innerText()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u001b\u009b\u202e\u2066\u200b]/)
  }
  await page.goto(viewer.at('/sessions'))
  await page.getByRole('table').waitFor()
  await look()
  await openTurn(HOSTILE)
  await look()
  await page.getByRole('treeitem').first().click()
  const panel = page.getByRole('complementary')
  await panel.getByText('All attributes').click()
  await panel.getByText('␛]0;title␇').first().waitFor()
  await look()
  await page.getByRole('treeitem', { name: /tool\.evil/ }).click()
  await panel.getByRole('heading', { name: /^Arguments/ }).waitFor()
  await panel.getByText('All attributes').click()
  await look()
})

test('copies shown values, and reports if that fails', async () => {
  await openTurn(TRACE_ID)
  const copy = page.getByRole('button', { name: /^Copy/ }).first()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await copy.click()
  await expect.poll(() => copy.textContent()).toBe('Copied')
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(TRACE_ID)
  await openTurn(HOSTILE, '?span=c000000000000001')
  const copyAnswer = page.getByRole('button', { name: 'Copy: Output' })
  await copyAnswer.click()
  await expect.poll(() => copyAnswer.textContent()).toBe('Copied')
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(EVIL)
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
  await copy.click()
  await expect.poll(() => copy.textContent()).toBe('Copy failed')
})

test('moves nothing for a user who prefers so', async () => {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await openTurn(TRACE_ID)
  await page.getByRole('treeitem').first().waitFor()
  expect(await page.evaluate('document.getAnimations().length')).toBe(0)
})

test('has pictures of a session, a turn and the usage', async () => {
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 700 })
  await page.goto(viewer.at('/sessions?text=tides'))
  await page.getByRole('row', { name: /tides/ }).getByRole('link').first().click()
  await page.getByText(/reading|searchable/).waitFor({ state: 'hidden' })
  const turn = page.locator('.turn-card', { hasText: 'We are releasing tides' })
  await turn.getByText('Approval').first().waitFor()
  await page.mouse.move(0, 0)
  await takePicture(page, 'view-session')
  await turn.getByRole('link').first().click()
  await page.getByRole('treeitem', { name: /approval\.rm_rf/ }).waitFor()
  await page.mouse.move(0, 0)
  await takePicture(page, 'view-turn')
  await page.goto(viewer.at('/usage?since=all'))
  await page.getByRole('heading', { name: 'Heaviest sessions' }).waitFor()
  await takePicture(page, 'view-usage')
})

test('reports an unknown turn, with a link back, and does not request it at every change', async () => {
  const other = await context.newPage()
  await other.goto(viewer.at('/sessions?text=change'))
  await page.clock.install()
  await page.goto(viewer.at('/turns/0123'))
  await page.getByRole('alert').getByText('There is no such turn here, or not any more.').waitFor()
  const clock = async (): Promise<number> => Number(await page.evaluate('Date.now()'))
  const begunAt = await clock()
  for (let index = 0; index < 4; index++) {
    const attributes = { 'session.id': `change${index}`, 'input.value': `change ${index}` }
    viewer.write(
      'more.jsonl',
      exportLine({ id: '1', trace: `7${index}`.repeat(16), name: 'agent', from: 0, to: 1, attributes }),
    )
    await other.getByText(`change ${index}`).first().waitFor()
    await page.clock.fastForward(1_500)
  }
  const asked = watch.requests.filter(url => url.endsWith('/api/traces/0123')).length
  expect(asked).toBeLessThanOrEqual(1 + Math.ceil(((await clock()) - begunAt) / 10_000))
  await page.getByRole('main').getByRole('link', { name: 'All sessions' }).click()
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
})

test("handles the page's keys in every view", async () => {
  await page.goto(viewer.at('/usage?since=all'))
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' })
  await page.keyboard.press('/')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.keyboard.type('reviewer')
  await expect.poll(() => page.getByLabel('Text', { exact: true }).inputValue(), SOON).toBe('reviewer')
})

test("returns to the list's previous position", async () => {
  for (let index = 0; index < 40; index++) {
    const attributes = { 'hermes.span.kind': 'session', 'session.id': `row${index}`, 'input.value': `row ${index}` }
    const trace = `ac${index.toString(16).padStart(2, '0')}`.repeat(8)
    viewer.write('rows.jsonl', exportLine({ id: '1', trace, name: 'agent', from: 0, to: 1, attributes }))
  }
  await page.goto(viewer.at('/sessions?text=row'))
  await expect.poll(() => page.getByRole('row').count(), SOON).toBe(41)
  const link = page.getByRole('link', { name: /^row/ }).nth(30)
  await link.scrollIntoViewIfNeeded()
  const scrollTop = await page.evaluate('Math.round(scrollY)')
  expect(scrollTop).toBeGreaterThan(200)
  await link.click()
  await page.locator('.turn-card').waitFor()
  await page.goBack()
  await expect.poll(() => page.evaluate('Math.round(scrollY)'), SOON).toBe(scrollTop)
})

describe('usage', () => {
  test('sums up a period, and leads from each day, hour, model and tool to its sessions', async () => {
    await page.goto(viewer.at('/usage?since=all'))
    await page.getByText(/^\$\d+\.\d+ in all, \d+ % of input from cache$/).waitFor()
    await page.locator('.parts a').first().click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    expect(page.url()).toMatch(/day=\d{4}-\d\d-\d\d/)
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(1)
    await page.getByRole('button', { name: /^Remove filter: 20/ }).click()
    await expect.poll(() => page.url(), SOON).not.toContain('day=')
    await page.goBack()
    const hour = page.locator('.heat').getByRole('link').first()
    expect(await hour.getAttribute('aria-label')).toMatch(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+:00: \$\d/)
    await hour.click()
    await page.getByRole('button', { name: /^Remove filter: \w{3} \d+:00/ }).waitFor()
    await expect.poll(() => page.getByRole('row').count(), SOON).toBeGreaterThan(1)
    await page.goBack()
    await page
      .getByRole('row', { name: /^terminal/ })
      .getByRole('link')
      .first()
      .click()
    await expect.poll(() => page.url()).toContain('tool=terminal')
  })

  test('is by model or by agent, also for the keyboard, and the address has it', async () => {
    await page.goto(viewer.at('/usage?since=all'))
    await page.getByRole('combobox', { name: 'By' }).selectOption('agent')
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    expect(page.url()).toContain('by=agent')
    await page.reload()
    const table = page.getByText('Show as a table')
    await table.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('columnheader', { name: 'Day' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    expect(page.url()).toMatch(/day=\d{4}/)
  })

  test('keeps the colours of its marks in forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(viewer.at('/usage?since=all'))
    for (const mark of ['.parts i', '.heat i']) {
      await page.locator(mark).first().waitFor()
      const colour = await page.evaluate(`getComputedStyle(document.querySelector('${mark}')).backgroundColor`)
      expect(colour, mark).not.toBe('rgba(0, 0, 0, 0)')
      expect(colour, mark).not.toBe('rgb(0, 0, 0)')
    }
  })
})

describe('an agent that waits', () => {
  async function ask(command: string): Promise<Agent> {
    const agent = new Agent(viewer)
    agent.emit('on_session_start', { agent_name: 'claude-code' })
    agent.emit('pre_llm_call', { user_message: 'Publish it', model: 'qwen3' })
    agent.emit('pre_tool_call', { tool_name: 'terminal', tool_call_id: 'c1', args: { command } })
    agent.emit('pre_approval_request', { command, pattern_key: 'push', surface: 'cli' })
    return agent
  }

  test('needs the user: shows its whole command as text, and leads to the question', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const asked = 'git push --force origin main && echo "<b>end</b>"'
    await ask(asked)
    await page.goto(viewer.url)
    const section = page.getByRole('region', { name: /^Needs you/ })
    const command = section.locator('.approval pre')
    await command.waitFor()
    expect(await command.textContent()).toBe(asked)
    await section.getByRole('button', { name: 'Copy resume command' }).click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('claude --resume s-live')
    await section.getByRole('link', { name: /^Waiting for you/ }).click()
    const question = page.getByRole('complementary').getByRole('heading', { level: 2, name: /^approval/ })
    await question.waitFor()
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    await page.locator('.turn-header .tone-wait').getByRole('link').click()
    await question.waitFor()
  })

  test('notifies only after the user has switched it on, once per question', async () => {
    await page.addInitScript(`
      window.notes = []
      window.Notification = class {
        static permission = 'default'
        static requestPermission() { this.permission = 'granted'; return Promise.resolve('granted') }
        constructor(title, { body }) { window.notes.push(title + ': ' + body) }
      }`)
    await page.goto(viewer.url)
    const before = await ask('git push')
    await page.getByRole('region', { name: /^Needs you/ }).waitFor()
    expect(await page.evaluate('window.notes')).toEqual([])
    await before.end()
    await page.getByText('No turn is running').waitFor()
    await page.getByLabel('Notify me when an agent waits for me').check()
    const after = await ask('git push --force')
    await expect
      .poll(() => page.evaluate('window.notes.join()'), SOON)
      .toBe('claude-code waits for you: git push --force')
    await after.end()
    await page.getByText('No turn is running').waitFor()
    expect(await page.evaluate('window.notes.length')).toBe(1)
  })
})

test('compares two turns side by side', async () => {
  await page.goto(viewer.at(`/compare?a=${TRACE_ID}&b=${MANY}`))
  await page.getByText('left only').first().waitFor()
  await page.getByText('first difference').waitFor()
})

test('lists the content before an export', async () => {
  await openTurn(TRACE_ID)
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByText('13 spans').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as HTML' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('hookspan.html')
})

test('shows a lost viewer across its width, and stops its clocks', async () => {
  const short = new Viewer()
  afterwards(() => short.stop())
  await short.start()
  const agent = new Agent(short)
  const other = await browser.newContext()
  afterwards(() => other.close())
  const lost = await other.newPage()
  agent.emit('pre_llm_call', { user_message: 'Is anybody there?', model: 'qwen3' })
  await lost.clock.install()
  await lost.goto(short.url)
  const badge = lost.locator('.open-card .badge')
  await badge.getByText(/^Running/).waitFor()
  await short.stop()
  const bar = lost.getByRole('alert').getByText(/^Not connected since \d{1,2}:\d\d/)
  await bar.waitFor()
  expect((await bar.boundingBox())?.width).toBe(lost.viewportSize()?.width)
  await expect.poll(() => lost.title(), SOON).toBe('not connected · hookspan')
  const stopped = await badge.textContent()
  await lost.clock.fastForward(10_000)
  expect(await badge.textContent()).toBe(stopped)
})

test('accepts an address with the token of a new viewer in a tab of the old one', async () => {
  const first = new Viewer()
  afterwards(() => first.stop())
  await first.start()
  const other = await browser.newContext()
  afterwards(() => other.close())
  const tab = await other.newPage()
  await tab.goto(first.url)
  await tab.getByText('live', { exact: true }).waitFor()
  const second = new Viewer()
  afterwards(() => second.stop())
  await first.stop()
  await second.start('--port', new URL(first.origin).port)
  await tab.getByText('This tab has no token').waitFor()
  await tab.evaluate(`location.href = ${JSON.stringify(second.url)}`)
  await tab.getByText('live', { exact: true }).waitFor()
  expect(tab.url()).toBe(`${second.origin}/`)
})

test('keeps the titles of hidden tabs current, over one connection', async () => {
  const other = await context.newPage()
  const tabs = [page, other]
  for (const tab of tabs) {
    await tab.clock.install()
    await tab.goto(viewer.url)
    await tab.getByText('live', { exact: true }).waitFor()
    await expect.poll(() => tab.title(), SOON).toBe('hookspan')
  }
  const connections = (): number => watch.requests.filter(url => url.endsWith('/api/live')).length
  const before = connections()
  for (const tab of tabs) {
    await tab.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
    await tab.clock.fastForward(21_000)
  }
  await expect.poll(connections, SOON).toBe(before + 1)
  const agent = new Agent(viewer)
  agent.emit('pre_llm_call', { user_message: 'Is anybody there?', model: 'qwen3' })
  for (const tab of tabs) await expect.poll(() => tab.title(), SOON).toBe('1 open · hookspan')
  agent.emit('pre_tool_call', { tool_name: 'terminal', tool_call_id: 'c1', args: { command: 'git push' } })
  agent.emit('pre_approval_request', { command: 'git push', pattern_key: 'push', surface: 'cli' })
  for (const tab of tabs) await expect.poll(() => tab.title(), SOON).toBe('● 1 waiting: git push · hookspan')
  expect(connections()).toBe(before + 1)
  await agent.end()
  for (const tab of tabs) await expect.poll(() => tab.title(), SOON).toBe('hookspan')
  await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`)
  await expect.poll(connections, SOON).toBe(before + 2)
})

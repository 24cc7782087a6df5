import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { exportLine, SAMPLE_TURN, type SpanNote, TRACE_ID } from '../../reading/sample-turn.ts'
import { cleanUp } from '../../support/afterwards.ts'
import { openBrowser } from '../support/browser.ts'
import { openPage, Viewer } from './viewer.ts'

const OVERNIGHT = '1d'.repeat(16)
const MANY = 'b'.repeat(32)
const HOUR = 3_600_000

type Step = readonly [
  kind: string,
  name: string,
  from: number,
  to: number,
  parent: number,
  attributes?: SpanNote['attributes'],
]

/** Spans of one trace. Their parents are indexes, -1 for the root. */
function turnOf(trace: string, steps: readonly Step[]): string {
  const idOf = (index: number): string => `${trace.slice(0, 2)}${String(index).padStart(14, '0')}`
  return exportLine(
    ...steps.map(([kind, name, from, to, parent, attributes], index) => ({
      id: idOf(index),
      ...(parent >= 0 && { parent: idOf(parent) }),
      trace,
      name,
      from,
      to,
      attributes: { 'hermes.span.kind': kind, 'session.id': trace.slice(0, 4), ...attributes },
    })),
  )
}

const USAGE = {
  'gen_ai.usage.input_tokens': 5_200,
  'gen_ai.usage.cache_read.input_tokens': 4_200,
  'gen_ai.usage.output_tokens': 180,
  'llm.cost.total': 0.002,
}

/** Nine hours, of which the user is waited for in all but a minute. */
const OVERNIGHT_TURN = turnOf(OVERNIGHT, [
  ['session', 'agent', 0, 9 * HOUR, -1, { 'input.value': 'Migrate the database' }],
  ['llm', 'llm.qwen3', 0, 9 * HOUR, 0],
  ['api', 'api.qwen3', 0, 10_000, 1, USAGE],
  ['tool', 'tool.terminal', 10_000, 9 * HOUR - 50_000, 2],
  ['approval', 'approval.migrate', 11_000, 9 * HOUR - 51_000, 3, { 'hermes.approval.choice': 'once' }],
  ['api', 'api.qwen3', 9 * HOUR - 50_000, 9 * HOUR - 40_000, 1],
  ...Array.from({ length: 7 }, (_, index): Step => {
    const from = 9 * HOUR - 40_000 + index * 2_000
    return ['tool', 'tool.Read', from, from + 500, 5]
  }),
  ['tool', 'tool.Task', 9 * HOUR - 20_000, 9 * HOUR - 10_000, 5],
  ['subagent', 'subagent.reviewer', 9 * HOUR - 19_900, 9 * HOUR - 10_100, 13],
  ['session', 'agent', 9 * HOUR - 19_800, 9 * HOUR - 10_200, 14],
  ['llm', 'llm.claude-haiku-4-5', 9 * HOUR - 19_800, 9 * HOUR - 10_200, 15],
  ['api', 'api.claude-haiku-4-5', 9 * HOUR - 19_700, 9 * HOUR - 10_300, 16],
  ...Array.from({ length: 5 }, (_, index): Step => {
    const from = 9 * HOUR - 9_000 + index * 1_000
    return ['tool', 'tool.Grep', from, from + 500, 5]
  }),
])

const MANY_TURN = turnOf(MANY, [
  ['session', 'agent', 0, 5_000_000, -1],
  ...Array.from({ length: 4_999 }, (_, index): Step => {
    return ['tool', `tool.t${index % 7}`, index * 1_000, index * 1_000 + 700, 0]
  }),
])

let viewer: Viewer
let browser: Browser
let page: Page

beforeAll(async () => {
  viewer = new Viewer()
  viewer.write('sample.jsonl', exportLine(...SAMPLE_TURN))
  viewer.write('overnight.jsonl', OVERNIGHT_TURN)
  viewer.write('many.jsonl', MANY_TURN)
  await viewer.start()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await viewer?.stop()
})

beforeEach(async () => {
  ;({ page } = await openPage(browser, viewer, 1440, 800))
})

afterEach(cleanUp)

async function openTurn(traceId: string, query = ''): Promise<void> {
  await page.goto(viewer.at(`/turns/${traceId}${query}`))
  await page.getByRole('tree').waitFor()
  await page.getByRole('tree').focus()
}

function row(name: RegExp): Locator {
  return page.getByRole('treeitem', { name }).first()
}

/** The place of a row's bar, as shares of the column of bars. */
async function barOf(name: RegExp): Promise<{ readonly from: number; readonly to: number }> {
  const bar = await row(name).locator('.bar').first().boundingBox()
  const column = await page.locator('.axis .bar-cell').boundingBox()
  if (bar === null || column === null) throw new Error('not drawn')
  return { from: (bar.x - column.x) / column.width, to: (bar.x + bar.width - column.x) / column.width }
}

function timeInAddress(): readonly number[] {
  const { searchParams } = new URL(page.url())
  return ['from', 'to'].flatMap(name => (searchParams.has(name) ? [Number(searchParams.get(name))] : []))
}

describe('the time of a turn', () => {
  test('is zoomed, moved, fitted and shown again by keys, and stands in the address', async () => {
    await openTurn(TRACE_ID)
    const before = await barOf(/approval\.rm_rf/)
    await page.keyboard.press('w')
    await expect.poll(timeInAddress).toHaveLength(2)
    const zoomed = await barOf(/approval\.rm_rf/)
    expect(zoomed.to - zoomed.from).toBeCloseTo((before.to - before.from) * 1.5, 1)
    await page.keyboard.press('d')
    await expect.poll(async () => (await barOf(/approval\.rm_rf/)).from).toBeLessThan(zoomed.from - 0.1)
    await page.keyboard.press('a')
    await page.keyboard.press('s')
    await expect.poll(timeInAddress).toEqual([])
    await row(/approval\.rm_rf/).click()
    await page.keyboard.press('Escape')
    await page.keyboard.press('f')
    await expect.poll(timeInAddress).toHaveLength(2)
    const fitted = await barOf(/approval\.rm_rf/)
    expect([fitted.from, fitted.to]).toEqual([expect.closeTo(0.05, 1), expect.closeTo(0.95, 1)])
    await page.reload()
    await row(/approval\.rm_rf/).waitFor()
    expect((await barOf(/approval\.rm_rf/)).from).toBeCloseTo(fitted.from, 2)
    await page.getByRole('tree').focus()
    await page.keyboard.press('0')
    await expect.poll(timeInAddress).toEqual([])
    expect((await barOf(/approval\.rm_rf/)).from).toBeCloseTo(before.from, 2)
  })

  test('is zoomed around the pointer by Ctrl and the wheel', async () => {
    await openTurn(TRACE_ID)
    const box = await row(/approval\.rm_rf/)
      .locator('.bar')
      .first()
      .boundingBox()
    const before = await barOf(/approval\.rm_rf/)
    await page.mouse.move(box?.x ?? 0, (box?.y ?? 0) + 4)
    await page.keyboard.down('Control')
    await page.mouse.wheel(0, -400)
    await page.keyboard.up('Control')
    await expect.poll(timeInAddress).toHaveLength(2)
    const zoomed = await barOf(/approval\.rm_rf/)
    expect(zoomed.from).toBeCloseTo(before.from, 2)
    expect(zoomed.to - zoomed.from).toBeGreaterThan((before.to - before.from) * 1.5)
  })

  test('is chosen in the minimap with the pointer, moved, and changed by keys', async () => {
    await openTurn(TRACE_ID)
    const map = page.getByRole('toolbar', { name: 'Visible time' })
    const { x, y, width, height } = (await map.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    expect(height).toBeCloseTo(48, 0)
    const drag = async (from: number, to: number): Promise<void> => {
      await page.mouse.move(x + from * width, y + 20)
      await page.mouse.down()
      await page.mouse.move(x + to * width, y + 20, { steps: 4 })
      await page.mouse.up()
    }
    await drag(0.25, 0.5)
    await expect.poll(timeInAddress).toEqual([expect.closeTo(3_537, -2), expect.closeTo(7_075, -2)])
    await drag(0.3, 0.4)
    await expect.poll(timeInAddress).toEqual([expect.closeTo(4_952, -2), expect.closeTo(8_490, -2)])
    await page.getByRole('slider', { name: 'End of the visible time' }).focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(timeInAddress).toEqual([expect.closeTo(4_952, -2), expect.closeTo(8_313, -2)])
    await map.dblclick({ position: { x: 10, y: 20 } })
    await expect.poll(timeInAddress).toEqual([])
  })

  test('leaves out a long wait, with a mark', async () => {
    await openTurn(OVERNIGHT)
    await page.getByText('// 8 h 59 m idle, compressed').waitFor()
    expect(await page.locator('.breaks .break').count()).toBe(1)
    const second = await barOf(/Task → reviewer/)
    expect(second.to - second.from).toBeGreaterThan(0.1)
    await page.locator('.axis').getByText('8 h 59 m 40 s').waitFor()
  })

  test('scrolls to the rows of a chosen time', async () => {
    await openTurn(MANY, '?unfolded=1&from=2500000&to=2530000')
    await row(/tool\.t\d/).waitFor()
    const scrollTop = (): Promise<unknown> => page.evaluate(`document.querySelector('.tree').scrollTop`)
    await expect.poll(scrollTop).toBeGreaterThan(60_000)
    await page.keyboard.press('w')
    await expect.poll(timeInAddress).toEqual([2_505_000, 2_525_000])
    expect(await scrollTop()).toBeLessThan(75_000)
  })

  test('is zoomed in five thousand spans without rendering rows', async () => {
    await openTurn(MANY, '?unfolded=1')
    await row(/tool\.t0/).waitFor()
    const changes = await page.evaluate(`(async () => {
      const rows = document.querySelector('.rows')
      let count = 0
      new MutationObserver(list => { count += list.length }).observe(rows, { subtree: true, childList: true, attributes: true })
      for (let index = 0; index < 20; index++) {
        rows.dispatchEvent(new WheelEvent('wheel', { deltaY: -50, ctrlKey: true, bubbles: true, cancelable: true }))
        await new Promise(resolve => requestAnimationFrame(resolve))
      }
      return count
    })()`)
    expect(changes).toBe(0)
    await expect.poll(timeInAddress).toHaveLength(2)
  })
})

describe('the rows of a turn', () => {
  test('have duration, tokens, the cached share and the cost before the bars, and no text on them', async () => {
    await openTurn(OVERNIGHT)
    const cells = await row(/model request api\.qwen3/)
      .locator('.figure-cell')
      .allTextContents()
    expect(cells).toEqual(['10.0 s', '5.2 k → 180 tokens', '81 % cached', '$0.0020 cost'])
    expect(await page.locator('.row .bar-cell').allTextContents()).toEqual(
      Array.from({ length: await page.getByRole('treeitem').count() }, () => ''),
    )
  })

  test('join a chain of wrappers, unless spans are shown as stored', async () => {
    await openTurn(OVERNIGHT)
    const chain = row(/Task → reviewer · haiku-4-5/)
    await chain.waitFor()
    const inner = row(/api\.claude-haiku-4-5/)
    const level = async (of: Locator): Promise<number> => Number(await of.getAttribute('aria-level'))
    expect(await level(inner)).toBe((await level(chain)) + 1)
    await page.getByLabel('Spans as stored').check()
    await row(/sub-agent subagent\.reviewer/).waitFor()
    expect(await chain.count()).toBe(0)
    expect(page.url()).toContain('stored=1')
  })

  test('show a span of a joined row if a link leads to it, and keep the cursor when it is closed', async () => {
    await openTurn(OVERNIGHT, '?span=1d00000000000014')
    await row(/sub-agent reviewer · haiku-4-5/).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.row.is-active', { hasText: 'Task → reviewer · haiku-4-5' }).waitFor()
  })

  test('open one fold at a time, whose bar covers its calls', async () => {
    await openTurn(OVERNIGHT)
    const fold = row(/tool ×7 tool\.Read/)
    expect(await fold.locator('.bar').count()).toBe(7)
    await fold.locator('.twist').click()
    await expect.poll(() => page.getByRole('treeitem', { name: /^tool tool\.Read/ }).count()).toBe(7)
    expect(await row(/tool ×5 tool\.Grep/).count()).toBe(1)
  })
})

describe('the critical path', () => {
  test('is one bar with a button for each part, and marks rows only when it is on', async () => {
    await openTurn(TRACE_ID)
    const bar = page.getByRole('toolbar', { name: 'Critical path' })
    const texts = await bar.getByRole('button').allTextContents()
    expect(texts.map(text => text.trim())).toEqual([
      'Critical path 14.2 s',
      'model 5.8 s',
      'you 5.5 s',
      'tools 340 ms',
      'untraced 2.4 s',
    ])
    expect(await page.locator('.bar.path').count()).toBe(0)
    await bar.getByRole('button', { name: 'Critical path' }).click()
    await expect.poll(() => page.locator('.bar.path').count()).toBeGreaterThan(5)
    await bar.getByRole('button', { name: 'Critical path' }).click()
    await expect.poll(() => page.locator('.bar.path').count()).toBe(0)
  })

  test('filters the rows by a part, and leads to its first one', async () => {
    await openTurn(TRACE_ID)
    const all = await page.getByRole('treeitem').count()
    await page.getByRole('button', { name: /^you/ }).click()
    await expect.poll(() => page.getByRole('treeitem').count()).toBeLessThan(all)
    await page.locator('.row.is-active', { hasText: 'approval.rm_rf' }).waitFor()
    expect(await page.getByRole('treeitem', { name: /tool\.read_file/ }).count()).toBe(0)
    expect(page.url()).toContain('path=you')
    await page.getByRole('button', { name: /^you/, pressed: true }).click()
    await expect.poll(() => page.getByRole('treeitem').count()).toBe(all)
  })
})

test('gives names and details more room by dragging a divider, and by keys', async () => {
  await openTurn(TRACE_ID, '?span=0000000000000005')
  const names = page.getByRole('separator', { name: 'Width of the names' })
  const before = (await page.locator('.name-cell').first().boundingBox())?.width ?? 0
  await names.focus()
  await page.keyboard.press('ArrowRight')
  await expect.poll(async () => (await page.locator('.name-cell').first().boundingBox())?.width).toBeGreaterThan(before)
  const tree = page.getByRole('separator', { name: 'Width of the tree' })
  const box = (await tree.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  await page.mouse.move(box.x + 4, box.y + 100)
  await page.mouse.down()
  await page.mouse.move(720, box.y + 100, { steps: 4 })
  await page.mouse.up()
  await expect.poll(() => tree.getAttribute('aria-valuenow')).toBe('50')
})

test('draws bars in forced colours, and moves nothing for a user who prefers so', async () => {
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
  await openTurn(TRACE_ID)
  const colourOf = (selector: string): Promise<unknown> =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`)
  expect(await colourOf('.row .bar.kind-tool')).not.toBe(await colourOf('.tree'))
  expect(await page.evaluate('document.getAnimations().length')).toBe(0)
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { yaml } from '../../observability/stack-files.ts'
import { feedInSlices, type Sliced } from '../prometheus/feed-in-slices.ts'
import { until } from '../prometheus/until.ts'
import { type OpenWay, openWay } from '../prometheus/ways.ts'
import { openBrowser } from '../support/browser.ts'
import { installedPath } from '../support/installed.ts'
import { takePicture, takesPictures } from '../support/picture.ts'

/** A graph of a few seconds is no picture. */
const FEEDING = takesPictures ? { slices: 30, pauseMillis: 2000 } : { slices: 3 }
const RANGE = takesPictures ? '90s' : '1m'
const WINDOW = { width: 1180, height: 1500 }

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>

let home = ''
let open: OpenWay
let fed: Sliced
let browser: Browser
let page: Page

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-page-'))
  open = await openWay('pushed', { web: installedPath('prometheus-page', 'web') })
  fed = await feedInSlices(open.prometheus, open.config, { home, ...FEEDING })
  browser = await openBrowser()
  page = await browser.newPage({ viewport: WINDOW })
}, 400_000)

afterAll(async () => {
  await browser?.close()
  await fed?.plugin.shutdown()
  await open?.stop()
  rmSync(home, { recursive: true, force: true })
})

test.each([
  { by: 'model', name: 'hermes_tokens_input_total', picture: 'metrics-tokens', values: () => modelsWithInput() },
  {
    by: 'outcome',
    name: 'hermes_tool_calls_total',
    picture: 'metrics-tools',
    values: () => Object.keys(fed.totals.overall.toolsByOutcome),
  },
])('shows $name by $by as a graph on its page', async ({ by, name, picture, values }) => {
  const expr = `sum by (${by}) (rate(${name}[30s])) * 60`
  const panel = { 'g0.expr': expr, 'g0.tab': 'graph', 'g0.range_input': RANGE, 'g0.display_mode': 'stacked' }
  await page.goto(`${open.prometheus.url}/query?${new URLSearchParams(panel)}`)
  expect(values().length).toBeGreaterThan(3)
  for (const value of values()) await page.getByText(`{${by}="${value}"}`, { exact: true }).first().waitFor()
  expect(await page.locator('.uplot canvas').count()).toBe(1)
  const hint = await page.getByText('Click: show single series').boundingBox()
  const height = (hint?.y ?? WINDOW.height) + 40
  await takePicture(page, picture, { clip: { x: 0, y: 0, width: WINDOW.width, height } })
})

function modelsWithInput(): string[] {
  const used = [...fed.totals.byModel.values()].filter(({ tokens }) => tokens.input > 0)
  return [...new Set(used.map(({ model }) => model))]
}

test('shows our alerts, and the alert about timed-out turns', async () => {
  const rules = yaml<{ groups: { rules: { alert: string }[] }[] }>('observability/rules.yml')
  await page.goto(`${open.prometheus.url}/alerts`)
  for (const { alert } of rules.groups.flatMap(group => group.rules)) {
    await page.getByText(alert, { exact: true }).first().waitFor()
  }
  const stuck = page.locator('.mantine-Accordion-item', { hasText: 'HookspanTurnsStuck' })
  await stuck.getByText('HookspanTurnsStuck', { exact: true }).first().click()
  await stuck.getByText('final_status = timed_out').waitFor()
  await stuck.getByText('firing (').first().waitFor()
  await stuck.getByText('job="workload"').first().waitFor()
  await takePicture(page, 'metrics-alert', { clip: await settledBox(stuck) })
})

/** It unfolds slowly. */
async function settledBox(part: Locator): Promise<Box> {
  let height = -1
  return until(
    async () => (await part.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 },
    box => {
      const isSettled = box.height > 0 && box.height === height
      height = box.height
      return isSettled ? undefined : box
    },
    'a part of the page that stands still',
  )
}

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { traceLinks } from '../../../src/delivery/pipeline/backend-plan.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { openBrowser } from '../support/browser.ts'
import type { Fed, FedSpan } from '../workload/feed.ts'
import { Scene } from './scene.ts'

/** A turn with a retry, tools side by side, an approval and a sub-agent: the tree that the page is to show. */
const TREE = `
agent agent
  chain llm.qwen3-coder-30b
    llm api.qwen3-coder-30b !
    llm api.qwen3-coder-30b
      tool tool.terminal
        chain approval.rm_rf
      tool tool.read_file
      tool tool.delegate_task
        agent subagent.leaf
          agent agent
            chain llm.claude-sonnet-4-6
              llm api.claude-sonnet-4-6
    llm api.qwen3-coder-30b`.trim()

const PROJECT = 'agents'
const WINDOW = { width: 1400, height: 900 }
/** Its page is a large program, which is fetched and compiled anew. */
const SHOWN_MILLIS = 90_000
const TEST_MILLIS = 2 * SHOWN_MILLIS

let scene: Scene
let browser: Browser
let page: Page
let turn: Fed
let conversation: Fed

beforeAll(async () => {
  scene = await Scene.start()
  const config = { service_name: 'hermes', content_capture: 'full' } as const
  turn = await scene.feed(PROJECT, { scenarios: ['recordings/hermes-turn'], config })
  conversation = await scene.feed('conversations', { scenarios: ['recordings/demo-session'], config })
  browser = await openBrowser()
  page = await browser.newPage({ viewport: WINDOW })
  page.setDefaultTimeout(SHOWN_MILLIS)
}, START_MILLIS)

afterAll(async () => {
  await browser?.close()
  await scene?.stop()
})

function rootsOf({ spans }: Fed): FedSpan[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === undefined)
    .toSorted((a, b) => Number(a.startUnixNano - b.startUnixNano))
}

/** The longest part of a text that is the same where the page reads it as Markdown. */
function plain(text: unknown): string {
  const parts = String(text).split(/[`\n*-]+/)
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest)).trim()
}

/** What hookspan prints for a person's browser. */
function linkTo(traceId: string): string {
  const settings = { name: 'phoenix', type: 'phoenix', endpoint: scene.phoenix.url, headers: {}, options: {} } as const
  return String(traceLinks(settings, traceId).view)
}

describe("Phoenix' page", () => {
  test(
    'shows the turn with its spans in their places, behind the link that we print',
    async () => {
      const [root] = rootsOf(turn)
      await page.goto(linkTo(root?.traceId ?? ''))
      await page
        .locator('.span-node-wrap')
        .nth(turn.spans.length - 1)
        .waitFor()
      expect(await treeOf(page)).toBe(TREE)
      await page.getByText(plain(root?.attributes['input.value'])).first().waitFor()
      await page.getByText(plain(root?.attributes['output.value'])).first().waitFor()
    },
    TEST_MILLIS,
  )

  test(
    'shows a conversation as one session with its turns in order',
    async () => {
      const roots = rootsOf(conversation)
      expect(roots.length).toBeGreaterThan(2)
      const { id } = await scene.query.project('conversations')
      const [session, ...others] = await scene.query.sessions('conversations')
      expect(others).toEqual([])
      await page.goto(`${scene.phoenix.url}/projects/${id}/sessions/${session?.id}`)
      const said = roots.flatMap(({ attributes }) => [
        plain(attributes['input.value']),
        plain(attributes['output.value']),
      ])
      for (const text of said) await page.getByText(text).first().waitFor()
      const whole = await page.locator('body').innerText()
      const places = said.map(text => whole.lastIndexOf(text))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
    },
    TEST_MILLIS,
  )
})

/** The rows in the order of the page: how deep, of which kind, `!` where it draws an error. */
async function treeOf(shown: Page): Promise<string> {
  const rows = await shown.locator('.span-node-wrap').evaluateAll(elements =>
    elements.map(row => ({
      depth: Number(/nesting-level: (\d+)/.exec(row.getAttribute('style') ?? '')?.[1]),
      kind: row.querySelector('.span-node__icon [title]')?.getAttribute('title') ?? '',
      name: row.querySelector('.span-node__heading')?.textContent ?? '',
      isError: row.querySelector('.span-node__heading [aria-label="ERROR"]') !== null,
    })),
  )
  return rows
    .map(({ depth, kind, name, isError }) => `${'  '.repeat(depth)}${kind} ${name}${isError ? ' !' : ''}`)
    .join('\n')
}

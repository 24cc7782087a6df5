import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEMO_TURNS, demoTraces } from '../workload/demo-turns.ts'
import { feedWorkload, type OpenFed } from '../workload/feed.ts'
import { total } from './feed-in-slices.ts'
import { until } from './until.ts'
import { type OpenWay, openWay } from './ways.ts'

describe.each(['scraped', 'pushed'] as const)('metrics that are %s', way => {
  const home = mkdtempSync(join(tmpdir(), 'hookspan-demo-'))
  let open: OpenWay
  let fed: OpenFed

  beforeAll(async () => {
    open = await openWay(way)
    fed = await feedWorkload({ home, config: open.config, scenarios: DEMO_TURNS, keepOpen: true })
    await until(
      () => total(open.prometheus, 'hookspan_hooks_total'),
      seen => (seen === fed.records.length ? undefined : { fed: fed.records.length, seen }),
      'records that Prometheus knows of',
    )
  })

  afterAll(async () => {
    await fed?.shutdown()
    await open?.stop()
    rmSync(home, { recursive: true, force: true })
  })

  test("has the totals of the demo's turns, and of each part", async () => {
    const traces = demoTraces(fed)
    const sum = (part: 'all' | 'own' | 'subagents' | 'sideCalls'): number =>
      traces.reduce((tokens, trace) => tokens + trace[part], 0)
    const counted = async (labels = ''): Promise<number> => {
      const [input, output] = [`hermes_tokens_input_total${labels}`, `hermes_tokens_output_total${labels}`]
      return (await total(open.prometheus, input)) + (await total(open.prometheus, output))
    }
    expect(await counted()).toBe(sum('all'))
    expect(await counted('{part="own"}')).toBe(sum('own'))
    expect(await counted('{part="subagent"}')).toBe(sum('subagents'))
    expect(await counted('{part="auxiliary"}')).toBe(sum('sideCalls'))
  })
})

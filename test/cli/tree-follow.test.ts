/** `tree --follow` beside an agent that is at work: what it is shown before a turn is whole, and after. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Plugin } from '../../src/index.ts'
import { createPluginIn } from '../../src/plugin/create-plugin.ts'
import { TraceFollower } from '../../src/reading/trace-follower.ts'
import { listSegments, selectTraces } from '../../src/reading/trace-log.ts'
import { treeJson } from '../../src/reading/tree-json.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { renderTree } from '../../src/reading/tree-text.ts'
import { START_AT, type Step } from '../support/feed.ts'
import { answered, asked, began, childTurn, delegated, text } from '../traces/scenes.ts'

let home = ''
let plugin: Plugin
let follower: TraceFollower

const listFiles = (): Promise<string[]> => listSegments(join(home, '.local', 'state', 'hookspan', 'traces'))

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-follow-'))
  // Nothing is written but by a flush.
  const options = { host: 'agent', span_batch_schedule_delay_ms: 3_600_000, force_flush_on_session_end: false }
  plugin = createPluginIn(options, { env: {}, home, isReplay: true })
  follower = new TraceFollower(listFiles, { last: 5 })
})

afterEach(async () => {
  await plugin.shutdown()
  rmSync(home, { recursive: true, force: true })
})

/** What is shown when this has happened and is on the disk. */
async function shownAfter(...steps: readonly Step[]): Promise<string[]> {
  for (const [millis, hook, payload] of steps) plugin.emitUntyped(hook, payload ?? {}, { at: START_AT + millis })
  await plugin.flush()
  return (await follower.poll()).map(tree => outline(tree))
}

const USAGE = { prompt_tokens: 10, output_tokens: 1 }
const CHILD = childTurn(210, 'C', 'ct1', USAGE) as [Step, Step, Step, Step, Step, Step]
const STOPPED: Step = [320, 'subagent_stop', { child_session_id: 'C', child_status: 'completed' }]

const RUNNING = text`
  agent OK
    llm.qwen3 OK
      api.qwen3 OK
      subagent.researcher UNSET (running)
        agent UNSET (running)
          llm.small UNSET (running)
            api.small OK
`
const WHOLE = text`
  agent OK
    llm.qwen3 OK
      api.qwen3 OK
      subagent.researcher OK
        agent OK
          llm.small OK
            api.small OK
`

test('shows a background child as running, and the turn again when it is whole', async () => {
  const [begins, asks, request, response, answers, ends] = CHILD
  expect(await shownAfter(...began(), ...asked(30), delegated(140), begins, asks, request)).toEqual([])
  expect(await shownAfter(response, ...answered(290))).toEqual([RUNNING])
  expect(await shownAfter(answers)).toEqual([])
  expect(await shownAfter(ends)).toEqual([])
  expect(await shownAfter(STOPPED)).toEqual([WHOLE])
  expect(await shownAfter()).toEqual([])
})

test('shows a child that had not begun when its turn ended', async () => {
  const [begins, ...goesOn] = CHILD
  const [shown] = await shownAfter(...began(), ...asked(30), delegated(140), ...answered(200))
  expect(shown).toContain('subagent.researcher UNSET (running)')
  expect(await shownAfter(begins)).toEqual([])
  expect(await shownAfter(...goesOn, STOPPED)).toEqual([WHOLE])
})

test('shows a turn without running spans once', async () => {
  expect(await shownAfter(...began(), ...asked(30), delegated(140), ...CHILD, STOPPED)).toEqual([])
  expect(await shownAfter(...answered(400))).toEqual([WHOLE])
  expect(await shownAfter()).toEqual([])
})

test('draws a running turn as such without waiting for its end', async () => {
  expect(await shownAfter(...began(), ...asked(30))).toEqual([])
  const { trees } = await selectTraces(await listFiles(), { last: 5 })
  expect(trees.map(tree => outline(tree))).toEqual([
    'agent UNSET (running)\n  llm.qwen3 UNSET (running)\n    api.qwen3 OK',
  ])
})

test('shows the same later', async () => {
  const [begins, asks, request, response, ...rest] = CHILD
  await shownAfter(...began(), ...asked(30), delegated(140), begins, asks, request, response, ...answered(290))
  const { trees } = await selectTraces(await listFiles(), { last: 5 })
  expect(trees.map(tree => outline(tree))).toEqual([RUNNING])
  follower = new TraceFollower(listFiles, { last: 5 })
  expect(await shownAfter()).toEqual([RUNNING])
  expect(await shownAfter(...rest, STOPPED)).toEqual([WHOLE])
})

test('draws a running span up to the last known time, and counts it', async () => {
  const [begins, asks, request, response] = CHILD
  await shownAfter(...began(), ...asked(30), delegated(140), begins, asks, request, response, ...answered(290))
  const { trees } = await selectTraces(await listFiles(), { last: 5 })
  const [tree] = trees
  if (tree === undefined) throw new Error('no trace')
  const lines = renderTree(tree, { width: 120 }).split('\n')
  expect(lines[1]).toContain(' · 7 spans, 3 running')
  expect(lines.find(line => line.includes('subagent.researcher'))).toMatch(/ 160 ms +running$/)
  expect(lines.join('\n')).not.toContain('missing')
  const { running, spans } = JSON.parse(treeJson(tree)) as { running: number; spans: { running?: true }[] }
  expect(running).toBe(3)
  expect(spans.map(span => span.running)).toEqual([undefined, undefined, undefined, true, true, true, undefined])
})

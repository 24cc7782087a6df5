import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestPlugin } from '../../../src/testing.ts'
import type { KindName, StatusName } from './fed-span.ts'
import { feedWorkload, type TreeSpan, treeSpan, treeText, workload } from './feed.ts'

const SCENARIOS = ['recordings', 'pi/basic']

let home = ''

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'hookspan-workload-'))
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

async function inMemory(): Promise<TreeSpan[]> {
  const plugin = createTestPlugin({ host: 'workload' })
  for (const { hook, payload, meta } of await workload(SCENARIOS)) void plugin.emitUntyped(hook, payload, meta)
  await plugin.shutdown()
  return plugin.spans().map(({ startAt, status, kind, ...span }) => ({
    ...span,
    status: status.toUpperCase() as StatusName,
    kind: kind.toUpperCase() as KindName,
    startUnixNano: BigInt(Math.round(startAt * 1e6)),
  }))
}

test('what was fed is what the trace log says, and all of it', async () => {
  const fed = await feedWorkload({ home: join(home, 'closed'), config: {}, scenarios: SCENARIOS })
  expect(fed.spans.length).toBeGreaterThan(20)
  expect(treeText(fed.spans.map(treeSpan))).toBe(treeText(await inMemory()))
  expect(fed.stats.backends).toMatchObject([{ name: 'local_log', delivered: fed.spans.length, dropped: 0 }])
  expect(fed.spans.every(({ resource }) => resource['service.name'] === 'workload')).toBe(true)
  expect(fed.spans.flatMap(({ events }) => events).some(({ name }) => name === 'exception')).toBe(true)
  expect(
    fed.spans.flatMap(({ links }) => links).some(({ attributes }) => attributes['hermes.link'] === 'previous_turn'),
  ).toBe(true)
})

test('left open, it can be asked for more', async () => {
  const scenarios = ['claude-agent-sdk/left', 'pi/basic']
  const open = await feedWorkload({ home: join(home, 'open'), config: {}, scenarios, keepOpen: true })
  const fed = await open.shutdown()
  expect(fed.spans.length).toBe(open.spans.length + open.stats.spansOpen)
})

test('a backend that does not get everything is told of', async () => {
  const backends = [{ type: 'otlp', endpoint: 'http://127.0.0.1:1/v1/traces', force_flush_wait_ms: 100 }] as const
  const config = { backends, force_flush_wait_ms: 100, logger: { error: () => undefined, warn: () => undefined } }
  const feeding = feedWorkload({ home: join(home, 'refused'), config, scenarios: ['pi/basic'] })
  await expect(feeding).rejects.toThrow('did not get everything')
})

test('a name of no scenario is told of', async () => {
  await expect(workload(['nobody'])).rejects.toThrow('no scenario is called nobody')
})

test('the newest record is some minutes old, and inside a scenario all distances are kept', async () => {
  const now = 1_795_400_000_000
  const [early, late] = [await workload(SCENARIOS, now), await workload(SCENARIOS, now + 86_400_000)]
  expect(Math.max(...early.map(({ meta }) => meta.at))).toBe(now - 180_000)
  expect(late.map(({ meta }) => meta.at)).toEqual(early.map(({ meta }) => meta.at + 86_400_000))
  const alone = await workload(['pi/basic'], now)
  const amongOthers = early.filter(({ meta }) => meta.host === 'pi')
  const distances = (records: typeof alone): number[] => records.map(({ meta }) => meta.at - (records[0]?.meta.at ?? 0))
  expect(distances(amongOthers)).toEqual(distances(alone))
})

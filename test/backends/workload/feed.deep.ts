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

test("feeds all of the trace log's content", async () => {
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

test('may be asked for more if it is left open', async () => {
  const scenarios = ['claude-agent-sdk/left', 'pi/basic']
  const open = await feedWorkload({ home: join(home, 'open'), config: {}, scenarios, keepOpen: true })
  const fed = await open.shutdown()
  expect(fed.spans.length).toBe(open.spans.length + open.stats.spansOpen)
})

test('reports a backend that does not get everything', async () => {
  const backends = [{ type: 'otlp', endpoint: 'http://127.0.0.1:1/v1/traces', force_flush_wait_ms: 100 }] as const
  const config = { backends, force_flush_wait_ms: 100, logger: { error: () => undefined, warn: () => undefined } }
  const feeding = feedWorkload({ home: join(home, 'refused'), config, scenarios: ['pi/basic'] })
  await expect(feeding).rejects.toThrow('did not get everything')
})

test('reports an unknown name of a scenario', async () => {
  await expect(workload(['nobody'])).rejects.toThrow('no scenario is called nobody')
})

test('dates the newest record some minutes ago, and keeps all distances inside a scenario', async () => {
  const now = 1_795_400_000_000
  const [early, late] = [await workload(SCENARIOS, now), await workload(SCENARIOS, now + 86_400_000)]
  expect(Math.max(...early.map(({ meta }) => meta.at))).toBe(now - 180_000)
  expect(late.map(({ meta }) => meta.at)).toEqual(early.map(({ meta }) => meta.at + 86_400_000))
  const alone = await workload(['pi/basic'], now)
  const amongOthers = early.filter(({ meta }) => meta.host === 'pi')
  const distances = (records: typeof alone): number[] => records.map(({ meta }) => meta.at - (records[0]?.meta.at ?? 0))
  expect(distances(amongOthers)).toEqual(distances(alone))
})

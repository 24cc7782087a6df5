import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookRecordMachine, hookRecords } from '../../../src/agents/hook-records.ts'
import { recordsFrom, shellBody, treeOf, webhookBody } from '../../agents/hermes/wire.ts'
import { FIXTURES } from '../../agents/shown.ts'
import { type FedRecord, recordsOf } from '../../support/feed.ts'
import { sample } from '../../support/sample.ts'
import { describePython, ShimScene } from './scene.ts'

/** Fires what was recorded, at the times at which it was. */
const FIRES = `
times = []
time.time = lambda: times[-1] / 1000
for line in open("records.jsonl", encoding="utf-8"):
    record = json.loads(line)
    if "hook" in record and record["hook"] in context.hooks:
        times.append(record["at"])
        fire(record["hook"], **record["payload"])
drained()
`

const SCENARIOS = [
  'delegation',
  'parallel',
  'batch',
  'denied',
  'fatal',
  'tools-fail',
  'v022-delegate',
  'review',
  'retry',
]

/** What the receiver makes of a body, or of a file of the spool. */
function records(bodies: readonly unknown[]): FedRecord[] {
  return bodies
    .flatMap(body => hookRecords.events({ body, headers: {}, at: 0 }))
    .flatMap(event => hookRecordMachine.accept(event) ?? [])
}

describePython('a turn is the same tree by every way', () => {
  test.each(sample(SCENARIOS, 3))('builds the same tree in every way: %s', async scenario => {
    const recorded = recordsOf(join(FIXTURES, 'hermes', `${scenario}.jsonl`))
    const [listened, alone] = [new ShimScene(), new ShimScene()]
    await listened.listen()
    for (const scene of [listened, alone]) {
      writeFileSync(join(scene.home, 'records.jsonl'), recorded.map(record => `${JSON.stringify(record)}\n`).join(''))
      await scene.play(FIRES.replace('"records.jsonl"', JSON.stringify(join(scene.home, 'records.jsonl'))))
    }
    const at = (number: number): number => recorded[number]?.at ?? 0
    const ways = {
      shim: records(listened.posted()),
      spool: records(alone.spooled().map(({ body }) => body)),
      webhook: recordsFrom(
        recorded.map((record, number) => ({ body: webhookBody(record, number), headers: {}, at: 0 })),
      ),
      'shell hook': recordsFrom(
        recorded.map((record, number) => ({ body: shellBody(record), headers: {}, at: at(number) })),
      ),
    }
    const tree = await treeOf(recorded)
    for (const [way, told] of Object.entries(ways)) expect(await treeOf(told), way).toBe(tree)
  })
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { MACHINES } from '../../src/agents/machines.ts'
import { RECEIVER_ENDPOINTS } from '../../src/agents/receiver-endpoints.ts'
import type { StoredSpan } from '../../src/reading/stored-span.ts'
import type { ReceivedEvent } from '../../src/receiver/recorder.ts'
import { SEED, sample } from '../support/sample.ts'
import { inOrder, treesOf, World } from './world.ts'

const FIXTURES = new URL('../fixtures/', import.meta.url)

/** Captured runs of an agent that tells a receiver. */
function runsOf(host: string): string[] {
  const folder = new URL(`${host}/`, FIXTURES)
  const files = host !== '' && existsSync(folder) ? readdirSync(folder) : []
  const runs = files.filter(name => name.endsWith('.jsonl')).map(name => `${host}/${name.slice(0, -'.jsonl'.length)}`)
  return [...sample(runs.sort(), 1)]
}

/** Some of others: whatever a machine has to keep in mind, it does. */
const MADE_FOR_IT = [
  'hermes/edit-review-overlaps',
  'pi/parallel',
  'pi/sessions',
  'openclaw/child',
  'opencode/permissions',
  'opencode/sessions',
  'claude-agent-sdk/background-child',
  'openai-agents/two-prompts',
  'ai-sdk/session',
]

const RUNS = [
  ...new Set(['hermes', ...Object.values(RECEIVER_ENDPOINTS).map(({ host }) => host)].flatMap(runsOf)),
  ...sample(MADE_FOR_IT, 3),
]

/** What was captured of a real run, as it would have been told to a receiver. */
function toldIn(run: string): ReceivedEvent[] {
  const [host = ''] = run.split('/')
  const lines = readFileSync(new URL(`${run}.jsonl`, FIXTURES), 'utf8').split('\n')
  const records = lines.flatMap(line => (line === '' ? [] : [JSON.parse(line) as object])).filter(isTold)
  if (Object.hasOwn(MACHINES, host)) return records.map(event => ({ host, event: event as HostEvent }))
  return records.flatMap(record => {
    const events =
      RECEIVER_ENDPOINTS['/v1/hooks']?.adapter.events({ body: { host, ...record }, headers: {}, at: 0 }) ?? []
    return events.map(event => ({ host: '', event }))
  })
}

/** Sixteen in the deep suite, or eight where two receivers run for each: long runs have hundreds of events. */
const SAMPLED_CUTS = `sampled by HOOKSPAN_TEST_SEED=${SEED}`

const isTold = (record: object): boolean => !('fixture' in record)

/** Of one receiver behind another: each is told what stands before one of the cuts. */
async function recorded(told: readonly ReceivedEvent[], cuts: readonly number[]): Promise<StoredSpan[]> {
  const world = await World.create()
  let from = 0
  for (const to of [...cuts, told.length]) {
    const receiver = await world.open()
    for (const one of told.slice(from, to)) receiver.recordEvent(one)
    await receiver.close(to === told.length ? 'end' : 'handover')
    from = to
  }
  return inOrder(world.collected)
}

/** What a receiver ends with its own end, it ends at that moment. */
function withoutEnd({ endAt, ...span }: StoredSpan): object {
  if (span.attributes['hermes.span.incomplete'] !== 'shutdown') return { ...span, endAt }
  const { 'hermes.turn.duration_ms': _, ...attributes } = span.attributes
  return { ...span, attributes }
}

test.each(RUNS)(`continues the turn of %s after a handover behind some of its events (${SAMPLED_CUTS})`, async run => {
  const told = toldIn(run)
  const untroubled = await recorded(told, [])
  expect(untroubled.length).toBeGreaterThan(0)
  const cuts = sample([...told.keys()].slice(1), 3, 16)
  const spans = await recorded(told, cuts)
  expect(treesOf(spans, false)).toBe(treesOf(untroubled, false))
  expect(spans.map(withoutEnd)).toEqual(untroubled.map(withoutEnd))
})

const OF_FILE: ReadonlySet<string> = new Set(['transcript', 'rollout', 'session', 'file'])
/** Of agents that write into files what their hooks do not say. */
const FILE_RUNS = Object.values(RECEIVER_ENDPOINTS).flatMap(({ host, adapter }) =>
  adapter.enrich === undefined ? [] : runsOf(host),
)

function isOfFile({ event }: ReceivedEvent): boolean {
  return OF_FILE.has(event.event.split(':')[0] as string)
}

function turnOf({ event }: ReceivedEvent): unknown {
  const { prompt_id, turn_id } = event.data as { readonly prompt_id?: unknown; readonly turn_id?: unknown }
  return prompt_id ?? turn_id
}

/** A receiver that begins at the cut reads files from their start: behind the first hook it tells the turn's again. */
function readAgain(told: readonly ReceivedEvent[], cut: number): readonly ReceivedEvent[] {
  const at = told.findIndex((one, index) => index >= cut && !isOfFile(one) && isOfFile(told[index + 1] ?? one))
  const hook = told[at]
  if (hook === undefined) return told
  const isAgain = (one: ReceivedEvent): boolean =>
    isOfFile(one) && !one.event.event.endsWith(':read') && [undefined, turnOf(one)].includes(turnOf(hook) as undefined)
  return [...told.slice(0, at + 1), ...told.slice(0, cut).filter(isAgain), ...told.slice(at + 1)]
}

test.each(FILE_RUNS)(
  `builds the same turn of %s if the next receiver reads its files again (${SAMPLED_CUTS})`,
  async run => {
    const told = toldIn(run)
    const untroubled = await recorded(told, [])
    for (const cut of sample([...told.keys()].slice(1), 2, 8)) {
      const spans = await recorded(readAgain(told, cut), [cut])
      expect(treesOf(spans, false), `behind event ${cut}`).toBe(treesOf(untroubled, false))
      expect(spans.map(withoutEnd), `behind event ${cut}`).toEqual(untroubled.map(withoutEnd))
    }
  },
)

import { readdirSync } from 'node:fs'
import { MACHINES } from '../../src/agents/machines.ts'
import { RawEvents } from '../../src/cli/hook-records.ts'
import { HOOK_NAMES, type Plugin } from '../../src/index.ts'
import { fixturesOf } from '../agents/replay-fixture.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { type FedRecord, recording, START_AT } from '../support/feed.ts'

/** Something that an agent tells a plugin. */
export interface Run {
  readonly name: string
  readonly host: string
  readonly tell: (plugin: Plugin) => void
}

function telling(records: readonly FedRecord[]): Run['tell'] {
  return plugin => {
    for (const { hook, payload, ...meta } of records) void plugin.emitUntyped(hook, conventional(payload), meta)
  }
}

/** What an agent names itself is in nobody's registry. */
function conventional(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return payload
  return Object.fromEntries(Object.entries(payload).filter(([field]) => field !== 'attributes'))
}

function captures(host: string): Run[] {
  return fixturesOf(host).map(({ scenario, events }) => {
    const reader = RawEvents.of(host)
    if (reader === undefined) throw new Error(`no adapter for ${host}`)
    const records = [...events.flatMap(event => reader.read(event)), ...reader.end()]
    const tell: Run['tell'] = plugin => {
      for (const { hook, payload, meta } of records) void plugin.emitUntyped(hook, payload, meta)
    }
    return { name: `${host}: ${scenario}`, host, tell }
  })
}

const bundled = readdirSync(new URL('../../fixtures', import.meta.url)).filter(name => name.endsWith('.jsonl'))

const { COMPLETE_RECORDS } = (await import(new URL('../../scripts/complete-records.mjs', import.meta.url).href)) as {
  readonly COMPLETE_RECORDS: readonly FedRecord[]
}

/** Values that a field should not have. Those that are of a wrong type must not make an attribute of a wrong type. */
const ODD: readonly unknown[] = [
  42,
  2.5,
  -1,
  0,
  Number.NaN,
  2n ** 80n,
  1e300,
  true,
  false,
  '17',
  '2.5',
  'true',
  'two\nlines',
  '',
  null,
  ['a', 'b'],
  [1, 'a', null],
  [{ role: 'user', content: 'hi' }],
  { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
  { a: { b: [1.5] } },
  { prompt_tokens: 1.5, completion_tokens: '7', reasoning_tokens: -1 },
]

/** Every hook, with every field that the contract names at the same odd value; and with ids that are as they should be. */
function odd(value: unknown, index: number): Run {
  const records = HOOK_NAMES.flatMap((hook, at) => {
    const fields = Object.fromEntries((CONTRACT_FIELDS.get(hook) ?? []).map(field => [field, value]))
    const ids = { session_id: 's', turn_id: 't', tool_call_id: 'c', api_request_id: 'r', tool_name: 'terminal' }
    return [
      { hook, payload: fields, at: START_AT + at },
      { hook, payload: { ...fields, ...ids }, at: START_AT + 1000 + at },
    ]
  })
  return { name: `odd value ${index}`, host: 'agent', tell: telling(records) }
}

/** Recordings of every agent. */
export const CAPTURED_RUNS: readonly Run[] = Object.keys(MACHINES).flatMap(captures)

/** Bundled recordings, a turn with a value in every field, and nonsense. */
export const MADE_RUNS: readonly Run[] = [
  ...bundled.map(name => ({ name, host: 'agent', tell: telling(recording(name)) })),
  { name: 'every field', host: 'agent', tell: telling(COMPLETE_RECORDS) },
  ...ODD.map(odd),
]

export const RUNS: readonly Run[] = [...CAPTURED_RUNS, ...MADE_RUNS]

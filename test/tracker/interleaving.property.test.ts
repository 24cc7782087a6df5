import { expect, test } from 'vitest'
import { createTestPlugin, type MetricSample, type StoredSpan, type TestPlugin } from '../../src/testing.ts'
import { type AgentScript, agentScript, SCRIPT_LIMITS } from '../support/agent-script.ts'
import { ANY_ARRIVAL, type Arrival, arrivals, COMPLETE_ARRIVAL, IN_ORDER, LATE_STARTS } from '../support/arrival.ts'
import { assertHolds } from '../support/assert-holds.ts'
import { drawnTraces, type ExpectedSpan, tracesText } from '../support/expected-span.ts'
import fc from '../support/fast-check.ts'
import { type FedRecord, START_AT } from '../support/feed.ts'
import { times } from '../support/sample.ts'
import { type Fed, runScript, type ScriptRun } from '../support/script-run.ts'
import { expectSumsOfRequests } from '../support/sum-invariants.ts'
import { expectAllAccounted, expectCountedIncomplete, expectSoundSpans, total } from '../support/trace-invariants.ts'

/** Of each property. `npm run test:deep` may say how many. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? times(4, 150))
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121)

/** A script and what its records go through, printed as the records that came in. */
interface Case {
  readonly run: ScriptRun
  readonly records: readonly FedRecord[]
}

function cases(scripts: fc.Arbitrary<AgentScript>, arrival: fc.Arbitrary<Arrival>): fc.Arbitrary<Case> {
  return fc.tuple(arrival, scripts).map(([how, script]) => {
    const run = runScript(script)
    const records = arrivals(run, how)
    const text = (): string => `\n${records.map(record => JSON.stringify(record)).join('\n')}\n`
    return Object.defineProperty({ run, records }, fc.toStringMethod, { value: text, enumerable: false })
  })
}

interface Drawn {
  /** Turns that were open before the shutdown. */
  readonly turnsOpen: number
  readonly plugin: TestPlugin
  readonly spans: readonly StoredSpan[]
  readonly samples: readonly MetricSample[]
}

async function draw(
  records: readonly FedRecord[],
  options: Parameters<typeof createTestPlugin>[0] = {},
): Promise<Drawn> {
  const plugin = createTestPlugin({ host: 'agent', ...options })
  for (const { hook, payload, ...meta } of records) {
    const returned: unknown = plugin.emitUntyped(hook, payload, meta)
    if (returned !== undefined) await expect(returned).resolves.toBeUndefined()
  }
  const { turnsOpen } = plugin.stats()
  await plugin.shutdown()
  return { plugin, turnsOpen, spans: plugin.spans(), samples: await plugin.metrics() }
}

function holds(arbitrary: fc.Arbitrary<Case>, check: (found: Case) => Promise<void>): Promise<void> {
  return assertHolds(arbitrary, check, { numRuns: RUNS, seed: SEED })
}

const COUNTERS: { readonly [Key in keyof Fed]: string } = {
  turns: 'hermes.sessions',
  input: 'hermes.tokens.input',
  output: 'hermes.tokens.output',
  cacheRead: 'hermes.tokens.cache_read',
  cacheWrite: 'hermes.tokens.cache_write',
  reasoning: 'hermes.tokens.reasoning',
  apiErrors: 'hermes.api.error.count',
  toolCalls: 'hermes.tool.calls',
  subagents: 'hermes.subagent.count',
  approvals: 'hermes.approval.count',
  hookRuns: 'hermes.hook.runs',
}

function countersOf(samples: readonly MetricSample[]): Fed {
  const counted = Object.entries(COUNTERS).map(([key, name]) => [key, total(samples, name)])
  return Object.fromEntries(counted) as unknown as Fed
}

const TOKENS = {
  input: 'prompt_tokens',
  output: 'output_tokens',
  cacheRead: 'cache_read_tokens',
  cacheWrite: 'cache_write_tokens',
  reasoning: 'reasoning_tokens',
} as const

/** The tokens of all answers that came: each once, however often it came. */
function tokensIn(records: readonly FedRecord[]): Partial<Fed> {
  const sums: Record<string, number> = {}
  for (const { payload } of new Set(records)) {
    const { usage } = payload as { usage?: Record<string, number> }
    for (const [key, name] of Object.entries(TOKENS)) sums[key] = (sums[key] ?? 0) + (usage?.[name] ?? 0)
  }
  return sums
}

/** Turns of which the host says no more. */
function silentTurns(traces: ScriptRun['traces']): number {
  const isSilent = ({ name, facts }: ExpectedSpan): boolean => name === 'agent' && facts['incomplete'] === 'shutdown'
  return traces.reduce((sum, trace) => sum + Number(isSilent(trace)) + silentTurns(trace.children), 0)
}

/** Everything came, so everything is drawn and counted as it was told. */
async function expectWhole(run: ScriptRun, records: readonly FedRecord[]): Promise<void> {
  const { plugin, spans, samples, turnsOpen } = await draw(records)
  expect(tracesText(drawnTraces(spans))).toBe(tracesText(run.traces))
  const { undrawn, background } = run.beside
  expect(countersOf(samples)).toEqual(run.fed)
  const silent = silentTurns(run.traces)
  expect(turnsOpen).toBeGreaterThanOrEqual(silent)
  expect(turnsOpen).toBeLessThanOrEqual(silent + background)
  expectAllAccounted(plugin, samples, records.length)
  expectCountedIncomplete(spans, samples)
  expectSoundSpans(spans)
  expectSumsOfRequests(spans, undrawn > 0)
}

test('yields the tree of every script in order', async () => {
  await holds(cases(agentScript(), fc.constant(IN_ORDER)), ({ run, records }) => expectWhole(run, records))
})

test('yields the same trees and counts for interleaved and repeated records', async () => {
  await holds(cases(agentScript(), COMPLETE_ARRIVAL), ({ run, records }) => expectWhole(run, records))
})

test('keeps every span sound and counts every token at most once, with losses and delays', async () => {
  await holds(cases(agentScript(), ANY_ARRIVAL), async ({ run, records }) => {
    const { plugin, spans, samples } = await draw(records)
    expectAllAccounted(plugin, samples, records.length)
    expectCountedIncomplete(spans, samples)
    expectSoundSpans(spans)
    expectSumsOfRequests(spans, true)
    expect(countersOf(samples)).toMatchObject(tokensIn(records))
    const { turns: _roots, ...counted } = countersOf(samples)
    for (const [key, value] of Object.entries(counted)) {
      expect(value, COUNTERS[key as keyof Fed]).toBeLessThanOrEqual(run.fed[key as keyof Fed])
    }
  })
})

test('counts everything once if starts arrive after their ends', async () => {
  await holds(cases(agentScript(), LATE_STARTS), async ({ run, records }) => {
    const { plugin, spans, samples } = await draw(records)
    expectAllAccounted(plugin, samples, records.length)
    expectCountedIncomplete(spans, samples)
    expectSoundSpans(spans)
    expectSumsOfRequests(spans, true)
    const { turns: _roots, apiErrors, ...fed } = run.fed
    const counted = countersOf(samples)
    expect(counted).toMatchObject(fed)
    // Two failures of one request without a number look like one that is told again.
    expect(counted.apiErrors).toBeLessThanOrEqual(apiErrors)
  })
})

test('gives the same deterministic ids for the same records', async () => {
  const idsOf = (spans: readonly StoredSpan[]): string[] =>
    spans.map(({ traceId, spanId, parentSpanId, name }) => `${traceId} ${spanId} ${parentSpanId ?? '-'} ${name}`)
  await holds(cases(agentScript(), ANY_ARRIVAL), async ({ records }) => {
    const [first, second] = [
      await draw(records, { deterministic_ids: true }),
      await draw(records, { deterministic_ids: true }),
    ]
    expect(idsOf(second.spans)).toEqual(idsOf(first.spans))
    expect(new Set(first.spans.map(span => span.spanId)).size).toBe(first.spans.length)
  })
})

test('ends everything that is open at a much later record', async () => {
  const LATER = START_AT + 25 * 3_600_000
  const last: FedRecord[] = [
    { hook: 'pre_llm_call', at: LATER, payload: { session_id: 'later', turn_id: 'later.t1' } },
    { hook: 'on_session_end', at: LATER + 1, payload: { session_id: 'later', turn_id: 'later.t1', completed: true } },
  ]
  await holds(cases(agentScript({ ...SCRIPT_LIMITS, turns: 2 }), ANY_ARRIVAL), async ({ records }) => {
    const plugin = createTestPlugin({ host: 'agent' })
    for (const { hook, payload, ...meta } of [...records, ...last]) plugin.emitUntyped(hook, payload, meta)
    expect(plugin.stats()).toMatchObject({ spansOpen: 0, turnsOpen: 0 })
    const spans = plugin.spans()
    for (const span of spans.filter(({ attributes }) => attributes['hermes.span.incomplete'] === 'orphaned')) {
      if (span.attributes['hermes.span.kind'] !== 'session') continue
      expect(span).toMatchObject({ status: 'ok', attributes: { 'hermes.turn.final_status': 'timed_out' } })
    }
    expect(spans.filter(({ attributes }) => attributes['hermes.span.incomplete'] === 'shutdown')).toEqual([])
    expectSoundSpans(spans)
    expectCountedIncomplete(spans, await plugin.metrics())
  })
})

test('bounds open spans: tools without an end, children without a start', async () => {
  const plugin = createTestPlugin({ host: 'agent', sample_rate: 0 })
  const tell = (at: number, hook: string, payload: object): void =>
    void plugin.emitUntyped(hook, payload, { at: START_AT + at })
  const MOST = 10_000
  for (let call = 0; call < MOST + 200; call += 1) {
    tell(call, 'pre_tool_call', {
      session_id: 'tools',
      turn_id: 't1',
      tool_name: 'terminal',
      tool_call_id: `c${call}`,
    })
  }
  expect(plugin.stats().spansOpen).toBe(MOST)
  for (let child = 0; child < MOST + 2000; child += 1) {
    const ids = { parent_session_id: 'busy', parent_turn_id: `b${Math.trunc(child / 50)}` }
    tell(MOST * 2 + child, 'subagent_start', { ...ids, child_session_id: `child${child}` })
    if (child % 50 === 49) tell(MOST * 2 + child, 'on_session_end', { session_id: 'busy', turn_id: ids.parent_turn_id })
  }
  expect(plugin.stats().spansOpen).toBeLessThanOrEqual(2 * MOST)
  await plugin.shutdown()
  expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 0 })
  expect(plugin.reported).toEqual([])
})

test('leaves nothing behind after ended turns, however many turns and sessions', () => {
  const plugin = createTestPlugin({ host: 'agent', sample_rate: 0 })
  const tell = (at: number, hook: string, payload: object): void =>
    void plugin.emitUntyped(hook, payload, { at: START_AT + at })
  const turns = times(1500, 5000)
  for (let turn = 0; turn < turns; turn += 1) {
    // The session id rotates in every fourth turn, and another session comes every hundred.
    const session_id = `s${Math.trunc(turn / 100)}~${Math.trunc(turn / 4)}`
    const ids = { session_id, turn_id: `t${turn}` }
    const renamed = {
      ...ids,
      session_id: turn % 4 === 3 ? `s${Math.trunc(turn / 100)}~${Math.trunc(turn / 4) + 1}` : session_id,
    }
    tell(turn * 10, 'pre_llm_call', ids)
    tell(turn * 10 + 1, 'pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: 'c' })
    tell(turn * 10 + 2, 'post_tool_call', { ...renamed, tool_name: 'terminal', tool_call_id: 'c' })
    tell(turn * 10 + 3, 'on_session_end', { ...renamed, completed: true })
    expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 0 })
  }
  expect(plugin.stats().hooks).toEqual({ ok: 4 * turns, ignored: 0, duplicate: 0, error: 0 })
})

/** A trace context that is given out before its records are processed names the span that processing them would have named. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SpanIds } from '../../src/index.ts'
import { EarlyContexts } from '../../src/plugin/early-context.ts'
import type { StoredSpan } from '../../src/testing.ts'
import { agentScript } from '../support/agent-script.ts'
import { ANY_ARRIVAL, arrivals, IN_ORDER } from '../support/arrival.ts'
import { assertHolds } from '../support/assert-holds.ts'
import fc from '../support/fast-check.ts'
import { type FedRecord, START_AT } from '../support/feed.ts'
import { times } from '../support/sample.ts'
import { runScript } from '../support/script-run.ts'
import { createLivePlugin } from '../traces/live-plugin.ts'

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? times(30, 1000))
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_127)

type Step = { readonly emit: FedRecord } | { readonly query: SpanIds } | 'process'

interface Outcome {
  /** The shape of each span that was asked for, or what was answered instead. */
  readonly answers: readonly (string | undefined)[]
  readonly spans: readonly string[]
}

/** A span without its ids on a line, and its ancestors on the lines below. A text inside a text would be escaped at each level. */
function shapeOf(span: StoredSpan, byId: ReadonlyMap<string, StoredSpan>): string {
  const { name, startAt, endAt, attributes, parentSpanId = '' } = span
  const parent = byId.get(parentSpanId)
  return `${JSON.stringify([name, startAt, endAt, attributes])}\n${parent === undefined ? '' : shapeOf(parent, byId)}`
}

async function outcomeOf(steps: readonly Step[]): Promise<Outcome> {
  const plugin = createLivePlugin({ host: 'agent' })
  const answers: (string | undefined)[] = []
  for (const step of steps) {
    if (step === 'process') plugin.stats()
    else if ('query' in step) answers.push(plugin.traceparent(step.query))
    else {
      const { hook, payload, ...meta } = step.emit
      void plugin.emitUntyped(hook, payload, meta)
    }
  }
  await plugin.shutdown()
  const spans = plugin.spans()
  const byId = new Map(spans.map(span => [span.spanId, span]))
  const named = (answer: string): string => {
    const [, traceId, spanId = '', flags] = answer.split('-')
    const span = byId.get(spanId)
    if (span === undefined || span.traceId !== traceId || flags !== '01') return `no span has ${answer}`
    return shapeOf(span, byId)
  }
  return {
    answers: answers.map(answer => answer && named(answer)),
    spans: spans.map(span => shapeOf(span, byId)).sort(),
  }
}

let early = 0
let tried = 0

/** Both outcomes of the steps: with early answers, and with a queue that is processed for each answer. */
async function expectSame(steps: readonly Step[]): Promise<void> {
  tried += 1
  const original = EarlyContexts.prototype.traceparent
  const spy = vi.spyOn(EarlyContexts.prototype, 'traceparent').mockImplementation(function (
    this: EarlyContexts,
    ...of
  ) {
    const answer = original.apply(this, of)
    if (answer !== undefined) early += 1
    return answer
  })
  const found = await outcomeOf(steps)
  spy.mockReturnValue(undefined)
  const expected = await outcomeOf(steps)
  spy.mockRestore()
  expect(found).toEqual(expected)
}

beforeEach(() => {
  // The clock of records without a time, which both outcomes must share.
  vi.useFakeTimers({ toFake: ['Date'], now: START_AT })
  early = 0
  tried = 0
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const mostly = <Value>(usual: fc.Arbitrary<Value>, rare: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ arbitrary: usual, weight: 19 }, { arbitrary: rare, weight: 1 })

const SESSION = mostly(fc.constant<string | undefined>('s1'), fc.constantFrom('s2', undefined))
const TURN = mostly(fc.constant<string | undefined>('t1'), fc.constantFrom('t2', undefined))
const REQUEST = mostly(fc.constantFrom<string | undefined>('r1', 'r2'), fc.constantFrom('r3', undefined))
const TOOL = mostly(fc.constantFrom<string | undefined>('c1', 'c2'), fc.constantFrom('c3', undefined))
const RETRY = mostly(fc.constant<number | undefined>(undefined), fc.constantFrom(0, 1, 2))
const HOOK = mostly(
  fc.constantFrom(
    ...['on_session_start', 'pre_llm_call', 'pre_llm_call', 'pre_api_request', 'pre_api_request', 'post_api_request'],
    ...['pre_tool_call', 'pre_tool_call', 'post_tool_call', 'post_llm_call', 'on_session_end'],
  ),
  fc.constantFrom(
    ...['api_request_error', 'on_session_finalize', 'on_session_reset', 'subagent_start', 'subagent_stop'],
    ...['pre_approval_request', 'post_approval_response', 'pre_control_hook', 'pre_auxiliary_call', 'unknown_hook'],
    ...['on_iteration_start', 'transform_tool_result'],
  ),
)
/** A turn may have expired at the last one. */
const AT = mostly(
  fc.nat(20).map((millis): number | undefined => START_AT + millis),
  fc.constantFrom(undefined, START_AT + 5000, START_AT + 40_000, START_AT + 700_000),
)

const record = fc
  .record({ hook: HOOK, session_id: SESSION, turn_id: TURN, api_request_id: REQUEST, tool_call_id: TOOL, at: AT })
  .chain(({ hook, at, ...ids }) =>
    fc.record({
      emit: fc.record({ retry_count: RETRY, child_session_id: mostly(fc.constant(undefined), SESSION) }).map(more => ({
        hook,
        at,
        payload: Object.fromEntries(
          Object.entries({
            ...ids,
            ...more,
            model: 'm',
            tool_name: hook.endsWith('tool_call') ? 'ls' : undefined,
          }).filter(([, value]) => value !== undefined),
        ),
      })),
    }),
  ) as fc.Arbitrary<Step>

const query: fc.Arbitrary<Step> = fc
  .record({
    session_id: SESSION,
    turn_id: mostly(fc.constant(undefined), TURN),
    tool_call_id: fc.option(TOOL, { nil: undefined }),
  })
  .map(ids => ({ query: ids }))

const BEGUN: Step = {
  emit: { hook: 'pre_llm_call', at: START_AT, payload: { session_id: 's1', turn_id: 't1', model: 'm' } },
}

/** Few ids, so that most records meet others. */
const steps = fc
  .tuple(
    mostly(fc.constant<readonly Step[]>([BEGUN]), fc.constant([])),
    fc.array(
      fc.oneof(
        { arbitrary: record, weight: 6 },
        { arbitrary: query, weight: 3 },
        { arbitrary: fc.constant<Step>('process'), weight: 1 },
      ),
      { minLength: 2, maxLength: 30, size: 'max' },
    ),
  )
  .map(([begun, more]) => [...begun, ...more])

describe('a trace context that is given out early', () => {
  test('names the same span, and changes no other, for any records', async () => {
    await assertHolds(steps, expectSame, { numRuns: RUNS, seed: SEED })
    expect(early).toBeGreaterThan(tried / 4)
  })

  test('is not given out if an end may belong to an earlier attempt with the same id', async () => {
    const ids = { session_id: 's1', turn_id: 't1', api_request_id: 'r1' }
    const query: Step = { query: { session_id: 's1' } }
    const told = (hook: string, at: number): Step => ({ emit: { hook, at: START_AT + at, payload: ids } })
    const attempts = [
      told('pre_api_request', 0),
      told('pre_api_request', 3),
      'process',
      told('post_api_request', 0),
    ] as const
    await expectSame([BEGUN, ...attempts, query])
  })

  test.each([
    ['in order', IN_ORDER],
    ['with repeats, losses and delays', undefined],
  ])('names the same span for the records of agents, %s', async (_how, arrival) => {
    const cases = fc
      .tuple(
        agentScript(),
        arrival === undefined ? ANY_ARRIVAL : fc.constant(arrival),
        fc.array(fc.nat(5), { maxLength: 50 }),
      )
      .map(([script, how, choices]) =>
        arrivals(runScript(script), how).flatMap((emit, at): Step[] => {
          const { session_id, tool_call_id } = emit.payload as SpanIds
          const asked: Step[] = [{ query: { session_id } }, { query: { session_id, tool_call_id } }, 'process']
          return [{ emit }, ...asked.slice(0, choices[at % (choices.length || 1)] ?? 0)]
        }),
      )
    await assertHolds(cases, expectSame, { numRuns: Math.ceil(RUNS / 10), seed: SEED })
    expect(early).toBeGreaterThan(0)
  })
})

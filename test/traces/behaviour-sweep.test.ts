/** Turns, delegations and approvals that nobody ends. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoredSpan, TestPlugin } from '../../src/testing.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { createLivePlugin } from './live-plugin.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  seriesText,
  TURN,
  text,
  used,
} from './scenes.ts'

const TTL = 600_000
const DAY = 86_400_000
/** A sign of life of somebody else, which sets off the sweep. */
const stranger = (at: number): Step => [at, 'on_session_start', { session_id: `stranger-${at}` }]

/** The roots of `TURN` that have ended. */
function roots(plugin: TestPlugin): StoredSpan[] {
  return all(plugin, 'agent').filter(root => root.attributes['hermes.turn.id'] === 't1')
}

function rootFacts({ attributes: root }: StoredSpan): object {
  const [final_status, number, duration_ms] = ['final_status', 'number', 'duration_ms'].map(
    name => root[`hermes.turn.${name}`],
  )
  return { final_status, number, duration_ms }
}

describe('a silent turn', () => {
  test('is over, with its summary, at its last sign of life', () => {
    const plugin = told([
      ...began(),
      ...asked(100, {}, { usage: { prompt_tokens: 5 } }),
      ...used(250),
      stranger(300 + TTL + 1),
    ])
    expect(plugin.tree({ attributes: ['hermes.turn.final_status'] })).toBe(text`
      agent OK (incomplete: orphaned) [hermes.turn.final_status=timed_out]
        llm.qwen3 UNSET (incomplete: orphaned)
          api.qwen3 OK
          tool.terminal OK
    `)
    expect(only(plugin, 'agent').endAt).toBe(START_AT + 300)
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.turn.tokens.input': 5,
      'hermes.turn.tool_call_count': 1,
      'hermes.turn.duration_ms': 300,
      'input.value': 'hello',
    })
  })

  test('is not over while the limit is not passed', () => {
    expect(told([...began(), stranger(20 + TTL)]).spans()).toEqual([])
    expect(told([...began(), stranger(20 + TTL + 1)]).spans()).toHaveLength(2)
  })

  test('counts as a turn and as incomplete spans', async () => {
    const plugin = told([...began(), stranger(TTL + 100)])
    expect(await seriesText(plugin, 'hermes.sessions')).toEqual(['kind=session final_status=timed_out → 1'])
    expect(await seriesText(plugin, 'hookspan.spans.incomplete')).toEqual(['reason=orphaned → 2'])
  })

  test('is ended alone: the turn whose record causes the sweep, and other live ones, stay', () => {
    const plugin = told([
      ...began(),
      [300_000, 'pre_llm_call', { session_id: 's2', turn_id: 'u1', model: 'small' }],
      stranger(TTL + 100),
    ])
    expect(all(plugin, 'agent').map(root => root.attributes['session.id'])).toEqual(['s1'])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test('begins anew if it continues with a new turn id of the same session', () => {
    const plugin = told([
      ...began(),
      [TTL + 100, 'pre_llm_call', { ...TURN, turn_id: 't2', model: 'next' }],
      ...answered(TTL + 200, { turn_id: 't2' }),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK (incomplete: orphaned)
        llm.qwen3 UNSET (incomplete: orphaned)

      agent OK
        llm.next OK
    `)
  })
})

describe('a silent turn with open work', () => {
  const CALL = { ...TURN, tool_name: 'terminal', tool_call_id: 'c1' }
  const REQUEST = { ...TURN, api_request_id: 'r1', model: 'qwen3' }
  const APPROVAL = { ...TURN, pattern_key: 'rm' }

  const WORK: [string, Step, Step, string][] = [
    ['a tool', [100, 'pre_tool_call', CALL], [DAY, 'post_tool_call', { ...CALL, status: 'ok' }], 'tool.terminal'],
    ['a request', [100, 'pre_api_request', REQUEST], [DAY, 'post_api_request', REQUEST], 'api.qwen3'],
    [
      'an approval',
      [100, 'pre_approval_request', APPROVAL],
      [DAY, 'post_approval_response', { ...APPROVAL, choice: 'once' }],
      'approval.rm',
    ],
    [
      'a child agent that reports nothing',
      delegated(100),
      [DAY, 'subagent_stop', { parent_session_id: 's1', child_session_id: 'C', child_status: 'completed' }],
      'subagent.researcher',
    ],
  ]

  test.each(WORK)('waits a day for %s', (_what, start, end, name) => {
    const plugin = told([...began(), start, stranger(11 * 60_000), stranger(DAY - 1), end, ...answered(DAY + 100)])
    const [span] = all(plugin, name)
    expect(span).toMatchObject({ startAt: START_AT + 100, endAt: START_AT + DAY, status: 'ok' })
    const turn = { final_status: 'completed', number: 1, duration_ms: DAY + 110 }
    expect(roots(plugin).map(rootFacts)).toEqual([turn])
  })

  test('waits for the work of its child', () => {
    const plugin = told([
      ...began(),
      delegated(30),
      ...childTurn(40).slice(0, 2),
      [100, 'pre_tool_call', { ...CALL, session_id: 'C', turn_id: 'ct1' }],
      stranger(DAY - 1),
    ])
    expect(plugin.spans()).toEqual([])
    expect(plugin.stats().spansOpen).toBe(7)
  })

  test.each(WORK)('ends after a day without a record, with %s', (_what, start) => {
    const plugin = told([...began(), start, stranger(100 + DAY + 1)])
    expect(roots(plugin).map(rootFacts)).toEqual([{ final_status: 'timed_out', number: 1, duration_ms: 100 }])
    expect(plugin.stats().spansOpen).toBe(1)
  })

  test('waits no longer than `open_work_ttl_ms`, and never less than a turn without work', () => {
    const steps: Step[] = [...began(), [100, 'pre_tool_call', CALL], stranger(100 + TTL + 1)]
    const open = (limit: number): number => told(steps, { open_work_ttl_ms: limit }).stats().turnsOpen
    expect([open(TTL), open(TTL + 1), open(0)]).toEqual([1, 2, 1])
    expect(told([...steps.slice(0, -1), stranger(100 + TTL)], { open_work_ttl_ms: 0 }).stats().turnsOpen).toBe(2)
  })

  test('is over as soon as its work is, and nothing follows', () => {
    const plugin = told([
      ...began(),
      [100, 'pre_tool_call', CALL],
      stranger(2 * TTL),
      [2 * TTL + 100, 'post_tool_call', { ...CALL, status: 'ok' }],
      stranger(3 * TTL + 100),
      stranger(3 * TTL + 101),
    ])
    expect(roots(plugin).map(rootFacts)).toEqual([{ final_status: 'timed_out', number: 1, duration_ms: 2 * TTL + 100 }])
  })

  test('is not kept by a request that a later one has followed', () => {
    const plugin = told([
      ...began(),
      [100, 'pre_api_request', { ...REQUEST, api_call_count: 1 }],
      ...asked(200, { api_request_id: 'r2', api_call_count: 2 }),
      stranger(300 + TTL + 1),
    ])
    expect(roots(plugin)).toHaveLength(1)
  })

  test('is not kept by a request that is begun again because it got no answer', () => {
    const plugin = told([
      ...began(),
      [100, 'pre_api_request', REQUEST],
      [200, 'pre_api_request', REQUEST],
      stranger(TTL + 201),
    ])
    expect(roots(plugin).map(rootFacts)).toEqual([{ final_status: 'failed', number: 1, duration_ms: 200 }])
  })
})

describe('a turn that was ended for its silence', () => {
  const SILENT = [...began(), ...asked(100), stranger(4 * TTL)]
  const AGAIN = 4 * TTL + 1000

  test('continues under its own id: later records are a part of it', () => {
    const plugin = told([
      ...SILENT,
      ...used(AGAIN),
      ...asked(AGAIN + 100, { api_request_id: 'r2' }),
      ...answered(AGAIN + 300),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK (incomplete: orphaned)
        llm.qwen3 UNSET (incomplete: orphaned)
          api.qwen3 OK
        tool.terminal OK
        api.qwen3 OK
    `)
    expect(plugin.stats().turnsOpen).toBe(1)
  })

  test.each<[string, Step]>([
    ['its prompt', [AGAIN, 'pre_llm_call', { ...TURN, model: 'qwen3', user_message: 'hello' }]],
    ['the start of its session', [AGAIN, 'on_session_start', { ...TURN, model: 'qwen3' }]],
  ])('is not begun a second time when %s arrives again', (_what, step) => {
    const plugin = told([...SILENT, step, ...used(AGAIN + 100), ...answered(AGAIN + 300)])
    expect(roots(plugin)).toHaveLength(1)
    expect(plugin.tree()).toContain('tool.terminal OK')
  })

  test('is forgotten after a day', () => {
    const plugin = told([...SILENT, stranger(DAY + 2 * TTL), ...used(DAY + 2 * TTL + 100)])
    expect(plugin.stats().turnsOpen).toBe(2)
  })
})

describe('a sign of life', () => {
  const QUIET = [...began(), ...used(300_000)]

  test.each<[string, Step]>([
    ['a start', used(300_000)[0] as Step],
    ['an end', [300_000, 'post_tool_call', { ...TURN, tool_name: 'terminal', tool_call_id: 'c1', duration_ms: 9 }]],
    ['an event', [300_000, 'transform_llm_output', TURN]],
    ['a repeated session start', [300_000, 'on_session_start', { session_id: 's1' }]],
  ])('keeps the turn: %s', (_what, step) => {
    const plugin = told([...began(), step, stranger(TTL + 100_000)])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test("keeps the delegation and the waiting parent if it is the child's", () => {
    const minutes = Array.from({ length: 20 }, (_, index) =>
      used(index * 300_000, { session_id: 'C', turn_id: 'ct1' }),
    ).flat()
    const plugin = told([...began(), delegated(30), ...childTurn(40).slice(0, 2), ...minutes])
    expect(all(plugin, 'agent')).toEqual([])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test('does not include another turn of the same session', () => {
    const plugin = told([
      ...QUIET,
      ...asked(500_000, { turn_id: 'review' }),
      ...asked(1_000_000, { turn_id: 'review' }),
    ])
    const own = all(plugin, 'agent').find(root => root.attributes['hermes.turn.id'] === 't1')
    expect(own?.attributes['hermes.turn.final_status']).toBe('timed_out')
  })
})

describe('limits of their own', () => {
  const LIVELY = [...used(300_000, { tool_call_id: 'c1' }), ...used(TTL + 101, { tool_call_id: 'c2' })]

  test.each<[string, number, string]>([
    ['after `open_work_ttl_ms`', TTL, 'UNSET (incomplete: orphaned)'],
    ['not before', DAY, 'UNSET (incomplete: turn_ended)'],
  ])('ends an unanswered approval although the turn continues: %s', (_when, limit, end) => {
    const asking: Step = [100, 'pre_approval_request', { ...TURN, pattern_key: 'rm' }]
    const plugin = told([...began(), asking, ...LIVELY, ...answered(700_000)], { open_work_ttl_ms: limit })
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          approval.rm ${end}
          tool.terminal OK
          tool.terminal OK
    `)
  })

  test('ends a delegation whose child never appears although the turn continues', () => {
    const plugin = told([...began(), delegated(100), ...LIVELY, ...answered(700_000)], { open_work_ttl_ms: TTL })
    expect(plugin.tree()).toContain('subagent.researcher UNSET (incomplete: orphaned)')
    expect(plugin.stats().spansOpen).toBe(0)
  })

  test('ends a delegation like a silent turn if it outlives its turn and its child never appears', () => {
    const plugin = told([...began(), delegated(100), ...answered(200), stranger(100 + TTL + 1)])
    expect(plugin.stats()).toMatchObject({ spansOpen: 1, turnsOpen: 1 })
    const long = told([...began(), delegated(100), ...answered(2 * TTL), stranger(3 * TTL), stranger(4 * TTL)])
    expect(long.stats()).toMatchObject({ spansOpen: 2, turnsOpen: 2 })
  })
})

describe('live', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: START_AT })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const STORY: Step[] = [
    ...began(),
    ...asked(100),
    ...used(250).slice(0, 1),
    stranger(TTL + 1000),
    ...used(TTL + 2000, { session_id: `stranger-${TTL + 1000}`, turn_id: undefined }),
  ]

  test('sweeps in a replay as in the live run', async () => {
    const live = createLivePlugin()
    for (const [at, hook, payload] of STORY) {
      vi.setSystemTime(START_AT + at)
      live.emitUntyped(hook, payload, { at: START_AT + at })
    }
    vi.setSystemTime(START_AT + 9 * TTL)
    const replay = told(STORY)
    expect(replay.tree()).toBe(live.tree())
    expect(replay.spans().map(span => [span.name, span.startAt, span.endAt])).toEqual(
      live.spans().map(span => [span.name, span.startAt, span.endAt]),
    )
    await live.shutdown()
  })

  test('sweeps an idle process by the clock, with the times of the records', async () => {
    const live = createLivePlugin()
    for (const [at, hook, payload] of began()) live.emitUntyped(hook, payload, { at: START_AT + at })
    vi.advanceTimersByTime(TTL / 2)
    expect(live.stats().turnsOpen).toBe(1)
    vi.advanceTimersByTime(TTL)
    expect(live.tree()).toBe('agent OK (incomplete: orphaned)\n  llm.qwen3 UNSET (incomplete: orphaned)')
    expect(live.spans().map(span => span.endAt)).toEqual([START_AT + 20, START_AT + 20])
    await live.shutdown()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not age a replay of old records while it runs', () => {
    const plugin = told(began())
    vi.advanceTimersByTime(10 * TTL)
    feedSteps(plugin, answered(500))
    expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
  })

  test('limits the time that a hanging backend holds the end of a session', async () => {
    const live = createLivePlugin({ force_flush_wait_ms: 1500 }, { flush: () => new Promise(() => undefined) })
    live.on('on_session_start', { session_id: 's1' })
    const waiting = live.on('on_session_end', { session_id: 's1', completed: true })
    const resolved = vi.fn()
    waiting?.then(resolved)
    await vi.advanceTimersByTimeAsync(1499)
    expect(resolved).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(resolved).toHaveBeenCalledOnce()
    await live.shutdown()
  })
})

/** What goes on in a session under a turn that nobody began: a review of the turn before, after its end. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTestPlugin } from '../../src/testing.ts'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { createLivePlugin } from './live-plugin.ts'
import { all, answered, asked, attributes, began, only, seriesText, TURN, text } from './scenes.ts'

const REVIEW = { session_id: 's1', turn_id: 'review', api_request_id: 'review-1' }
const USAGE = { usage: { prompt_tokens: 100, completion_tokens: 10 } }
const reviewed = (at: number): Step[] => asked(at, REVIEW, USAGE)
const turn = (at: number, turnId: string): Step[] => {
  const ids = { session_id: 's1', turn_id: turnId, model: 'qwen3' }
  return [
    [at, 'pre_llm_call', ids],
    [at + 50, 'post_llm_call', ids],
    [at + 60, 'on_session_end', { ...ids, completed: true }],
  ]
}
const SHOWN = {
  attributes: ['hermes.session.kind', 'hermes.turn.number', 'hermes.turn.final_status', 'hermes.turn.tokens.total'],
  durations: true,
}

afterEach(() => void vi.useRealTimers())

describe('background work', () => {
  test('is a root of its own without a number, ends at its last sign of life and shifts no number', () => {
    const plugin = told([...began(), ...answered(100), ...reviewed(200), ...turn(9000, 't2')])
    expect(plugin.tree(SHOWN)).toBe(text`
      agent OK 110 ms [hermes.session.kind=session, hermes.turn.number=1, hermes.turn.final_status=completed]
        llm.qwen3 OK 80 ms

      agent OK 100 ms [hermes.session.kind=background, hermes.turn.final_status=completed, hermes.turn.tokens.total=110]
        api.qwen3 OK 100 ms

      agent OK 60 ms [hermes.session.kind=session, hermes.turn.number=2, hermes.turn.final_status=completed]
        llm.qwen3 OK 50 ms
    `)
  })

  test('outlives the next prompt, interrupts nothing and keeps its usage', () => {
    const [start, end] = reviewed(200) as [Step, Step]
    const plugin = told([...began(), ...answered(100), start, ...turn(250, 't2'), end, ...turn(9000, 't3')])
    expect(plugin.tree(SHOWN).split('\n\n')[1]).toBe(text`
      agent OK 100 ms [hermes.session.kind=background, hermes.turn.final_status=completed, hermes.turn.tokens.total=110]
        api.qwen3 OK 100 ms
    `)
    expect(all(plugin, 'agent').map(root => root.attributes['hermes.turn.final_status'])).not.toContain('interrupted')
  })

  test('links to the turn before it, and the turn after it does not link to it', () => {
    const plugin = told([...began(), ...answered(100), ...reviewed(200), ...turn(9000, 't2')])
    const [first, review, second] = all(plugin, 'agent').toSorted((a, b) => a.startAt - b.startAt)
    const previous = [{ spanId: first?.spanId, attributes: { 'hermes.link': 'previous_turn' } }]
    expect(review?.links).toMatchObject(previous)
    expect(second?.links).toMatchObject(previous)
    expect(review?.traceId).not.toBe(first?.traceId)
  })

  test('links to the turn that is still open, too', () => {
    const plugin = told([...began(), ...reviewed(200), ...answered(400), ...turn(9000, 't2')])
    const review = all(plugin, 'agent').find(root => root.attributes['hermes.session.kind'] === 'background')
    const first = all(plugin, 'agent').find(root => root.attributes['hermes.turn.number'] === 1)
    expect(review?.links).toMatchObject([{ spanId: first?.spanId, attributes: { 'hermes.link': 'previous_turn' } }])
  })

  test('adopts no side call without a session', () => {
    const side = { aux_task: 'compression', api_request_id: 'a1' }
    const plugin = told([
      ...began(),
      ...answered(100),
      ...reviewed(200),
      [310, 'pre_auxiliary_call', { ...side, session_id: 's1' }],
      [320, 'post_auxiliary_call', { ...side, session_id: 's1' }],
      [330, 'pre_auxiliary_call', { ...side, session_id: '', turn_id: '' }],
      [340, 'post_auxiliary_call', { ...side, session_id: '', turn_id: '' }],
    ])
    for (const span of all(plugin, 'aux.compression')) expect(span.parentSpanId).toBeUndefined()
    expect(all(plugin, 'aux.compression')).toHaveLength(2)
  })

  test('fails with its last request', () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'pre_api_request', REVIEW],
      [300, 'api_request_error', { ...REVIEW, retryable: false, error: { type: 'Overloaded' } }],
      ...turn(9000, 't2'),
    ])
    const review = all(plugin, 'agent')[1]
    expect(review).toMatchObject({ status: 'error', endAt: START_AT + 300 })
    expect(review?.attributes).toMatchObject({ 'hermes.turn.final_status': 'failed', 'error.type': 'Overloaded' })
  })

  test('is counted by its kind', async () => {
    const plugin = told([...began(), ...answered(100), ...reviewed(200), ...turn(9000, 't2')])
    expect(await seriesText(plugin, 'hermes.sessions')).toContain('kind=background final_status=completed → 1')
  })

  test.each<[string, Step]>([
    ['the end of its session', [400, 'on_session_finalize', { session_id: 's1' }]],
    ['a silence of five seconds', [5400, 'on_session_start', { session_id: 'other' }]],
  ])('has completed if it waits for nothing, at %s', (_what, end) => {
    const plugin = told([...began(), ...answered(100), ...reviewed(200), end])
    expect(all(plugin, 'agent')[1]).toMatchObject({
      endAt: START_AT + 300,
      attributes: { 'hermes.turn.final_status': 'completed' },
    })
  })

  test('survives a short silence while it waits for an answer', () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'pre_api_request', REVIEW],
      [60_000, 'on_session_start', { session_id: 'other' }],
    ])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test('is ended by the clock of an agent that does nothing else', () => {
    vi.useFakeTimers({ now: START_AT })
    const plugin = createLivePlugin()
    for (const [millis, hook, payload] of [...began(), ...answered(100), ...reviewed(200)])
      plugin.emitUntyped(hook, payload ?? {}, { at: START_AT + millis })
    expect(plugin.stats().turnsOpen).toBe(1)
    vi.advanceTimersByTime(120_000)
    expect(plugin.stats().turnsOpen).toBe(0)
    return plugin.shutdown()
  })
})

test('is recognised in a session whose id has changed', () => {
  const renamed: Step[] = answered(100, { ...TURN, session_id: 's2' })
  const plugin = told([...began(), ...renamed, ...asked(200, { ...REVIEW, session_id: 's2' }, USAGE)])
  expect(plugin.stats().turnsOpen).toBe(1)
  expect(all(plugin, 'agent').map(({ attributes: root }) => root['hermes.turn.number'])).toEqual([1])
  feedSteps(plugin, [[9000, 'on_session_start', { session_id: 's3' }]])
  expect(all(plugin, 'agent')[1]?.attributes).toMatchObject({ 'hermes.session.kind': 'background' })
})

test('is not inferred from a side call alone: the turn that it names may still begin', () => {
  const call = { session_id: 's1', turn_id: 't2', api_request_id: 'side', aux_task: 'title', model: 'small' }
  const side: Step[] = [
    [200, 'pre_auxiliary_call', call],
    [300, 'post_auxiliary_call', call],
  ]
  const plugin = told([...began(), ...answered(100), ...side, ...turn(9000, 't2')])
  expect(all(plugin, 'agent').map(({ attributes: root }) => root['hermes.turn.number'])).toEqual([1, 2])
  expect(all(plugin, 'agent').map(({ attributes: root }) => root['hermes.turn.id'])).toEqual(['t1', 't2'])
})

describe('a turn whose beginning was lost or is late', () => {
  const REQUEST = { ...TURN, turn_id: 't2', api_request_id: 'r2' }
  const before = [...began(), ...answered(100)]

  test.each<[string, Step[]]>([
    ['the prompt comes late', [...asked(210, REQUEST), ...turn(200, 't2')]],
    ['only the answer is reported', [...asked(210, REQUEST), [400, 'post_llm_call', { ...TURN, turn_id: 't2' }]]],
    [
      'only the end is reported',
      [...asked(210, REQUEST), [400, 'on_session_end', { ...TURN, turn_id: 't2', completed: true }]],
    ],
  ])('is a turn with a number: %s', (_what, steps) => {
    const plugin = told([...before, ...steps, [900, 'on_session_finalize', { session_id: 's1' }]])
    expect(all(plugin, 'agent')[1]?.attributes).toMatchObject({
      'hermes.session.kind': 'session',
      'hermes.turn.number': 2,
    })
  })

  test('is a turn in a session that never reports its turns', () => {
    const plugin = createTestPlugin({})
    feedSteps(plugin, [...asked(100), [300, 'on_session_end', { ...TURN, completed: true }]])
    expect(attributes(plugin, 'agent')).toMatchObject({ 'hermes.session.kind': 'session', 'hermes.turn.number': 1 })
    expect(only(plugin, 'agent').links).toEqual([])
  })
})

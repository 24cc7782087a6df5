/** The root of a turn, and how the turns and sessions of a conversation hang together. */
import { describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
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

/** A whole turn of session `s1`: 100 ms. */
function turn(at: number, turn_id: string, extra: object = {}): Step[] {
  const ids = { session_id: 's1', turn_id, ...extra }
  return [
    [at, 'pre_llm_call', { ...ids, model: turn_id }],
    [at + 90, 'post_llm_call', ids],
    [at + 100, 'on_session_end', { ...ids, completed: true }],
  ]
}

describe('the turns of one session', () => {
  const THREE: readonly Step[] = [
    [0, 'on_session_start', { session_id: 's1' }],
    ...turn(10, 't1'),
    ...turn(200, 't2'),
    ...turn(400, 't3'),
  ]

  test('has a trace per turn, numbered, each linked to the previous one', () => {
    const plugin = told(THREE)
    expect(plugin.tree({ status: false, attributes: ['hermes.turn.number'] })).toBe(text`
      agent [hermes.turn.number=1]
        llm.t1

      agent [hermes.turn.number=2]
        llm.t2

      agent [hermes.turn.number=3]
        llm.t3
    `)
    const roots = all(plugin, 'agent')
    expect(roots.map(root => root.links)).toEqual([
      [],
      [{ traceId: roots[0]?.traceId, spanId: roots[0]?.spanId, attributes: { 'hermes.link': 'previous_turn' } }],
      [{ traceId: roots[1]?.traceId, spanId: roots[1]?.spanId, attributes: { 'hermes.link': 'previous_turn' } }],
    ])
  })

  test('starts a session once, and its later turns are not synthesized', () => {
    for (const root of all(told(THREE), 'agent'))
      expect(root.attributes).not.toHaveProperty('hermes.session.synthesized')
    for (const root of all(told(THREE.slice(1)), 'agent'))
      expect(root.attributes['hermes.session.synthesized']).toBe(true)
  })

  test('accepts a start that arrives after the turn has begun', () => {
    const plugin = told([
      ...turn(0, 't1').slice(0, 1),
      [5, 'on_session_start', { session_id: 's1', platform: 'cli' }],
      ...turn(0, 't1').slice(1),
    ])
    expect(attributes(plugin, 'agent')).toMatchObject({ 'hermes.platform': 'cli' })
    expect(attributes(plugin, 'agent')).not.toHaveProperty('hermes.session.synthesized')
  })

  test('shares no sums between turns', () => {
    const plugin = told([
      ...began(),
      ...asked(30, {}, { usage: { prompt_tokens: 5 } }),
      ...used(150),
      ...answered(250),
      ...turn(400, 't2'),
    ])
    const second = all(plugin, 'agent')[1]?.attributes ?? {}
    expect(second).toMatchObject({ 'hermes.turn.final_status': 'completed', 'hermes.turn.duration_ms': 100 })
    for (const name of Object.keys(second))
      expect(name).not.toMatch(/turn\.(tool|api|tokens)|error|provider|response\.model/)
  })
})

describe('a session that ends', () => {
  test.each([
    ['finalized', 'on_session_finalize', { session_id: 's1', reason: 'shutdown' }],
    ['reset', 'on_session_reset', { old_session_id: 's1', new_session_id: 's2' }],
  ])('ends its open turn as %s', async (finalStatus, hook, payload) => {
    const plugin = told([...began(), ...used(100), [300, hook, payload]])
    expect(plugin.tree({ attributes: ['hermes.turn.final_status', 'hermes.turn.tool_call_count'] })).toBe(text`
      agent OK [hermes.turn.final_status=${finalStatus}, hermes.turn.tool_call_count=1]
        llm.qwen3 UNSET (incomplete: turn_ended)
          tool.terminal OK
    `)
    expect(only(plugin, 'agent').endAt).toBe(START_AT + 300)
    expect(await seriesText(plugin, 'hermes.sessions')).toEqual([`kind=session final_status=${finalStatus} → 1`])
  })

  test('ends the turn that it has continued from the session before it', () => {
    const plugin = told([
      ...began(),
      ...asked(100, { session_id: 's1-compressed' }),
      [300, 'on_session_finalize', { session_id: 's1-compressed' }],
    ])
    expect(attributes(plugin, 'agent')['hermes.turn.final_status']).toBe('finalized')
    expect(plugin.stats()).toMatchObject({ turnsOpen: 0, spansOpen: 0 })
  })

  test('opens nothing when it was never there', () => {
    const plugin = told([
      [0, 'on_session_finalize', { session_id: 's1' }],
      [10, 'on_session_finalize', { session_id: null }],
      [20, 'on_session_reset', { old_session_id: 's1', new_session_id: 's2' }],
      [30, 'on_session_reset', {}],
    ])
    expect(plugin.tree()).toBe('')
    expect(plugin.stats().turnsOpen).toBe(0)
  })

  test('names an unknown predecessor without a link', () => {
    const plugin = told([[0, 'on_session_reset', { old_session_id: 's0', new_session_id: 's1' }], ...turn(10, 't1')])
    expect(attributes(plugin, 'agent')['hermes.session.previous_id']).toBe('s0')
    expect(only(plugin, 'agent').links).toEqual([])
  })

  test('links its successor once', () => {
    const plugin = told([
      [0, 'on_session_start', { session_id: 's0' }],
      [5, 'on_session_end', { session_id: 's0', completed: true }],
      [6, 'on_session_reset', { old_session_id: 's0', new_session_id: 's1' }],
      ...turn(10, 't1'),
      ...turn(200, 't2'),
    ])
    expect(all(plugin, 'agent').map(root => root.links.map(link => link.attributes['hermes.link']))).toEqual([
      [],
      ['previous_session'],
      ['previous_turn'],
    ])
  })
})

describe('the trigger of the session', () => {
  test.each<[object, string, string]>([
    [{}, 'session', 'agent'],
    [{ session_type: 'batch', origin: 'o', run_type: 'r' }, 'batch', 'agent'],
    [{ origin: 'webhook', run_type: 'r' }, 'webhook', 'agent'],
    [{ run_type: 'eval', platform: 'cron' }, 'eval', 'agent'],
    [{ platform: 'cron' }, 'cron', 'cron'],
    [{ source: 'my-Cron-box' }, 'cron', 'cron'],
    [{ trigger: 'cron' }, 'cron', 'cron'],
    [{ job_id: 'j' }, 'cron', 'cron'],
    [{ cron_job_id: 'j' }, 'cron', 'cron'],
    [{ platform: 'cli', job_id: '' }, 'session', 'agent'],
  ])('reads %o as kind %s, name %s', async (start, kind, name) => {
    const plugin = told([
      [0, 'on_session_start', { session_id: 's1', ...start }],
      [50, 'on_session_end', { session_id: 's1', completed: true }],
    ])
    expect(plugin.spans()[0]?.name).toBe(name)
    expect(attributes(plugin, name)['hermes.session.kind']).toBe(kind)
    expect(await seriesText(plugin, 'hermes.sessions')).toEqual([`kind=${kind} final_status=completed → 1`])
  })
})

describe('the root', () => {
  test('has the agent, the place and the user', () => {
    const start = { session_id: 's1', platform: 'telegram', profile: 'work', agent_name: 'scout', model: 'first' }
    const plugin = told(
      [
        [0, 'on_session_start', start],
        [
          50,
          'on_session_end',
          { session_id: 's1', completed: true, model: 'second', turn_exit_reason: 'text_response(stop)' },
        ],
      ],
      { host: 'hermes', project_name: 'my project' },
    )
    expect(attributes(plugin, 'agent')).toMatchObject({
      'hermes.platform': 'telegram',
      'hermes.profile': 'work',
      'hermes.host': 'hermes',
      'gen_ai.agent.name': 'scout',
      'openinference.project.name': 'my project',
      'gen_ai.request.model': 'second',
      'llm.model_name': 'second',
      'hermes.session.completed': true,
      'hermes.turn.exit_reason': 'text_response(stop)',
    })
    expect(only(plugin, 'agent').resource['openinference.project.name']).toBe('my project')
  })

  test('is named after its host unless a name is set', () => {
    const plugin = told([...began(), ...answered(100)], { host: 'pi' })
    expect(attributes(plugin, 'agent')['gen_ai.agent.name']).toBe('pi')
  })
})

describe('a traceparent', () => {
  test('is that of the tool, the request, the loop, the root: the innermost that is named', () => {
    const plugin = told(began())
    const ask = (ids: object) => plugin.traceparent(ids)?.split('-')[2]
    const loop = ask(TURN)
    feedSteps(plugin, [asked(100)[0] as Step])
    const request = ask({ session_id: 's1' })
    feedSteps(plugin, [used(110)[0] as Step])
    const tool = ask({ ...TURN, tool_call_id: 'c1' })
    feedSteps(plugin, [...used(110).slice(1), ...asked(100).slice(1), ...answered(300)])
    expect([loop, request, tool]).toEqual([
      only(plugin, 'llm.qwen3').spanId,
      only(plugin, 'api.qwen3').spanId,
      only(plugin, 'tool.terminal').spanId,
    ])
  })

  test('is not that of another span if the tool is not open', () => {
    expect(told(began()).traceparent({ ...TURN, tool_call_id: 'unheard' })).toBeUndefined()
    expect(told(began()).traceparent({ ...TURN, turn_id: 't9' })).toBeUndefined()
  })

  test('is not returned if the user disables it', () => {
    expect(told(began(), { propagate_context: false }).traceparent(TURN)).toBeUndefined()
  })

  test('makes the child of another process part of the trace', () => {
    const parent = told([...began(), delegated(100)])
    const traceparent = parent.traceparent(TURN)
    const [start, ...rest] = childTurn(0) as [Step, ...Step[]]
    const child = told([[0, 'on_session_start', { ...start[2], traceparent }], ...rest], { parent: 'nest' })
    feedSteps(parent, answered(300))
    expect(only(child, 'agent')).toMatchObject({
      traceId: only(parent, 'llm.qwen3').traceId,
      parentSpanId: only(parent, 'llm.qwen3').spanId,
    })
  })

  test('only reads: a turn without an id does not get this one', () => {
    const plugin = told(began().slice(0, 1))
    plugin.traceparent({ session_id: 's1', turn_id: 'guess' })
    feedSteps(plugin, [...began().slice(1), ...answered(100)])
    expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
  })

  test('has the flag of an unsampled trace', () => {
    expect(told(began(), { sample_rate: 0 }).traceparent(TURN)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  })
})

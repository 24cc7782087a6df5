/** Which turn a record belongs to. */
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { afterEach, describe, expect, test } from 'vitest'
import { feedSteps, START_AT, type Step, told } from '../support/feed.ts'
import { all, answered, asked, attributes, began, only, TURN, text, used } from './scenes.ts'

describe('a turn that began without an id', () => {
  test('gets the first one of its session, on the root too', () => {
    const plugin = told([...began(), ...asked(100), ...answered(300)])
    expect(plugin.tree({ attributes: ['hermes.turn.id'] })).toBe(text`
      agent OK [hermes.turn.id=t1]
        llm.qwen3 OK [hermes.turn.id=t1]
          api.qwen3 OK [hermes.turn.id=t1]
    `)
  })

  test('gets it from any record, the end too', () => {
    const plugin = told([
      [0, 'on_session_start', { session_id: 's1' }],
      [100, 'on_session_end', { ...TURN, completed: true }],
    ])
    expect(attributes(plugin, 'agent')['hermes.turn.id']).toBe('t1')
    expect(plugin.stats().turnsOpen).toBe(0)
  })

  test('does not get that of the previous turn from a late record', () => {
    const next = { turn_id: 't2', model: 'next' }
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'on_session_start', { session_id: 's1' }],
      ...used(210),
      [300, 'pre_llm_call', { ...TURN, ...next }],
      ...answered(400, next),
    ])
    expect(plugin.tree({ attributes: ['hermes.turn.id'] })).toBe(text`
      agent OK [hermes.turn.id=t1]
        llm.qwen3 OK [hermes.turn.id=t1]
        tool.terminal OK [hermes.turn.id=t1]

      agent OK [hermes.turn.id=t2]
        llm.next OK [hermes.turn.id=t2]
    `)
  })

  test('may never get one: the session is enough', () => {
    const nameless = { turn_id: undefined }
    const plugin = told([
      ...began(nameless),
      ...asked(100, nameless),
      ...used(210, nameless),
      ...answered(300, nameless),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
          tool.terminal OK
    `)
  })
})

describe('equal ids in two places', () => {
  test('separates two sessions with the same turn, request and call', () => {
    const both = (at: number, session_id: string): Step[] => [
      [at, 'pre_llm_call', { ...TURN, session_id, model: session_id }],
      ...asked(at + 100, { session_id, model: `of-${session_id}` }),
      ...used(at + 110, { session_id, tool_name: `in-${session_id}` }),
      ...answered(at + 300, { session_id }),
    ]
    const plugin = told([...both(0, 's1'), ...both(5, 's2')].sort((a, b) => a[0] - b[0]))
    expect(plugin.tree({ status: false })).toBe(text`
      agent
        llm.s1
          api.of-s1
            tool.in-s1

      agent
        llm.s2
          api.of-s2
            tool.in-s2
    `)
  })

  test('separates two hosts with the same session', () => {
    const plugin = told([], { host: 'hermes' })
    for (const host of ['hermes', 'pi']) {
      for (const [at, hook, payload] of [...began(), ...answered(100)])
        plugin.emitUntyped(hook, payload, { at: START_AT + at, host })
    }
    expect(all(plugin, 'agent').map(root => root.attributes['hermes.host'])).toEqual(['hermes', 'pi'])
  })
})

describe('a session id that rotates', () => {
  test('links the next turn of the new session to the last one of the old', () => {
    const plugin = told([
      ...began(),
      ...asked(100),
      ...used(210, { session_id: 's1-compressed' }),
      ...answered(300, { session_id: 's1-compressed' }),
      [400, 'pre_llm_call', { session_id: 's1-compressed', turn_id: 't2', model: 'next' }],
      [500, 'on_session_end', { session_id: 's1-compressed', turn_id: 't2', completed: true }],
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
          tool.terminal OK

      agent OK
        llm.next UNSET (incomplete: turn_ended)
    `)
    const [first, second] = all(plugin, 'agent')
    expect(second?.links).toMatchObject([{ spanId: first?.spanId, attributes: { 'hermes.link': 'previous_turn' } }])
  })

  test('keeps records of the new session without a turn id in the turn', () => {
    const rotated = { session_id: 's1-compressed', turn_id: undefined }
    const plugin = told([
      ...began(),
      ...used(100, { session_id: 's1-compressed' }),
      ...used(200, { ...rotated, tool_call_id: 'c2' }),
    ])
    expect(new Set(all(plugin, 'tool.terminal').map(span => span.parentSpanId)).size).toBe(1)
    expect(plugin.stats().turnsOpen).toBe(1)
  })

  test("does not join a record that begins a turn to another session's turn with the same id", () => {
    const plugin = told([...began(), [50, 'pre_llm_call', { ...TURN, session_id: 's2', model: 'small' }]])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test('chooses neither of two open turns with that id', () => {
    const plugin = told([
      [0, 'pre_llm_call', { ...TURN, session_id: 'a', model: 'a' }],
      [10, 'pre_llm_call', { ...TURN, session_id: 'b', model: 'b' }],
      ...used(100, { session_id: 'c' }),
    ])
    expect(plugin.stats().turnsOpen).toBe(3)
    expect(attributes(plugin, 'tool.terminal')['session.id']).toBe('c')
  })

  test('does not search another host', () => {
    const plugin = told(began(), { host: 'hermes' })
    plugin.on('pre_tool_call', { ...TURN, session_id: 's9', tool_name: 'ls' }, { at: START_AT + 100, host: 'pi' })
    expect(plugin.stats().turnsOpen).toBe(2)
  })
})

describe('a turn that begins before the last one ended', () => {
  const NEXT = { ...TURN, turn_id: 't2' }

  test('is interrupted by another pre_llm_call', () => {
    const [request] = asked(100) as [Step, Step]
    const plugin = told([
      ...began(),
      request,
      [400, 'pre_llm_call', { ...NEXT, model: 'next' }],
      ...answered(500, NEXT),
    ])
    expect(plugin.tree({ attributes: ['hermes.turn.final_status', 'hermes.turn.number'] })).toBe(text`
      agent OK [hermes.turn.final_status=interrupted, hermes.turn.number=1]
        llm.qwen3 UNSET (incomplete: turn_ended)
          api.qwen3 UNSET (incomplete: turn_ended)

      agent OK [hermes.turn.final_status=completed, hermes.turn.number=2]
        llm.next OK
    `)
    expect(all(plugin, 'agent')[0]?.endAt).toBe(START_AT + 400)
  })

  test('stays open beside any other start with an unknown turn id', () => {
    const plugin = told([...began(), ...asked(100, NEXT), ...used(250), ...answered(400)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK

      api.qwen3 OK (parent missing)
    `)
    expect(plugin.stats()).toMatchObject({ turnsOpen: 1, spansOpen: 1 })
    feedSteps(plugin, [[500, 'on_session_end', { ...NEXT, completed: true }]])
    expect(plugin.stats().turnsOpen).toBe(0)
  })

  test('receives records without a turn id, instead of the work beside it', () => {
    const plugin = told([...began(), ...asked(100, { ...NEXT, model: 'review' }), ...used(250, { turn_id: undefined })])
    expect(attributes(plugin, 'tool.terminal')['hermes.turn.id']).toBe('t1')
  })

  test('leaves the work beside it alone when the next turn begins', () => {
    const plugin = told([
      ...began(),
      ...asked(100, { ...NEXT, model: 'review' }),
      ...answered(300),
      [400, 'pre_llm_call', { ...TURN, turn_id: 't3' }],
    ])
    expect(plugin.stats().turnsOpen).toBe(2)
  })

  test('survives an end of an unknown turn', () => {
    const plugin = told([...began(), [100, 'on_session_end', { ...NEXT, completed: true }], ...answered(200)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
    `)
    expect(only(plugin, 'agent').endAt).toBe(START_AT + 210)
  })
})

describe('a record without any id', () => {
  const CALL = { tool_name: 'terminal', args: { command: 'ls' } }
  const NAMELESS: Step[] = [
    [100, 'pre_tool_call', CALL],
    [150, 'post_tool_call', { ...CALL, result: 'done' }],
  ]

  test('joins the only open turn of its host', () => {
    expect(told([...began(), ...NAMELESS, ...answered(300)]).tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK
    `)
  })

  test('creates a marked root of its own without a turn', () => {
    const plugin = told([...NAMELESS, [200, 'on_session_end', { completed: true }]])
    expect(plugin.tree()).toBe(text`
      agent OK (ambiguous)
        tool.terminal OK
    `)
  })

  test('is marked on the span if an adapter is not sure', () => {
    const plugin = told(began())
    plugin.on(
      'pre_tool_call',
      { ...TURN, ...CALL, tool_call_id: 'c1' },
      { at: START_AT + 100, correlation: 'inferred' },
    )
    feedSteps(plugin, [...used(100).slice(1), ...answered(300)])
    expect(plugin.tree()).toContain('tool.terminal OK (inferred)')
  })
})

describe('no ambient context', () => {
  afterEach(() => context.disable())

  test('makes an active span of the host no parent', () => {
    const foreign = { traceId: 'f'.repeat(32), spanId: 'f'.repeat(16), traceFlags: 1 }
    const active = trace.setSpanContext(ROOT_CONTEXT, foreign)
    context.setGlobalContextManager({
      active: () => active,
      with: (_context, run, thisArg, ...args) => run.call(thisArg as never, ...args),
      bind: (_context, target) => target,
      enable() {
        return this
      },
      disable() {
        return this
      },
    })
    const plugin = told([...began(), ...asked(100), ...answered(300)])
    expect(JSON.stringify(plugin.spans())).not.toContain(foreign.traceId)
    expect(only(plugin, 'agent')).not.toHaveProperty('parentSpanId')
  })
})

/** Where two rules of chapter 4 meet: ids that are used again, late records beside open turns, what must not be taken. */
import { describe, expect, test } from 'vitest'
import { HOOK_NAMES } from '../../src/index.ts'
import { createTestPlugin } from '../../src/testing.ts'
import { LabelLimit } from '../../src/tracker/instruments.ts'
import { feedSteps, type Step, told } from '../support/feed.ts'
import {
  all,
  answered,
  asked,
  attributes,
  began,
  childTurn,
  delegated,
  only,
  parentOf,
  series,
  TURN,
  text,
  used,
} from './scenes.ts'

describe('turn ids that count from 1 in every session', () => {
  const A = { session_id: 'a', turn_id: '1' }
  const B = { session_id: 'b', turn_id: '1' }
  const FINISHED: readonly Step[] = [
    [0, 'pre_llm_call', { ...A, model: 'a' }],
    [100, 'on_session_end', { ...A, completed: true }],
    [200, 'pre_llm_call', { ...B, model: 'b' }],
  ]

  test('assigns a late record to its own finished turn, not to the open one of another session', () => {
    const plugin = told([...FINISHED, ...used(300, A)])
    expect(attributes(plugin, 'tool.terminal')['session.id']).toBe('a')
    expect(only(plugin, 'tool.terminal').traceId).toBe(only(plugin, 'agent').traceId)
  })

  test('does not end the turn of another session by a repeated end', () => {
    const plugin = told([...FINISHED, [300, 'on_session_end', { ...A, completed: true }]])
    expect(plugin.stats().turnsOpen).toBe(1)
    expect(all(plugin, 'agent').map(root => root.attributes['session.id'])).toEqual(['a'])
  })
})

describe('ids that a host uses again', () => {
  test('creates a span for each call of a call id', () => {
    const plugin = told([...began(), ...used(100), ...used(200), ...used(300), ...answered(400)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK
          tool.terminal OK
          tool.terminal OK
    `)
  })

  test('accepts a number as a call id', () => {
    const call = (id: number) => ({ tool_call_id: id, args: { command: `echo ${id}` } })
    const [pre1, post1] = used(100, call(1), { result: 'one' }) as [Step, Step]
    const [pre2, post2] = used(110, call(2), { result: 'two' }) as [Step, Step]
    const plugin = told([...began(), pre1, pre2, post2, post1, ...answered(300)])
    expect(plugin.tree({ attributes: ['hermes.tool.command', 'gen_ai.tool.call.result'] })).toBe(text`
      agent OK
        llm.qwen3 OK
          tool.terminal OK [hermes.tool.command="echo 1", gen_ai.tool.call.result=one]
          tool.terminal OK [hermes.tool.command="echo 2", gen_ai.tool.call.result=two]
    `)
  })

  test('creates a trace for each turn of a turn id', () => {
    const plugin = told([
      ...began(),
      ...answered(100),
      [200, 'pre_llm_call', { ...TURN, model: 'second' }],
      ...used(250),
      ...answered(400),
    ])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK

      agent OK
        llm.second OK
          tool.terminal OK
    `)
  })

  test('accepts either id of a child in its stop', () => {
    const stop: Step = [200, 'subagent_stop', { child_subagent_id: 'sa-1', child_status: 'completed' }]
    const plugin = told([...began(), delegated(100, { child_subagent_id: 'sa-1' }), stop, ...answered(300)])
    expect(only(plugin, 'subagent.researcher').status).toBe('ok')
  })
})

describe('work still running when the next turn begins', () => {
  const NAMELESS = { session_id: 's1', turn_id: undefined }
  const TITLE = { session_id: 's1', api_request_id: 'aux-1', aux_task: 'title', model: 'tiny' }

  test('does not attach the turn to a side call of a session without turn ids', () => {
    const plugin = told([
      ...began(NAMELESS),
      ...answered(100, NAMELESS),
      [200, 'pre_auxiliary_call', TITLE],
      [250, 'pre_llm_call', { session_id: 's1', model: 'second' }],
      [300, 'post_auxiliary_call', TITLE],
      ...answered(400, NAMELESS),
    ])
    expect(all(plugin, 'agent')).toHaveLength(2)
    expect(parentOf(plugin, only(plugin, 'llm.second'))?.name).toBe('agent')
  })

  test('does not attach the turn to a side call before the first turn', () => {
    const plugin = told([
      [0, 'pre_auxiliary_call', TITLE],
      [10, 'on_session_start', { session_id: 's1', platform: 'cli' }],
      [20, 'post_auxiliary_call', TITLE],
      ...answered(100),
    ])
    expect(attributes(plugin, 'agent')['hermes.platform']).toBe('cli')
    expect(only(plugin, 'agent').startAt - only(plugin, 'aux.title').startAt).toBe(10)
  })

  test('does not end a review fork at an end that names no turn', () => {
    const plugin = told([
      ...began(),
      asked(50, { turn_id: 'review', model: 'review' })[0] as Step,
      ...answered(100, { turn_id: undefined }),
    ])
    expect(attributes(plugin, 'agent')['hermes.turn.id']).toBe('t1')
    expect(plugin.stats().turnsOpen).toBe(1)
  })
})

describe('derived ids', () => {
  const ids = (steps: readonly Step[]): string[] => {
    const plugin = createTestPlugin({ deterministic_ids: true })
    feedSteps(plugin, steps)
    return plugin.spans().map(span => `${span.traceId} ${span.spanId}`)
  }
  const areDistinct = (steps: readonly Step[]): void => {
    const told_ = ids(steps)
    expect(told_.length).toBeGreaterThan(1)
    expect(new Set(told_).size).toBe(told_.length)
    expect(ids(steps)).toEqual(told_)
  }

  test('differs for two calls of one turn without ids', () => {
    const call = { tool_call_id: undefined }
    areDistinct([...began(), ...used(100, call), ...used(200, call), ...answered(300)])
  })

  test('differs for two turns that share their id', () => {
    const turn = (at: number): Step[] => [[at, 'pre_llm_call', TURN], ...answered(at + 50)]
    areDistinct([...turn(0), ...turn(200), ...turn(3_600_000)])
  })

  test('differs for the turns before and after a session was finalized', () => {
    const turn = (at: number): Step[] => [
      [at, 'on_session_start', { session_id: 's1' }],
      [at + 10, 'on_session_end', { session_id: 's1', completed: true }],
    ]
    areDistinct([...turn(0), [50, 'on_session_finalize', { session_id: 's1' }], ...turn(100)])
  })

  test('differs for a call without an id that arrives after its turn', () => {
    const call = { tool_call_id: undefined }
    areDistinct([...began(), ...used(100, call), ...answered(200), ...used(300, call)])
  })

  test('differs for side calls without ids', () => {
    const call = { aux_task: 'title', model: 'tiny' }
    const aside = (at: number): Step[] => [
      [at, 'pre_auxiliary_call', call],
      [at + 10, 'post_auxiliary_call', call],
    ]
    areDistinct([...aside(0), ...aside(100)])
  })
})

describe('limits', () => {
  test('ends and counts the oldest of countless tools in one turn', async () => {
    const plugin = told(began())
    const tools = 10_010
    for (let index = 0; index < tools; index++) {
      feedSteps(plugin, [used(100 + index, { tool_call_id: `c${index}` })[0] as Step])
    }
    const open = plugin.stats().spansOpen
    expect(open).toBeLessThan(tools)
    const [given] = await series(plugin, 'hookspan.spans.incomplete')
    expect(given).toMatchObject({ labels: { reason: 'orphaned' }, value: tools + 2 - open })
  })

  test('limits only open-ended labels: the name of a hook is never "other"', () => {
    const limit = new LabelLimit(2)
    for (const hook of HOOK_NAMES) expect(limit.apply({ hook })).toEqual({ hook })
  })
})

describe('the plugin of a host', () => {
  test('has the hooks as its handlers', () => {
    const plugin = createTestPlugin()
    plugin.handlers.on_session_start({ session_id: 's1' })
    plugin.handlers.pre_llm_call({ ...TURN, model: 'qwen3' })
    plugin.handlers.post_llm_call(TURN)
    expect(plugin.handlers.on_session_end({ ...TURN, completed: true })).toBeInstanceOf(Promise)
    expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
  })

  test('promises nothing where it does not flush', () => {
    const plugin = told(began(), { force_flush_on_session_end: false })
    expect(plugin.on('on_session_end', { ...TURN, completed: true })).toBeUndefined()
  })

  test('counts a turn of a child in its own session', () => {
    const plugin = told([...began(), delegated(100), ...childTurn(150), ...answered(400)])
    expect(all(plugin, 'agent').map(root => root.attributes['hermes.turn.number'])).toEqual([1, 1])
  })
})

import { describe, expect, test } from 'vitest'
import { PiMachine } from '../../../src/agents/pi/events.ts'
import { bash, played, recordsOf, Scene, START_AT, treeOf } from './scene.ts'

describe('a turn', () => {
  test('lasts from a prompt until the agent is idle', () => {
    const scene = new Scene().starts().prompted('Look').calls(bash).tool(bash).answers().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK"
    `)
  })

  test('continues when Pi tries again, without a new prompt event', () => {
    const scene = new Scene().starts().prompted('Try').fails().ends().waits(2000).runs().answers().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 ERROR 500
          api.fake-1 OK"
    `)
  })

  test('has failed when its last attempt has', () => {
    const scene = new Scene().starts().prompted('Try').fails().ends().runs().fails().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent ERROR 500 [hermes.turn.final_status=failed]
        llm.fake-1 OK
          api.fake-1 ERROR 500
          api.fake-1 ERROR 500"
    `)
  })

  test('may begin without a prompt; then its prompt is the first message', () => {
    const scene = new Scene()
      .starts()
      .runs()
      .says('message_start', { message: { role: 'custom', content: [{ type: 'text', text: 'A file has changed' }] } })
      .answers()
      .settles()
    const [, turn] = recordsOf(scene.events)
    expect(turn).toMatchObject({ hook: 'pre_llm_call', payload: { user_message: 'A file has changed' } })
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })

  test('is opened by its first event if its beginning was missed', () => {
    expect(treeOf(new Scene().answers().settles())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })

  test('is interrupted by the next prompt if no further events arrive', () => {
    const scene = new Scene().starts().prompted('One').calls(bash).prompted('Two').answers().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=interrupted]
        llm.fake-1 OK
          api.fake-1 OK

      agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })

  test('has ended with its last answer if no further events arrive', () => {
    const scene = new Scene().starts().prompted('One').answers().waits(3_600_000).prompted('Two').answers().settles()
    const answerAt = scene.events.find(({ event }) => event === 'message_end')?.at
    const end = recordsOf(scene.events).find(({ hook }) => hook === 'on_session_end')
    expect(end).toMatchObject({ at: answerAt, payload: { completed: true } })
  })

  test('gets an id that is not used again when the conversation is resumed elsewhere', () => {
    const turn = (scene: Scene): unknown => recordsOf(scene.prompted('Hi').events)[0]?.payload
    expect(turn(new Scene())).not.toMatchObject({
      turn_id: Reflect.get(turn(new Scene().waits(1)) as object, 'turn_id'),
    })
  })
})

describe('a Pi before 0.80, which does not report when it is idle', () => {
  const without = (scene: Scene): Scene => {
    const later = new Set(['before_provider_headers', 'agent_settled'])
    scene.events.splice(0, Infinity, ...scene.events.filter(({ event }) => !later.has(event)))
    return scene
  }

  test('ends a turn with the run that went well, and at its time', () => {
    const scene = without(new Scene().starts().prompted('One').answers().settles())
    const end = recordsOf(scene.events, false).at(-1)
    expect(end).toMatchObject({ hook: 'on_session_end', payload: { completed: true }, at: scene.events.at(-1)?.at })
  })

  test('may be repeated after a failure: the turn waits for the next event', () => {
    const again = without(new Scene().prompted('One').fails().settles().waits(2000).runs().answers().settles())
    expect(treeOf(again)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 ERROR 500
          api.fake-1 OK"
    `)
    const next = without(new Scene().prompted('One').fails().settles().waits(2000).prompted('Two').answers().settles())
    expect(treeOf(next)).toMatchInlineSnapshot(`
      "agent ERROR 500 [hermes.turn.final_status=failed]
        llm.fake-1 OK
          api.fake-1 ERROR 500

      agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK"
    `)
  })

  test('has ended the turn that it did not try again when its run did', () => {
    const scene = without(new Scene().prompted('One').fails().settles().waits(60_000).prompted('Two'))
    const runEnd = scene.events.find(({ event }) => event === 'agent_end')?.at
    expect(recordsOf(scene.events).find(({ hook }) => hook === 'on_session_end')?.at).toBe(runEnd)
  })
})

describe('a session', () => {
  test('is announced once, with its first turn: one without a prompt is no trace', () => {
    const scene = new Scene()
      .starts()
      .starts()
      .waits(60_000)
      .prompted('Hi')
      .answers()
      .settles()
      .prompted('Ho')
      .settles()
    const starts = recordsOf(scene.events).filter(({ hook }) => hook === 'on_session_start')
    expect(starts.map(({ at }) => at)).toEqual([scene.events.find(({ event }) => event === 'before_agent_start')?.at])
    expect(recordsOf(new Scene().starts().quits().events)).toEqual([])
  })

  test('replaces the one whose file it names', () => {
    const old = new Scene('old').starts().prompted('Hi').answers().settles().quits('new')
    const other = new Scene('other').starts('startup')
    const next = new Scene('next').starts('new', { previousSessionFile: '/sessions/2026_old.jsonl' })
    const records = recordsOf([...old.events, ...other.events, ...next.starts('new').events], false)
    expect(records.filter(({ hook }) => hook === 'on_session_reset').map(({ payload }) => payload)).toEqual([
      { session_id: 'next', old_session_id: 'old', new_session_id: 'next', reason: 'new' },
    ])
  })

  test('replaces another in a Pi that reports it in one event', () => {
    const old = new Scene('old').starts().prompted('Hi').answers().ends()
    const next = new Scene('next', { at: START_AT + 5000 })
    next.says('session_switch', { reason: 'new', previousSessionFile: '/sessions/2026_old.jsonl' })
    next.prompted('Ho').answers().ends()
    const reset = recordsOf([...old.events, ...next.events]).find(({ hook }) => hook === 'on_session_reset')
    expect(reset?.payload).toMatchObject({ old_session_id: 'old', new_session_id: 'next' })
  })

  test('continues after a reload, and is torn down when Pi quits', () => {
    const scene = new Scene().starts().prompted('Hi').answers().settles().quits('reload').starts('reload')
    scene.prompted('Ho').answers().settles().quits()
    const hooks = recordsOf(scene.events).map(({ hook }) => hook)
    expect(hooks.filter(hook => hook.startsWith('on_session'))).toEqual([
      'on_session_start',
      'on_session_end',
      'on_session_end',
      'on_session_finalize',
    ])
  })
})

describe('a conversation that is compacted', () => {
  const entry = { summary: 'All that was said', usage: { input: 900, output: 40 } }

  test('has a request of the turn for it', () => {
    const scene = new Scene().prompted('Hi').answers().ends().says('session_before_compact', { reason: 'threshold' })
    scene.says('before_provider_headers', { headers: {} }).says('session_compact', { compactionEntry: entry })
    expect(treeOf(scene.says('agent_settled'))).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
        aux.compression OK (inferred)"
    `)
  })

  test('sends no request if an extension compacts it', () => {
    const scene = new Scene().prompted('Hi').answers().settles().says('session_before_compact')
    scene.says('session_compact', { compactionEntry: entry, fromExtension: true })
    expect(treeOf(scene)).not.toContain('aux.')
  })

  test('fails as a side call, not as a turn', () => {
    const scene = new Scene().prompted('Hi').answers().ends().says('session_before_compact')
    scene
      .says('before_provider_headers')
      .says('session_compact_failed', { errorMessage: 'Auto-compaction failed: 500: no' })
    expect(treeOf(scene.says('agent_settled'))).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
        aux.compression ERROR compaction_failed (inferred)"
    `)
  })
})

test('counts unknown events, and no known ones without records', () => {
  const machine = new PiMachine()
  expect(machine.accept({ event: 'model_select', context: { sessionId: 's1' } })).toEqual([])
  expect(machine.accept({ event: 'of_next_year', context: { sessionId: 's1' } })).toBeUndefined()
})

test('leaves nothing open, and counts no errors', () => {
  const scene = new Scene().starts().prompted('Hi').calls(bash).tool(bash).answers().settles().quits()
  const { hooks, spansOpen, turnsOpen } = played(scene.events).stats()
  expect({ hooks, spansOpen, turnsOpen }).toMatchObject({
    hooks: { ignored: 0, duplicate: 0, error: 0 },
    spansOpen: 0,
    turnsOpen: 0,
  })
})

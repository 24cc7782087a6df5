import { describe, expect, test } from 'vitest'
import { type Call, exec, played, recordsOf, Scene, together, treeOf } from './scene.ts'

describe('a child agent', () => {
  const child = 'agent:main:subagent:1'
  const spawn: Call = { id: 'call_1', name: 'sessions_spawn', args: { task: 'Look at the weather', label: 'helper' } }

  test('is below the tool that asked for it, and may outlive the turn', () => {
    const parent = new Scene().prompted('Ask').calls(spawn).toolStarts(spawn).spawns(child)
    parent.toolEnds(spawn, 'completed', 'accepted').answers().ends()
    const work = new Scene('another-id', { key: child, at: parent.now })
      .prompted('Look at the weather')
      .answers()
      .ends()
    const later = new Scene('s1', { at: work.now }).hearsOf(child, 'ok', work.now)
    const events = together(parent, work, later)
    expect(treeOf(events)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.sessions_spawn OK [hermes.tool.outcome=completed]
              subagent.main OK (inferred)
                agent OK [hermes.turn.final_status=completed]
                  llm.fake-1 OK
                    api.fake-1 OK
          api.fake-1 OK"
    `)
    const stop = recordsOf(events).find(({ hook }) => hook === 'subagent_stop')
    expect(stop).toMatchObject({ at: work.now, payload: { child_session_id: child, child_status: 'ok' } })
  })

  test('is an error if it fails, and ends if it is never reported', () => {
    const scene = new Scene().prompted('Ask').calls(spawn).toolStarts(spawn).spawns(child)
    expect(treeOf(scene.hearsOf(child, 'error'))).toContain('subagent.main ERROR')
    const silent = new Scene().prompted('Ask').calls(spawn).toolStarts(spawn).spawns(child).answers().ends()
    expect(played(silent.events).stats().spansOpen).toBe(0)
  })

  test('is no delegation without a parent, and has its origin', () => {
    const asked = new Scene().spawns(child)
    const work = new Scene('another-id', { key: child, at: asked.now }).prompted('Look').answers().ends()
    const records = recordsOf([...asked.events, ...work.events])
    expect(records[0]).toMatchObject({ hook: 'on_session_start', payload: { parent_session_id: 'agent:main:s1' } })
    expect(records.map(({ hook }) => hook)).not.toContain('subagent_start')
  })

  test('is one of two by its label', () => {
    const second = { ...spawn, id: 'call_2', args: { task: 'Read the news', label: 'news' } }
    const scene = new Scene().prompted('Ask').calls(spawn, second).toolStarts(spawn).toolStarts(second)
    const start = recordsOf(scene.spawns(child, 'news').events).find(({ hook }) => hook === 'subagent_start')
    expect(start?.payload).toMatchObject({ tool_call_id: 'call_2', child_goal: 'Read the news' })
  })
})

describe('a session', () => {
  test('is found by its key where its id is missing, by its id where the key is, and goes by its id', () => {
    const scene = new Scene().prompted('Look').answers().ends()
    const keyless = scene.events.map(event => ({
      ...event,
      context: { ...(event.context as object), sessionKey: undefined },
    }))
    expect(recordsOf(keyless)[0]?.payload).toMatchObject({ session_id: 's1' })
    expect(recordsOf(scene.events)[0]?.payload).toMatchObject({ session_id: 's1' })
  })

  test('is finalized when it is torn down, and reset when another id follows', () => {
    const idle = recordsOf(new Scene().prompted('Look').answers().ends().closes('idle').events)
    expect(idle.at(-1)).toMatchObject({ hook: 'on_session_finalize', payload: { session_id: 's1', reason: 'idle' } })
    const reset = recordsOf(
      new Scene().prompted('Look').answers().ends().closes('reset', { nextSessionId: 's2' }).events,
    )
    expect(reset.at(-1)).toMatchObject({
      hook: 'on_session_reset',
      payload: { old_session_id: 's1', new_session_id: 's2' },
    })
  })

  test('is not recorded if nothing ran in it', () => {
    expect(recordsOf(new Scene().closes('deleted').events)).toEqual([])
  })

  test('continues under another id after a compaction', () => {
    const scene = new Scene().prompted('Look').calls(exec).tool(exec)
    scene.closes('compaction', { nextSessionId: 's2' }).answers().ends()
    expect(treeOf(scene)).toBe(treeOf(new Scene().prompted('Look').calls(exec).tool(exec).answers().ends()))
  })

  test('has a compaction as a side call', () => {
    const place = { sessionKey: 'agent:main:s1', sessionId: 's1' }
    const scene = new Scene().prompted('Look').answers()
    scene.says('before_compaction', { messageCount: 40, tokenCount: 90_000 }, place)
    scene.says('after_compaction', { messageCount: 4, compactedCount: 36 }, place).answers().ends()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
          api.fake-1 OK
        aux.compression OK"
    `)
  })
})

/** Hosts whose tools name a task, and no session, where the task has the id of a session. */
import { describe, expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { answered, asked, began, childTurn, TURN, text } from './scenes.ts'

const call = (at: number, ids: object, id = 'c1'): [Step, Step] => [
  [at, 'pre_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: id }],
  [at + 50, 'post_tool_call', { ...ids, tool_name: 'terminal', tool_call_id: id, result: 'done' }],
]

describe('a record whose task is a session', () => {
  test('belongs to the turn of that session', async () => {
    const other = [...childTurn(120, 'other', 'o1').slice(0, 2)]
    const plugin = told([...began(), ...asked(100), ...other, ...call(210, { task_id: 's1' }), ...answered(500)])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
          api.qwen3 OK
          tool.terminal OK
    `)
    expect(plugin.stats().turnsOpen).toBe(1)
  })

  test('belongs to that turn also if it arrives after the turn', () => {
    const plugin = told([...began(), ...answered(500), ...call(210, { task_id: 's1' })])
    expect(plugin.tree()).toBe(text`
      agent OK
        llm.qwen3 OK
        tool.terminal OK
    `)
  })

  test('begins the next turn of that session', async () => {
    const next: Step = [900, 'pre_llm_call', { task_id: 's1', model: 'next' }]
    const plugin = told([...began(), ...answered(500), next])
    await plugin.shutdown()
    const roots = plugin.spans().filter(span => span.name === 'agent')
    expect(roots.map(root => [root.attributes['session.id'], root.attributes['hermes.turn.number']])).toEqual([
      ['s1', 1],
      ['s1', 2],
    ])
  })

  test('belongs to the turn that it names, in any session', () => {
    const steps = childTurn(120, 'other', 'o1')
    const tool = call(140, { task_id: 's1', turn_id: 'o1' })
    const plugin = told([...began(), ...[...steps, ...tool].sort(([one], [two]) => one - two), ...answered(500)])
    expect(plugin.tree()).toContain('llm.small OK\n    api.small OK\n      tool.terminal OK')
  })

  test.each(['s2', ''])('is unchanged if no such session is known: %j', task_id => {
    const plugin = told([...began(), ...call(210, { ...TURN, task_id }), ...answered(500)])
    expect(plugin.tree()).toContain('llm.qwen3 OK\n    tool.terminal OK')
  })
})

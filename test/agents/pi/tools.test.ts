import { describe, expect, test } from 'vitest'
import { bash, type Call, recordsOf, Scene, treeOf } from './scene.ts'

const second: Call = { id: 'call_2', name: 'read' }

describe('a tool', () => {
  test.each([
    ['ran well', (scene: Scene) => scene.toolStarts(bash).toolRan(bash), 'completed'],
    ['ran and failed', (scene: Scene) => scene.toolStarts(bash).toolRan(bash, 'exit 1', true), 'error'],
    ['was refused', (scene: Scene) => scene.toolStarts(bash).toolEnds(bash, 'not here', true), 'blocked'],
    ['was refused before we were asked', (scene: Scene) => started(scene).toolEnds(bash, 'not here', true), 'blocked'],
    ['does not exist', (scene: Scene) => started(scene).toolEnds(bash, 'Tool bash not found', true), 'error'],
    [
      'got what does not fit',
      (scene: Scene) => started(scene).toolEnds(bash, 'Validation failed for tool "bash":\n', true),
      'error',
    ],
    [
      'was stopped before it ran',
      (scene: Scene) => started(scene).toolEnds(bash, 'Operation aborted', true),
      'cancelled',
    ],
    [
      'was stopped while it ran',
      (scene: Scene) => scene.toolStarts(bash).toolEnds(bash, 'half\n\nCommand aborted', true, { aborted: true }),
      'cancelled',
    ],
  ])('is recorded if it %s', (_what, ends, outcome) => {
    const scene = ends(new Scene().prompted('Look').calls(bash))
    expect(treeOf(scene.answers().settles())).toContain(`[hermes.tool.outcome=${outcome}]`)
  })

  test('has not failed if it reads a file that mentions errors', () => {
    const scene = new Scene()
      .prompted('Look')
      .calls(bash)
      .toolStarts(bash)
      .toolRan(bash, '{"status": "error", "error": "no"}')
    expect(treeOf(scene.answers().settles())).toContain('tool.bash OK [hermes.tool.outcome=completed]')
  })

  test('runs beside others, and belongs to the request that asked for all of them', () => {
    const scene = new Scene()
      .prompted('Look')
      .calls(bash, second)
      .toolStarts(bash)
      .toolStarts(second)
      .toolRan(second)
      .toolRan(bash)
      .answers()
      .settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=completed]
            tool.read OK [hermes.tool.outcome=completed]
          api.fake-1 OK"
    `)
  })

  test('ends with the message that has its result if its end was lost', () => {
    const message = {
      role: 'toolResult',
      toolCallId: 'call_1',
      content: [{ type: 'text', text: 'ok' }],
      isError: false,
    }
    const scene = new Scene().prompted('Look').calls(bash).toolStarts(bash).says('message_end', { message })
    expect(treeOf(scene.answers().settles())).toContain('tool.bash OK [hermes.tool.outcome=completed]')
  })

  test('delegates if it is named subagent, unless it is refused', () => {
    const delegate: Call = { id: 'call_1', name: 'subagent' }
    const begin = (): Scene =>
      new Scene().prompted('Send').calls(delegate).toolStarts(delegate, { agent: 'scout', task: 'Go' })
    expect(treeOf(begin().toolRan(delegate).answers().settles())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.subagent OK [hermes.tool.outcome=completed]
              subagent.scout OK (inferred)
          api.fake-1 OK"
    `)
    expect(treeOf(begin().toolEnds(delegate, 'no', true).answers().settles())).not.toContain('subagent.')
  })
})

function started(scene: Scene): Scene {
  return scene.says('tool_execution_start', { toolCallId: 'call_1', toolName: 'bash', args: {} })
}

describe('a question about a tool', () => {
  const asked = (scene: Scene): Scene => scene.says('ui_prompt_start', { kind: 'confirm', title: 'Run it?' })
  const begin = (): Scene => asked(new Scene().prompted('Look').calls(bash).toolStarts(bash)).waits(1000)

  test('has the answer that the tool reports, at the time at which the prompt closed', () => {
    const scene = begin().says('ui_prompt_end', { kind: 'confirm' })
    const goneAt = scene.events.at(-1)?.at
    scene.waits(500).toolRan(bash).answers().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=completed]
              approval.bash OK (inferred) [hermes.approval.choice=once]
          api.fake-1 OK"
    `)
    const response = recordsOf(scene.events).find(({ hook }) => hook === 'post_approval_response')
    expect(response).toMatchObject({ at: goneAt, correlation: 'inferred', payload: { choice: 'once' } })
  })

  test('was refused if the tool did not run, also if the end of the prompt is reported later', () => {
    const scene = begin().toolEnds(bash, 'no', true).says('ui_prompt_end', { kind: 'confirm' }).answers().settles()
    expect(treeOf(scene)).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=blocked]
              approval.bash OK (inferred) [hermes.approval.choice=deny]
          api.fake-1 OK"
    `)
  })

  test('is asked about the tool that was made ready last, as long as none runs', () => {
    const scene = asked(new Scene().prompted('Look').calls(bash, second).toolStarts(bash).toolStarts(second))
    scene.says('ui_prompt_end').toolRan(bash).toolRan(second).answers().settles()
    expect(treeOf(scene)).toMatch(/tool\.read .*\n +approval\.read/)
  })

  test('ends with the turn, without an answer, if its end is never reported', () => {
    expect(treeOf(begin().settles())).toMatchInlineSnapshot(`
      "agent OK [hermes.turn.final_status=completed]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash UNSET (incomplete: turn_ended)
              approval.bash OK (inferred)"
    `)
  })

  test.each([
    ['outside of a tool', 'confirm', asked(new Scene().prompted('Look'))],
    ['for a text', 'input', new Scene().prompted('Look').toolStarts(bash).says('ui_prompt_start', { kind: 'input' })],
  ])('is no approval for %s', (_where, kind, scene) => {
    expect(treeOf(scene.says('ui_prompt_end', { kind }).settles())).not.toContain('approval')
  })
})

import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { replayEvents } from '../replay-fixture.ts'
import { Scene } from './scene.ts'

async function treeOf({ events }: { readonly events: readonly HostEvent[] }): Promise<string> {
  const { tree } = await replayEvents('opencode', events)
  return `\n${tree.replaceAll(/gen_ai\.usage[^ ]* /g, '')}\n`
}

describe('a permission', () => {
  const asking = (): Scene => new Scene().prompt('s', 'u1', 'list').step('s', 'u1', 'a1').runs('s', 'a1', 'c1')

  test('is granted once', async () => {
    const scene = asking().asked('s', 'p1', 'c1').replied('s', 'p1', 'once').ran('s', 'a1', 'c1')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Done.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
              approval.bash OK [hermes.approval.choice=once]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is granted for ever, in the words of older versions', async () => {
    const scene = asking()
      .bus('permission.updated', { id: 'p1', type: 'bash', sessionID: 's', callID: 'c1', title: 'ls', metadata: {} })
      .bus('permission.replied', { sessionID: 's', permissionID: 'p1', response: 'always' })
      .ran('s', 'a1', 'c1')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Done.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
              approval.bash OK [hermes.approval.choice=always]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('blocks the tool when refused, and interrupts the run, because the user does not answer it', async () => {
    const scene = asking().asked('s', 'p1', 'c1').replied('s', 'p1', 'reject')
    scene.tool('s', 'a1', 'c1', { status: 'error', error: 'The user rejected permission to use this tool call.' })
    expect(await treeOf(scene.finished('s', 'u1', 'a1', 'tool-calls').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=refused]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=blocked]
              approval.bash OK [hermes.approval.choice=deny]
      "
    `)
  })

  test('is refused for a call whose id an earlier step has used', async () => {
    const scene = asking().ran('s', 'a1', 'c1').finished('s', 'u1', 'a1', 'tool-calls')
    scene.step('s', 'u1', 'a2').runs('s', 'a2', 'c1').asked('s', 'p2', 'c1').replied('s', 'p2', 'reject')
    scene.tool('s', 'a2', 'c1', { status: 'error', error: 'refused' }).finished('s', 'u1', 'a2', 'tool-calls').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=274, hermes.turn.exit_reason=refused]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=blocked]
              approval.bash OK [hermes.approval.choice=deny]
      "
    `)
  })

  test('is requested before the tool is reported as running', async () => {
    const scene = new Scene().prompt('s', 'u1', 'list').step('s', 'u1', 'a1')
    scene.tool('s', 'a1', 'c1', { status: 'pending', input: {} }).asked('s', 'p1', 'c1')
    scene.tool('s', 'a1', 'c1', { status: 'running', input: {} }).replied('s', 'p1', 'once').ran('s', 'a1', 'c1')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Done.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
              approval.bash OK [hermes.approval.choice=once]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is requested without a call: the model repeats itself', async () => {
    const scene = new Scene().prompt('s', 'u1', 'list').step('s', 'u1', 'a1')
    scene.bus('permission.asked', { id: 'p1', sessionID: 's', permission: 'doom_loop', patterns: ['bash'] })
    scene.replied('s', 'p1', 'once').text('s', 'a1', 'Stuck.').finished('s', 'u1', 'a1').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
            approval.doom_loop OK [hermes.approval.choice=once]
      "
    `)
  })

  test('is refused by a rule without a question', async () => {
    const error = 'The user has specified a rule which prevents you from using this specific tool call.'
    const scene = asking().tool('s', 'a1', 'c1', { status: 'error', error })
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'I may not.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=blocked]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is never answered, because the run is stopped', async () => {
    const scene = asking().asked('s', 'p1', 'c1')
    scene.bus('session.error', { sessionID: 's', error: { name: 'MessageAbortedError', data: { message: 'Aborted' } } })
    scene.idle('s')
    scene.tool('s', 'a1', 'c1', { status: 'error', error: 'Tool execution aborted', metadata: { interrupted: true } })
    scene.assistant('s', 'u1', 'a1', { time: { created: 1, completed: 2 }, error: { name: 'MessageAbortedError' } })
    expect(await treeOf(scene.idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=cancelled]
              approval.bash OK [hermes.approval.choice=cancelled]
      "
    `)
  })
})

describe('a tool', () => {
  test('fails, one of two at a time', async () => {
    const scene = new Scene()
      .prompt('s', 'u1', 'both')
      .step('s', 'u1', 'a1')
      .runs('s', 'a1', 'c1')
      .runs('s', 'a1', 'c2')
    scene.tool('s', 'a1', 'c1', { status: 'error', error: 'no such file' }).ran('s', 'a1', 'c2')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'One of two.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash ERROR tool_error [hermes.tool.outcome=error]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('never runs if its call is invalid', async () => {
    const scene = new Scene().prompt('s', 'u1', 'go').step('s', 'u1', 'a1')
    scene.tool('s', 'a1', 'c1', { status: 'pending', input: {} })
    scene.tool('s', 'a1', 'c1', { status: 'error', input: {}, error: 'the arguments do not fit' })
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Sorry.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash ERROR tool_error [hermes.tool.outcome=error]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('has the same call id in two steps', async () => {
    const scene = new Scene().prompt('s', 'u1', 'twice')
    for (const step of ['a1', 'a2']) {
      scene.step('s', 'u1', step).runs('s', step, 'c0').ran('s', step, 'c0').finished('s', 'u1', step, 'tool-calls')
    }
    expect(await treeOf(scene.answers('s', 'u1', 'a3', 'Twice.').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('reads a file with a status in it', async () => {
    const scene = new Scene().prompt('s', 'u1', 'read').step('s', 'u1', 'a1').runs('s', 'a1', 'c1', 'read')
    scene.ran('s', 'a1', 'c1', 'read', '{"status": "error", "error": "not mine"}')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Read.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.read OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is run by the user without a model', async () => {
    const scene = new Scene().bus('message.updated', { sessionID: 's', info: { id: 'u1', role: 'user' } }).busy('s')
    scene.assistant('s', 'u1', 'a1').tool('s', 'a1', 'c1', { status: 'running', input: { command: 'ls' } })
    scene
      .assistant('s', 'u1', 'a1', { time: { created: 1, completed: 2 } })
      .ran('s', 'a1', 'c1')
      .idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed]
        llm OK
          tool.bash OK [hermes.tool.outcome=completed]
      "
    `)
  })

  test('changes nothing if it is of an earlier turn, reported again because its results are pruned', async () => {
    const scene = new Scene().prompt('s', 'u1', 'one').step('s', 'u1', 'a1').runs('s', 'a1', 'c1').ran('s', 'a1', 'c1')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'One.').idle('s')
    scene.prompt('s', 'u2', 'two').ran('s', 'a1', 'c1').answers('s', 'u2', 'a3', 'Two.').ran('s', 'a1', 'c1').idle('s')
    expect(await treeOf(scene.ran('s', 'a1', 'c1'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is cut off, because the run is stopped: some report success', async () => {
    const scene = new Scene()
      .prompt('s', 'u1', 'sleep')
      .step('s', 'u1', 'a1')
      .runs('s', 'a1', 'c1')
      .runs('s', 'a1', 'c2')
    const error = { name: 'MessageAbortedError', data: { message: 'Aborted' } }
    scene.bus('session.error', { sessionID: 's', error }).idle('s').ran('s', 'a1', 'c1')
    scene.tool('s', 'a1', 'c2', { status: 'error', error: 'Tool execution aborted', metadata: { interrupted: true } })
    scene.assistant('s', 'u1', 'a1', { error, time: { created: 1, completed: 2 } }).idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.exit_reason=aborted]
        llm.fake-1 OK
          api.fake-1 OK
            tool.bash OK [hermes.tool.outcome=cancelled]
            tool.bash OK [hermes.tool.outcome=cancelled]
      "
    `)
  })

  test('asks the user a question, which is dismissed', async () => {
    const scene = new Scene().prompt('s', 'u1', 'ask me').step('s', 'u1', 'a1').runs('s', 'a1', 'c1', 'question')
    scene.bus('question.asked', { id: 'q1', sessionID: 's', questions: [], tool: { messageID: 'a1', callID: 'c1' } })
    scene.bus('question.rejected', { sessionID: 's', requestID: 'q1' })
    scene.tool('s', 'a1', 'c1', { status: 'error', error: 'The user dismissed this question' }, 'question')
    expect(await treeOf(scene.finished('s', 'u1', 'a1', 'tool-calls').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=interrupted, hermes.turn.tokens.total=137, hermes.turn.exit_reason=refused]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.question OK [hermes.tool.outcome=cancelled]
      "
    `)
  })
})

describe('a model request', () => {
  const retry = (attempt: number) => ({
    sessionID: 's',
    status: { type: 'retry', attempt, message: 'on fire', next: 1 },
  })
  const failure = { name: 'APIError', data: { message: 'on fire', statusCode: 500, isRetryable: true } }

  test('fails twice, and then succeeds', async () => {
    const scene = new Scene().prompt('s', 'u1', 'try').step('s', 'u1', 'a1').bus('session.status', retry(1))
    scene.busy('s').params('s', 'u1').bus('session.status', retry(2)).busy('s').params('s', 'u1')
    expect(await treeOf(scene.text('s', 'a1', 'Yes.').finished('s', 'u1', 'a1').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 ERROR provider_error
          api.fake-1 ERROR provider_error
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is kept apart when the hooks of the next prompt overtake the bus events of the previous one', async () => {
    const scene = new Scene().prompt('s', 'u1', 'one').answers('s', 'u1', 'a1', 'First.')
    scene.tell('chat.message', { sessionID: 's' }, { message: { id: 'u2', role: 'user', sessionID: 's' }, parts: [] })
    scene.params('s', 'u2').idle('s').busy('s').assistant('s', 'u2', 'a2').text('s', 'a2', 'Second.')
    expect(await treeOf(scene.finished('s', 'u2', 'a2').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('fails until opencode gives up: idle comes twice, and before the message is closed', async () => {
    const scene = new Scene().prompt('s', 'u1', 'try').step('s', 'u1', 'a1').bus('session.status', retry(1))
    scene.busy('s').params('s', 'u1').bus('session.error', { sessionID: 's', error: failure }).idle('s')
    scene.assistant('s', 'u1', 'a1', { error: failure, time: { created: 1, completed: 2 } }).idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent ERROR APIError [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=APIError]
        llm.fake-1 OK
          api.fake-1 ERROR provider_error
          api.fake-1 ERROR APIError [http.response.status_code=500]
      "
    `)
  })

  test('is cut off in the middle, and its text is no part of the answer', async () => {
    const scene = new Scene().prompt('s', 'u1', 'try').step('s', 'u1', 'a1')
    scene.part('s', 'a1', { id: 'x1', type: 'text', text: 'I was abou' }).bus('session.status', retry(1))
    scene.busy('s').params('s', 'u1').part('s', 'a1', { id: 'x2', type: 'text', text: 'The answer.' })
    const { plugin } = await replayEvents('opencode', scene.finished('s', 'u1', 'a1').idle('s').events)
    const [root] = plugin.spans().filter(span => span.name === 'agent')
    expect(root?.attributes['output.value']).toBe('The answer.')
  })

  test('fails for a model that does not exist', async () => {
    const scene = new Scene().prompt('s', 'u1', 'hello')
    const error = { name: 'UnknownError', data: { message: 'Model not found: fake/none.' } }
    expect(await treeOf(scene.bus('session.error', { sessionID: 's', error }).idle('s'))).toMatchInlineSnapshot(`
      "
      agent ERROR failed [hermes.turn.number=1, hermes.turn.final_status=failed, hermes.turn.exit_reason=UnknownError]
        llm.fake-1 OK
      "
    `)
  })

  test('ends without a reported end', async () => {
    const scene = new Scene().prompt('s', 'u1', 'go').step('s', 'u1', 'a1').text('s', 'a1', 'First')
    expect(await treeOf(scene.answers('s', 'u1', 'a2', 'Second.').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is for a title, which arrives after the turn', async () => {
    const scene = new Scene().created('s').prompt('s', 'u1', 'go').params('s', 'u1', 'title')
    expect(await treeOf(scene.answers('s', 'u1', 'a1', 'Gone.').idle('s').titled('s', 'Going'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
        aux.title OK
      "
    `)
  })

  test('is for a title that never arrives', async () => {
    const scene = new Scene().created('s').prompt('s', 'u1', 'go').params('s', 'u1', 'title')
    scene.answers('s', 'u1', 'a1', 'Gone.').idle('s').tell('dispose', {})
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
        aux.title ERROR no_title
      "
    `)
  })

  test('is for a compaction in the middle of a turn, which continues after it', async () => {
    const scene = new Scene().prompt('s', 'u1', 'long').answers('s', 'u1', 'a1', 'Too much.')
    scene.bus('message.updated', { sessionID: 's', info: { id: 'u2', role: 'user' } })
    scene.assistant('s', 'u2', 'a2', { mode: 'compaction', summary: true }).params('s', 'u2', 'compaction')
    scene.text('s', 'a2', 'A summary.').finished('s', 'u2', 'a2').bus('session.compacted', { sessionID: 's' })
    scene.bus('message.updated', { sessionID: 's', info: { id: 'u3', role: 'user' } })
    expect(await treeOf(scene.answers('s', 'u3', 'a3', 'The end.').idle('s'))).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
        aux.compression OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })
})

describe('a session', () => {
  const child = (scene: Scene): Scene =>
    scene
      .prompt('s', 'u1', 'delegate')
      .step('s', 'u1', 'a1')
      .runs('s', 'a1', 'c1', 'task', { subagent_type: 'general', prompt: 'look' })
      .created('k', { parentID: 's', agent: 'general' })

  const joined = {
    status: 'running',
    input: { subagent_type: 'general', prompt: 'look' },
    metadata: { sessionId: 'k' },
  }

  test('is that of a child that outlives its tool and the turn', async () => {
    const scene = child(new Scene())
      .tool('s', 'a1', 'c1', joined, 'task')
      .prompt('k', 'v1', 'look')
      .step('k', 'v1', 'b1')
    scene.ran('s', 'a1', 'c1', 'task').finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'It works.')
    scene.idle('s').text('k', 'b1', 'Found.').finished('k', 'v1', 'b1').idle('k')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.task OK [hermes.tool.outcome=completed]
              subagent.general OK
                agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is that of a child that begins before its tool reports it', async () => {
    const scene = child(new Scene()).prompt('k', 'v1', 'look').tool('s', 'a1', 'c1', joined, 'task')
    scene.answers('k', 'v1', 'b1', 'Found.').idle('k').ran('s', 'a1', 'c1', 'task')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'Done.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.task OK [hermes.tool.outcome=completed]
              subagent.general OK (inferred)
                agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is that of a child with a second task', async () => {
    const scene = child(new Scene()).tool('s', 'a1', 'c1', joined, 'task')
    scene.prompt('k', 'v1', 'look').answers('k', 'v1', 'b1', 'Found.').idle('k').ran('s', 'a1', 'c1', 'task')
    scene.finished('s', 'u1', 'a1', 'tool-calls').step('s', 'u1', 'a2').runs('s', 'a2', 'c2', 'task')
    scene.tool('s', 'a2', 'c2', joined, 'task').prompt('k', 'v2', 'again').answers('k', 'v2', 'b2', 'Again.').idle('k')
    scene
      .ran('s', 'a2', 'c2', 'task')
      .finished('s', 'u1', 'a2', 'tool-calls')
      .answers('s', 'u1', 'a3', 'Done.')
      .idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=411, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.task OK [hermes.tool.outcome=completed]
              subagent.general OK
                agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.task OK [hermes.tool.outcome=completed]
              subagent.general OK
                agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
                  llm.fake-1 OK
                    api.fake-1 OK [gen_ai.response.finish_reason=stop]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is that of a child that fails to begin', async () => {
    const scene = child(new Scene()).tool('s', 'a1', 'c1', joined, 'task')
    scene.tool('s', 'a1', 'c1', { status: 'error', error: 'no such agent' }, 'task')
    scene.finished('s', 'u1', 'a1', 'tool-calls').answers('s', 'u1', 'a2', 'No.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.task ERROR tool_error [hermes.tool.outcome=error]
              subagent.general ERROR failed
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('runs beside another', async () => {
    const scene = new Scene().prompt('s', 'u1', 'left').prompt('t', 'v1', 'right').step('s', 'u1', 'a1')
    scene.step('t', 'v1', 'b1').runs('s', 'a1', 'c1').runs('t', 'b1', 'c1').ran('t', 'b1', 'c1').ran('s', 'a1', 'c1')
    scene.finished('s', 'u1', 'a1', 'tool-calls').finished('t', 'v1', 'b1', 'tool-calls')
    scene.answers('t', 'v1', 'b2', 'Right.').answers('s', 'u1', 'a2', 'Left.').idle('t').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=tool-calls]
            tool.bash OK [hermes.tool.outcome=completed]
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('has a second prompt while the first is running', async () => {
    const scene = new Scene()
      .prompt('s', 'u1', 'one')
      .step('s', 'u1', 'a1')
      .said('s', 'u2', 'two')
      .text('s', 'a1', 'One.')
    scene.finished('s', 'u1', 'a1').busy('s').answers('s', 'u2', 'a2', 'Two.').idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]

      agent OK [hermes.turn.number=2, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('has a message that needs no answer, and then a prompt', async () => {
    const scene = new Scene().said('s', 'u1', 'by the way').later(60_000).prompt('s', 'u2', 'hello')
    const { plugin, tree } = await replayEvents('opencode', scene.answers('s', 'u2', 'a1', 'Hello.').idle('s').events)
    expect(tree.match(/^agent/gm)).toHaveLength(1)
    expect(plugin.spans().find(span => span.name === 'agent')?.attributes['input.value']).toBe('by the way\n\nhello')
  })

  test("is older than hookspan's start", async () => {
    const scene = new Scene().assistant('s', 'u0', 'a0', { time: { created: 1, completed: 2 }, finish: 'stop' })
    scene
      .assistant('s', 'u1', 'a1')
      .params('s', 'u1')
      .text('s', 'a1', 'Hello again.')
      .finished('s', 'u1', 'a1')
      .idle('s')
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=137, hermes.turn.exit_reason=stop]
        llm.fake-1 OK
          api.fake-1 OK [gen_ai.response.finish_reason=stop]
      "
    `)
  })

  test('is deleted, or closed, in the middle of a turn', async () => {
    const scene = new Scene()
      .prompt('s', 'u1', 'one')
      .step('s', 'u1', 'a1')
      .prompt('t', 'v1', 'two')
      .step('t', 'v1', 'b1')
    scene.bus('session.deleted', { sessionID: 's', info: { id: 's' } }).tell('dispose', { directory: '/somewhere' })
    expect(await treeOf(scene)).toMatchInlineSnapshot(`
      "
      agent UNSET [hermes.turn.number=1, hermes.turn.final_status=finalized]
        llm.fake-1 UNSET (incomplete: turn_ended)
          api.fake-1 UNSET (incomplete: turn_ended)

      agent UNSET [hermes.turn.number=1, hermes.turn.final_status=finalized]
        llm.fake-1 UNSET (incomplete: turn_ended)
          api.fake-1 UNSET (incomplete: turn_ended)
      "
    `)
  })
})

describe('an event name', () => {
  test.each(['event.file.edited', 'tool.execute.before', 'chat.headers'])(
    'is known and changes nothing: %s',
    async event => {
      const { plugin } = await replayEvents('opencode', [{ event, at: 1_795_000_000_000, data: { sessionID: 's' } }])
      expect(plugin.stats().hooks).toEqual({ ok: 0, ignored: 0, duplicate: 0, error: 0 })
    },
  )

  test('is counted if it is new', async () => {
    const { plugin } = await replayEvents('opencode', [{ event: 'event.session.dreamt', data: { sessionID: 's' } }])
    expect(plugin.stats().hooks.ignored).toBe(1)
  })
})

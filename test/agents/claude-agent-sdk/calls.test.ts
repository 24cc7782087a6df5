import { expect, test } from 'vitest'
import { play } from './play.ts'
import { Scene } from './scene.ts'

const CALLS = ['hermes.tool.outcome', 'hermes.approval.choice', 'hermes.approval.decided_by', 'hermes.approval.surface']

async function treeOf(scene: Scene): Promise<string> {
  const { tree, leftOpen } = await play(scene.events, CALLS)
  expect(leftOpen).toBe(0)
  return tree
}

function asked(...ids: readonly string[]): Scene {
  return new Scene({ query: 'q' })
    .prompted('go')
    .answer('m1', { calls: Object.fromEntries(ids.map(id => [id, 'Bash'])) })
}

function ended(scene: Scene): Scene {
  return scene.answer('m2', { text: 'done' }).stop().result()
}

function results(scene: Scene, ...blocks: readonly object[]): Scene {
  return scene.message('user', {
    message: { role: 'user', content: blocks.map(block => ({ type: 'tool_result', ...block })) },
  })
}

test('blocks a tool that canUseTool denies', async () => {
  const scene = asked('t1').toolStarts('t1').event('canUseTool', { n: 'Bash', i: {}, toolUseID: 't1' })
  scene
    .event('canUseTool.end', { toolUseID: 't1', r: { behavior: 'deny', message: 'no' } })
    .hook('PermissionRequest', {}, 't1')
  expect(await treeOf(ended(scene.batch('t1')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=deny, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
        api.claude OK (inferred)"
  `)
})

test('blocks a tool whose result reports a denial', async () => {
  const scene = asked('t1', 't2', 't3').toolStarts('t1').toolStarts('t2').toolStarts('t3').batch('t1', 't2', 't3')
  results(
    scene,
    { tool_use_id: 't1', is_error: true, content: 'no' },
    { tool_use_id: 't3', is_error: true, content: 'oops' },
  )
  const meta = { tool_result_meta: [{ id: 't2', permission_decision: { decision: 'reject' } }] }
  const content = [{ type: 'tool_result', tool_use_id: 't2', is_error: true, content: 'no' }]
  scene.message('user', { message: { content }, ...meta })
  expect(await treeOf(ended(scene))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash OK [hermes.tool.outcome=blocked]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
        api.claude OK (inferred)"
  `)
})

test('blocks the tools that a result lists as denied', async () => {
  const scene = asked('t1', 't2').toolStarts('t1').toolStarts('t2').batch('t1', 't2').stop()
  scene.result({}, { permission_denials: [{ tool_use_id: 't1' }] })
  expect(await treeOf(scene)).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=blocked]
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]"
  `)
})

test('distinguishes grants for once, for the session and permanent ones', async () => {
  const allow = (...destinations: readonly string[]): object => ({
    behavior: 'allow',
    updatedPermissions: destinations.map(destination => ({ destination })),
  })
  const scene = asked('t1', 't2', 't3')
  for (const [id, r] of Object.entries({ t1: allow(), t2: allow('session'), t3: allow('session', 'localSettings') })) {
    scene
      .toolStarts(id)
      .event('canUseTool', { n: 'Bash', i: {}, toolUseID: id })
      .event('canUseTool.end', { toolUseID: id, r })
    scene.toolEnds(id)
  }
  expect(await treeOf(ended(scene.batch('t1', 't2', 't3')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=session, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=always, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
        api.claude OK (inferred)"
  `)
})

test('treats a callback that throws as a denial', async () => {
  const scene = asked('t1').toolStarts('t1').event('canUseTool', { n: 'Bash', i: {}, toolUseID: 't1' })
  expect(await treeOf(ended(scene.event('canUseTool.end', { toolUseID: 't1' }).batch('t1')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=error, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
        api.claude OK (inferred)"
  `)
})

test('records the SDK’s own approval requests', async () => {
  const scene = asked('t1', 't2').toolStarts('t1').hook('PermissionRequest', {}, 't1').toolEnds('t1')
  scene.toolStarts('t2').hook('PermissionRequest', {}, 't2')
  scene.message('system.permission_denied', { tool_name: 'Bash', tool_use_id: 't2', message: 'not without a person' })
  expect(await treeOf(ended(scene.batch('t1', 't2')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once, hermes.approval.surface=PermissionRequest]
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=deny, hermes.approval.surface=PermissionRequest]
        api.claude OK (inferred)"
  `)
})

test('buffers an approval that precedes its tool', async () => {
  const scene = asked('t1').event('canUseTool', { n: 'Bash', i: {}, toolUseID: 't1' })
  scene
    .event('canUseTool.end', { toolUseID: 't1', r: { behavior: 'allow' } })
    .tool('t1')
    .batch('t1')
  expect(await treeOf(ended(scene))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]
        api.claude OK (inferred)"
  `)
})

test('buffers an approval whose tool is buffered with the next turn', async () => {
  const next = { prompt_id: 'p2' }
  const scene = asked()
    .stop()
    .hook('UserPromptSubmit', { prompt: 'again', ...next })
    .toolStarts('t2', 'Bash', next)
  scene
    .event('canUseTool', { n: 'Bash', i: {}, toolUseID: 't2' })
    .event('canUseTool.end', { toolUseID: 't2', r: { behavior: 'allow' } })
    .toolEnds('t2', 'Bash', next)
    .result()
    .answer('m2', { calls: { t2: 'Bash' } })
  expect(await treeOf(scene.hook('Stop', next).result())).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)

    agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]
            approval.Bash OK [hermes.approval.choice=once, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]"
  `)
})

test('separates queries whose calls have the same id', async () => {
  const [one, two] = ['one', 'two'].map(name =>
    new Scene({ session: name, prompt: name, query: name }).prompted(name).answer('m1', { calls: { t1: 'Bash' } }),
  ) as [Scene, Scene]
  one.toolStarts('t1')
  two.after(3).toolStarts('t1').event('canUseTool', { toolUseID: 't1' })
  two
    .event('canUseTool.end', { toolUseID: 't1', r: { behavior: 'deny' } })
    .batch('t1')
    .stop()
    .result()
  one.after(500).toolEnds('t1').stop().result()
  const events = [...one.events, ...two.events].toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
  const { tree } = await play(events, CALLS)
  expect(tree).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=blocked]
            approval.Bash OK [hermes.approval.choice=deny, hermes.approval.decided_by=canUseTool, hermes.approval.surface=canUseTool]

    agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash OK [hermes.tool.outcome=completed]"
  `)
})

test('records a call that could not be made', async () => {
  const scene = asked('t1')
  results(scene, { tool_use_id: 't1', is_error: true, content: 'No such tool' })
  expect(await treeOf(ended(scene.batch('t1')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
        api.claude OK (inferred)"
  `)
})

test('distinguishes failures from interruptions', async () => {
  const scene = asked('t1', 't2').toolStarts('t1').toolStarts('t2')
  scene.hook('PostToolUseFailure', { tool_use_id: 't1', error: 'Exit code 3', is_interrupt: false })
  scene.hook('PostToolUseFailure', { tool_use_id: 't2', error: 'stopped', is_interrupt: true })
  expect(await treeOf(ended(scene.batch('t1', 't2')))).toMatchInlineSnapshot(`
    "agent OK
      llm.claude OK
        api.claude OK (inferred)
          tool.Bash ERROR tool_error [hermes.tool.outcome=error]
          tool.Bash OK [hermes.tool.outcome=cancelled]
        api.claude OK (inferred)"
  `)
})

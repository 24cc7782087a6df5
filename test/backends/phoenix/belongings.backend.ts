import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { START_MILLIS } from '../servers/phoenix.ts'
import { Scene } from './scene.ts'

const PROJECT = 'belongings'
const SPANS = 6

let scene: Scene

beforeAll(async () => {
  scene = await Scene.start()
}, START_MILLIS)

afterAll(() => scene?.stop())

/** A turn of a user's, with a child agent. */
async function tell(): Promise<void> {
  const options: PluginOptions = {
    host: 'my-agent',
    project_name: PROJECT,
    local_log: false,
    prometheus: false,
    backends: [{ type: 'phoenix', endpoint: scene.phoenix.url }],
  }
  const plugin = createPluginIn(options, { env: {}, home: scene.home, isReplay: false })
  const [turn, child] = [
    { session_id: 's1', turn_id: 't1' },
    { session_id: 's2', turn_id: 't2' },
  ]
  plugin.emit('on_session_start', { ...turn, user_id: 'u-17', tags: ['beta'], attributes: { team: 'search' } })
  plugin.emit('pre_llm_call', {
    ...turn,
    user_message: 'Hi',
    tags: ['nightly'],
    metadata: { tenant: 'acme', seats: 3 },
  })
  plugin.emit('subagent_start', { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 's2' })
  plugin.emit('pre_llm_call', { ...child, user_message: 'Look' })
  plugin.emit('pre_tool_call', { ...child, tool_name: 'grep', tool_call_id: 'c1' })
  plugin.emit('post_tool_call', { ...child, tool_name: 'grep', tool_call_id: 'c1' })
  plugin.emit('on_session_end', { ...child, completed: true })
  plugin.emit('subagent_stop', { child_session_id: 's2', child_status: 'ok' })
  plugin.emit('on_session_end', { ...turn, completed: true })
  await plugin.shutdown()
}

test("has turn metadata where Phoenix looks for it, also on a child agent's spans", async () => {
  await tell()
  await scene.settled(PROJECT, SPANS)
  const spans = await scene.query.spans(PROJECT)
  expect(spans).toHaveLength(SPANS)
  for (const { name, attributes } of spans) {
    expect(attributes, name).toMatchObject({ 'user.id': 'u-17', 'tag.tags': ['beta', 'nightly'], team: 'search' })
  }
  const found = async (filter: string): Promise<number> => (await scene.query.pageSpans(PROJECT, filter)).length
  expect(await found("metadata['tenant'] == 'acme'")).toBe(SPANS)
  expect(await found("metadata['seats'] == 3")).toBe(SPANS)
  expect(await found("metadata['tenant'] == 'other'")).toBe(0)
  expect(await found("'nightly' in attributes['tag']['tags']")).toBe(SPANS)
  expect(await found("attributes['user']['id'] == 'u-17'")).toBe(SPANS)
  expect(await found("attributes['team'] == 'search'")).toBe(SPANS)
  const { id } = await scene.query.project(PROJECT)
  const { node } = await scene.query.graphql<{ node: { sessions: { edges: { node: { userId: string | null } }[] } } }>(
    'query Users($id: ID!) { node(id: $id) { ... on Project { sessions(first: 5) { edges { node { userId } } } } } }',
    { id },
  )
  expect(node.sessions.edges.map(edge => edge.node.userId)).toEqual(['u-17'])
})

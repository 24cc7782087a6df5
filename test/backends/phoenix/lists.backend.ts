import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { START_MILLIS } from '../servers/phoenix.ts'
import { AGENT_TURNS, feedAgents } from '../workload/several-agents.ts'
import { Scene } from './scene.ts'

const PROJECT = 'several-agents'

/** The list of traces shows the name of the root and what was asked; that of sessions the id of each. */
describe('the lists of traces and of sessions', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await Scene.start()
    const backends = [{ type: 'phoenix', endpoint: scene.phoenix.url }] as const
    await feedAgents(scene.home, { root_label: 'session', project_name: PROJECT, backends })
    await scene.settled(PROJECT, 2 * AGENT_TURNS.length)
  }, START_MILLIS)

  afterAll(() => scene?.stop())

  test('tell agents and sessions apart by the names of the roots', async () => {
    const spans = await scene.query.spans(PROJECT)
    const roots = spans.filter(({ parent_id }) => parent_id === null).map(({ name }) => name)
    const labels = AGENT_TURNS.map(({ agent, session }) => `agent ${agent} …${session.slice(-8)}`)
    expect(roots.toSorted()).toEqual(labels.toSorted())
  })

  test('have a session for each', async () => {
    const sessions = await scene.query.sessions(PROJECT)
    const ids = [...new Set(AGENT_TURNS.map(({ session }) => session))]
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted())
  })
})

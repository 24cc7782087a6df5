import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { START_MILLIS } from '../servers/phoenix.ts'
import { AGENT_TURNS, feedAgents } from '../workload/several-agents.ts'
import { Scene } from './scene.ts'

const PROJECT = 'several-agents'

/** The list of sessions shows the id of each. */
describe('the list of sessions', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await Scene.start()
    const backends = [{ type: 'phoenix', endpoint: scene.phoenix.url }] as const
    await feedAgents(scene.home, { project_name: PROJECT, backends })
    await scene.settled(PROJECT, 2 * AGENT_TURNS.length)
  }, START_MILLIS)

  afterAll(() => scene?.stop())

  test('has a session for each', async () => {
    const sessions = await scene.query.sessions(PROJECT)
    const ids = [...new Set(AGENT_TURNS.map(({ session }) => session))]
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted())
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { feedAgents, SHARED_PROCESS } from '../workload/several-agents.ts'
import { Scene } from './scene.ts'

describe('the list of traces', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await Scene.start()
    const backends = [{ type: 'jaeger', endpoint: scene.jaeger.otlpUrl }] as const
    await feedAgents(scene.home, { backends })
  })

  afterAll(() => scene?.stop())

  test('distinguishes programs by their service', async () => {
    const services = await eventually(
      () => scene.query.services(),
      found => found.length >= 3,
    )
    expect([...services].toSorted()).toEqual(['claude-agent-sdk', SHARED_PROCESS, 'pi'])
  })
})

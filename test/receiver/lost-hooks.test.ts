import { expect, test } from 'vitest'
import { showStatus } from '../../src/cli/serve/receiver-process.ts'
import type { Health } from '../../src/receiver/running-receiver.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { ECHO, Scene } from './scene.ts'

test('reports the lost hooks of each agent', async () => {
  const scene = new Scene()
  const adapter = { ...ECHO.adapter, lostHooks: 0 }
  const receiver = await scene.start({
    endpoints: { '/echo': { host: 'echo', adapter }, '/spans': { host: 'echo', adapter }, '/other': ECHO },
  })
  const health = async (): Promise<Health> =>
    JSON.parse((await scene.ask(receiver, '/healthz', { method: 'GET' })).text) as Health
  expect((await health()).lostHooks).toEqual({})

  adapter.lostHooks = 2
  expect((await health()).lostHooks).toEqual({ echo: 4 })
  const io = fakeIo({ home: scene.home, env: scene.env })
  expect(await showStatus(io)).toBe(0)
  expect(io.written.stdout).toContain('\n  lost     4 hooks of echo: sent and never received\n')
})

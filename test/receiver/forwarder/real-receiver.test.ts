/** What the forwarder and the shim of Hermes send, and leave in the spool, is what the receiver takes. */
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RECEIVER_ENDPOINTS } from '../../../src/agents/receiver-endpoints.ts'
import { REPOSITORY } from '../../cli/program.ts'
import { describePython, ShimScene } from '../../integrations/hermes/scene.ts'
import { until } from '../../support/until.ts'
import { Scene } from '../scene.ts'
import { run } from './scene.ts'

const HOOK = join(REPOSITORY, 'dist', 'hook.cjs')
const BODY = '{"hook_event_name": "pre_llm_call", "session_id": "s1", "extra": {"n": NaN, "lone": "\\ud800"}}'
const EVENT = { event: 'pre_llm_call', data: { session_id: 's1', n: null, lone: '\ud800' } }

/** Else an impatient forwarder would start a receiver of its own. */
function isStarting({ place: { directory } }: Scene): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, 'starting'), '\n')
  const later = Date.now() / 1000 + 9
  utimesSync(join(directory, 'starting'), later, later)
}

function fire(scene: Scene): Promise<unknown> {
  return run([HOOK, 'hermes'], { input: BODY, env: { HOME: scene.home, ...scene.env } })
}

test('accepts an event that is sent', async () => {
  const scene = new Scene()
  isStarting(scene)
  await scene.start({ endpoints: RECEIVER_ENDPOINTS })
  await fire(scene)
  await until(() => scene.recorder.told.length > 0)
  expect(scene.recorder.told[0]).toMatchObject({ host: 'hermes', event: EVENT })
})

test('finds a spooled event', async () => {
  const scene = new Scene()
  isStarting(scene)
  await fire(scene)
  expect(scene.spooled).toHaveLength(1)
  await scene.start({ endpoints: RECEIVER_ENDPOINTS })
  await until(() => scene.recorder.told.length > 0)
  expect(scene.recorder.told[0]).toMatchObject({ host: 'hermes', event: EVENT })
  await until(() => scene.spooled.length === 0)
})

describePython('hooks of Hermes', () => {
  test('accepts sent events and finds spooled ones', async () => {
    const [scene, hermes] = [new Scene(), new ShimScene()]
    const play = (session: string): Promise<string> =>
      hermes.play(`fire("pre_llm_call", session_id="${session}")`, { env: scene.env, isImpatient: true })
    await play('early')
    await scene.start({ endpoints: RECEIVER_ENDPOINTS })
    await play('late')
    const sessions = (): unknown[] =>
      scene.recorder.told.map(({ event }) => (event.data as { session_id: string }).session_id)
    await until(() => sessions().length >= 2)
    expect(new Set(sessions())).toEqual(new Set(['early', 'late']))
    expect(scene.recorder.told[0]).toMatchObject({
      host: '',
      event: { event: 'pre_llm_call', context: { host: 'hermes' } },
    })
  })
})

test.each([
  [{}, undefined],
  [{ HOOKSPAN_CONTENT_CAPTURE: 'full' }, 'full'],
  [{ HOOKSPAN_CAPTURE_CONVERSATION_HISTORY: 'true' }, 'full'],
])('announces whether conversations are recorded: %j', async (env, wanted) => {
  const scene = new Scene()
  await scene.start({ endpoints: RECEIVER_ENDPOINTS, env: { ...scene.env, ...env } })
  const address = JSON.parse(readFileSync(join(scene.place.directory, 'address.json'), 'utf8')) as object
  expect(Reflect.get(address, 'content_capture')).toBe(wanted)
})

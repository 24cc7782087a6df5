/** The whole way of a webhook of Hermes: as `init` sets it up, as Hermes signs and repeats it, into the recorder. */
import { createHmac } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { RECEIVER_ENDPOINTS } from '../../src/agents/receiver-endpoints.ts'
import { initOf } from '../../src/cli/commands/init.ts'
import { captured } from '../agents/hermes/wire.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { REPOSITORY } from '../cli/program.ts'
import { until } from '../support/until.ts'
import { MemoryRecorder, Scene } from './scene.ts'

interface Outbound {
  readonly url: string
  readonly secret: string
}

/** What stands in the configuration of Hermes after `hookspan init hermes --webhook`. */
async function setUp({ home, env }: Scene): Promise<Outbound> {
  const hermesHome = join(home, 'hermes')
  mkdirSync(hermesHome)
  const io = fakeIo({ home, env: { ...env, HERMES_HOME: hermesHome } })
  const installed = { folder: REPOSITORY, project: REPOSITORY, refusal: undefined, isTemporary: false }
  expect(await initOf(() => installed).run(['hermes', '--webhook'], io)).toBe(0)
  const written = parse(readFileSync(join(hermesHome, 'config.yaml'), 'utf8')) as { hooks: { outbound: Outbound[] } }
  return written.hooks.outbound[0] as Outbound
}

test('accepts a signed body, once however often it is sent, and rejects unsigned ones and other secrets', async () => {
  const scene = new Scene()
  await (await scene.start()).stop()
  const { url, secret } = await setUp(scene)
  scene.recorder = new MemoryRecorder()
  const receiver = await scene.start({ endpoints: RECEIVER_ENDPOINTS })
  const post = async (body: string, id: string, signature: string | undefined): Promise<number> => {
    const headers = { 'x-hermes-delivery': id, ...(signature && { 'x-hermes-signature-256': signature }) }
    const asked = { body, token: null, headers: { 'content-type': 'application/json', ...headers } }
    return (await scene.ask(receiver, new URL(url).pathname, asked)).status
  }
  const signed = (body: string, by = secret): string => `sha256=${createHmac('sha256', by).update(body).digest('hex')}`

  const bodies = captured('webhook').map(({ body }) => body as { hook_event_name: string; delivery_id: string })
  for (const each of bodies.slice(0, 8)) {
    const [body, id] = [JSON.stringify(each), each.delivery_id]
    expect(await post(body, id, undefined)).toBe(401)
    expect(await post(body, id, signed(body, 'another'))).toBe(401)
    expect(await post(body.replace('}', ' }'), id, signed(body))).toBe(401)
    for (const attempt of [1, 2]) expect(await post(body, id, signed(body)), `attempt ${attempt}`).toBe(204)
  }
  await until(() => scene.recorder.told.length === 8)
  expect(scene.recorder.names).toEqual(bodies.slice(0, 8).map(each => each.hook_event_name))
  expect(receiver.counts).toMatchObject({ refused: { signature: 24 }, duplicates: 8 })
})

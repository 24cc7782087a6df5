import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HostEvent } from '../../src/agents/host-event.ts'
import { until } from '../support/until.ts'
import { Home } from './home.ts'
import { toldOf, twoTurns } from './scenario.ts'
import { ECHO, Scene } from './scene.ts'
import { treesOf, World } from './world.ts'

const AT = 1_795_256_000_000

/** Another home, with what is in the journal of this one at the moment: as a kill leaves it. */
function killed({ place }: Scene): Scene {
  const next = new Scene()
  mkdirSync(next.place.directory, { recursive: true, mode: 0o700 })
  cpSync(join(place.directory, 'journal'), join(next.place.directory, 'journal'), { recursive: true })
  return next
}

function spool(scene: Scene, number: number, id: string): void {
  mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
  const at = AT + number
  const file = join(scene.place.spool, `${at}-77-${number.toString(16).padStart(8, '0')}.json`)
  writeFileSync(file, JSON.stringify({ path: '/echo', at, id, body: { event: id } }), { mode: 0o600 })
}

test('keeps acknowledged requests while their session waited for its files', async () => {
  const scene = new Scene()
  let find: (found: HostEvent[]) => void = () => undefined
  const files = new Promise<HostEvent[]>(resolve => {
    find = resolve
  })
  const adapter = { ...ECHO.adapter, enrich: () => files }
  const receiver = await scene.start({ endpoints: { '/echo': { host: 'echo', adapter } } })
  for (const event of ['stop', 'next', 'last']) expect(await scene.send(receiver, event)).toBe(204)
  await until(() => scene.recorder.names.length === 1)

  const next = killed(scene)
  await next.start()
  await until(() => next.recorder.told.length === 3)
  expect(next.recorder.names).toEqual(['stop', 'next', 'last'])
  // The id by which the recorder knows what it has in its journal already.
  expect(next.recorder.told[0]?.id).toBe(scene.recorder.told[0]?.id)
  await until(() => !existsSync(join(next.place.directory, 'journal', 'requests-00000001')))
  find([])
})

test('gives an event that is found later another id, and the marker behind it the same, which else releases a later hook', async () => {
  const found = async (names: readonly string[]): Promise<(string | undefined)[]> => {
    const scene = new Scene()
    const enrich = (): Promise<HostEvent[]> => Promise.resolve(names.map(event => ({ event })))
    const receiver = await scene.start({
      endpoints: { '/echo': { host: 'echo', adapter: { ...ECHO.adapter, enrich } } },
    })
    await scene.send(receiver, 'stop', { headers: { 'x-hookspan-delivery': 'stop' } })
    await until(() => scene.recorder.told.length === names.length + 1)
    return scene.recorder.told.map(({ id }) => id)
  }
  const killed = await found(['line', 'read'])
  const [stop, line, later, read] = await found(['line', 'line', 'read'])
  expect({ killed, later }).toEqual({ killed: [stop, line, read], later: 'stop+0:line#1' })
})

test('keeps acknowledged requests while the previous spool was read, after the spool', async () => {
  const scene = new Scene()
  scene.recorder.written = new Promise(() => undefined)
  for (let number = 0; number < 300; number++) spool(scene, number, `spooled ${number}`)
  const receiver = await scene.start()
  expect(await scene.send(receiver, 'sent')).toBe(204)
  expect(scene.recorder.names).not.toContain('sent')

  const next = killed(scene)
  await next.start()
  await until(() => next.recorder.names.includes('sent'))
})

test('keeps acknowledged requests that were not journalled yet', async () => {
  const scene = new Scene()
  let write: () => void = () => undefined
  scene.recorder.written = new Promise(resolve => {
    write = resolve
  })
  const receiver = await scene.start()
  await scene.send(receiver, 'sent')
  await until(() => scene.recorder.names.includes('sent'))
  const early = killed(scene)
  write()
  await scene.recorder.written
  await new Promise(setImmediate)
  const late = killed(scene)
  await early.start()
  await late.start()
  await until(() => early.recorder.names.includes('sent'))
  expect(late.recorder.names).toEqual([])
})

test('processes recovered requests first, then the spool, then new requests', async () => {
  const scene = new Scene()
  scene.recorder.written = new Promise(() => undefined)
  const receiver = await scene.start()
  for (const event of ['one', 'two']) await scene.send(receiver, event, { headers: { 'x-hookspan-delivery': event } })

  const next = killed(scene)
  // A client that did not wait for the answer.
  spool(next, 0, 'two')
  spool(next, 1, 'three')
  const after = await next.start()
  await next.send(after, 'four')
  await until(() => next.recorder.told.length === 4)
  expect(next.recorder.names).toEqual(['one', 'two', 'three', 'four'])
})

test('orders an event that was sent and spooled by the spool', async () => {
  const scene = new Scene()
  let write: () => void = () => undefined
  scene.recorder.written = new Promise(resolve => {
    write = resolve
  })
  for (let number = 0; number < 300; number++) spool(scene, number, `event ${number}`)
  const receiver = await scene.start()
  // More are in the spool than are taken at once, so this comes before its file is read.
  await scene.send(receiver, 'event 290', { headers: { 'x-hookspan-delivery': 'event 290' } })
  await scene.send(receiver, 'sent', { headers: { 'x-hookspan-delivery': 'sent' } })
  write()
  await until(() => scene.recorder.told.length === 301)
  expect(scene.recorder.names).toEqual([...Array.from({ length: 300 }, (_, number) => `event ${number}`), 'sent'])
  await until(() => scene.spooled.length === 0)
  expect(receiver.counts).toMatchObject({ deliveries: 301, duplicates: 1 })
})

test('empties the spool while the recorder is busy', async () => {
  const scene = new Scene()
  // As it is while events come by the socket all the time; what it was told is journalled all the same.
  scene.recorder.waiting = 1
  for (let number = 0; number < 3000; number++) spool(scene, number, `spooled ${number}`)
  await scene.start()
  const since = performance.now()
  await until(() => scene.spooled.length === 0)
  // At 256 files in five seconds it would take a minute.
  expect(performance.now() - since).toBeLessThan(30_000)
})

test('loses no answered event when killed', async () => {
  const alone = await told([])
  const troubled = await told([5, 9])
  expect(treesOf(troubled.logged)).toBe(treesOf(alone.logged))
})

/** @param kills numbers of events after whose answer the receiver is killed at once, and the next one started */
async function told(kills: readonly number[]): Promise<World> {
  const world = await World.create()
  const home = new Home(world)
  await home.start()
  for (const [index, event] of toldOf(twoTurns()).entries()) {
    await home.tell(event)
    if (!kills.includes(index)) continue
    await home.end('SIGKILL')
    await home.start()
  }
  await home.stop()
  return world
}

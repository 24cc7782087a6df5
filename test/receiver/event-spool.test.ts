import { chmodSync, existsSync, linkSync, mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { HostEvent } from '../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../src/agents/receiver-adapter.ts'
import { until } from '../support/until.ts'
import { ECHO, FakeClock, Scene } from './scene.ts'

const AT = 1_795_256_000_000
let hex = 0

function nameAt(at: number): string {
  return `${at}-77-${(++hex).toString(16).padStart(8, '0')}.json`
}

/** As a client does that finds no receiver. */
function spool(
  scene: Scene,
  event: string,
  { at = AT, ...more }: { at?: number; [field: string]: unknown } = {},
): string {
  const file = join(scene.place.spool, nameAt(at))
  mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
  writeFileSync(file, JSON.stringify({ path: '/echo', at, body: { event }, ...more }), { mode: 0o600 })
  return file
}

test('is read by a new receiver, in order of time, and then removed', async () => {
  const scene = new Scene()
  for (const [event, at] of [
    ['third', AT + 2],
    ['first', AT],
    ['second', AT + 1],
  ] as const)
    spool(scene, event, { at })
  const receiver = await scene.start()
  await until(() => scene.spooled.length === 0)
  expect(scene.recorder.told.map(({ event }) => [event.event, event.at])).toEqual([
    ['first', AT],
    ['second', AT + 1],
    ['third', AT + 2],
  ])
  expect(receiver.counts).toMatchObject({ deliveries: 3, spooled: 3, refused: {} })
})

test('is read for later files, too, also if the system sends no notification', async () => {
  const scene = new Scene()
  const clock = new FakeClock()
  await scene.start({ clock })
  spool(scene, 'watched')
  // Where the system lets nobody watch any more.
  if (scene.lines.length > 0) clock.pass(30_000)
  await until(() => scene.recorder.told.length === 1)
  // A directory that was made anew is not the one that is watched.
  rmSync(scene.place.spool, { recursive: true })
  spool(scene, 'found')
  clock.pass(30_000)
  await until(() => scene.recorder.names.includes('found'))
})

test('comes before requests that are sent meanwhile', async () => {
  const scene = new Scene()
  for (let number = 0; number < 600; number++) spool(scene, 'spooled', { at: AT + number })
  const receiver = await scene.start()
  expect(await scene.send(receiver, 'sent')).toBe(204)
  await until(() => scene.recorder.told.length === 601)
  expect(scene.recorder.names.at(-1)).toBe('sent')
})

test('counts an event once that was both sent and spooled', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  await scene.send(receiver, 'once', { headers: { 'x-hookspan-delivery': 'd1' } })
  spool(scene, 'once', { id: 'd1' })
  await until(() => scene.spooled.length === 0)
  await until(() => receiver.counts.duplicates === 1)
  expect(scene.recorder.names).toEqual(['once'])
})

test("keeps the client's data about the event", async () => {
  const scene = new Scene()
  const found: unknown[] = []
  const adapter: ReceiverAdapter = {
    events: ({ body, headers }) => {
      found.push([body, headers])
      return []
    },
  }
  spool(scene, '', { traceparent: '00-1-2-01', body: '{"event":"x","data":NaN}' })
  spool(scene, '', { body: '{"event":' })
  await scene.start({ endpoints: { '/echo': { host: 'echo', adapter } } })
  await until(() => scene.spooled.length === 0)
  expect(found).toEqual([
    [{ event: 'x', data: null }, { traceparent: '00-1-2-01' }],
    ['{"event":', {}],
  ])
})

test('removes a file only after the recorder has journalled it', async () => {
  const scene = new Scene()
  spool(scene, 'x')
  let write: () => void = () => undefined
  scene.recorder.written = new Promise(resolve => {
    write = resolve
  })
  const receiver = await scene.start()
  await until(() => scene.recorder.told.length === 1)
  expect(await scene.send(receiver, 'y')).toBe(204)
  expect(scene.spooled).toHaveLength(1)
  write()
  await until(() => scene.spooled.length === 0)
})

test("puts an adapter's findings behind their event, and before the next one of the session", async () => {
  const scene = new Scene()
  let find: (events: HostEvent[]) => void = () => undefined
  const adapter = {
    ...ECHO.adapter,
    enrich: ({ event }: HostEvent) =>
      event === 'stop' ? new Promise<HostEvent[]>(resolve => (find = resolve)) : Promise.resolve([]),
  }
  const receiver = await scene.start({ endpoints: { '/agent': { host: 'agent', adapter }, '/echo': ECHO } })
  const tell = (event: string, session_id: string) =>
    scene.ask(receiver, '/agent', {
      body: JSON.stringify({ event, session_id }),
      headers: { 'x-hookspan-delivery': event },
    })
  await tell('stop', 's1')
  await tell('next', 's1')
  await tell('of another session', 's2')
  await scene.send(receiver, 'of another agent')
  await until(() => scene.recorder.told.length === 3)
  find([{ event: 'usage' }, { event: 'usage' }])
  await until(() => scene.recorder.told.length === 6)
  expect(scene.recorder.told.map(({ host, id, event }) => [host, event.event, id])).toEqual([
    ['agent', 'stop', 'stop'],
    ['agent', 'of another session', 'of another session'],
    ['echo', 'of another agent', expect.stringMatching(/^~/)],
    ['agent', 'usage', 'stop+0:usage'],
    ['agent', 'usage', 'stop+0:usage#1'],
    ['agent', 'next', 'next'],
  ])
})

test('does not wait forever for an adapter', async () => {
  const scene = new Scene()
  const adapter = { ...ECHO.adapter, enrich: () => new Promise<HostEvent[]>(() => undefined) }
  const receiver = await scene.start({
    endpoints: { '/echo': { host: 'echo', adapter } },
    limits: { moreMillis: 10 },
  })
  for (const name of ['a', 'b']) await scene.send(receiver, name)
  await until(() => scene.recorder.told.length === 2)
  await until(() => receiver.counts.unreadable === 2)
})

describe('the list of rejected files, kept in place and counted once', () => {
  const WHOLE = JSON.stringify({ path: '/echo', at: AT, body: { event: 'by hand' } })

  test.each<[string, (file: string, scene: Scene) => void]>([
    ['written by hand, for all to read', file => writeFileSync(file, WHOLE, { mode: 0o644 })],
    ['no JSON', file => writeFileSync(file, 'hello', { mode: 0o600 })],
    ['truncated', file => writeFileSync(file, WHOLE.slice(0, -3), { mode: 0o600 })],
    ['empty', file => writeFileSync(file, '', { mode: 0o600 })],
    ['no object', file => writeFileSync(file, '[1]', { mode: 0o600 })],
    ['without a body', file => writeFileSync(file, `{"path":"/echo","at":${AT}}`, { mode: 0o600 })],
    ['of no time', file => writeFileSync(file, '{"path":"/echo","at":"now","body":{}}', { mode: 0o600 })],
    [
      'for a path that takes no events',
      file => writeFileSync(file, WHOLE.replace('/echo', '/v1/stop'), { mode: 0o600 }),
    ],
    ['for a path up the directories', file => writeFileSync(file, WHOLE.replace('/echo', '/../x'), { mode: 0o600 })],
    ['too large', file => writeFileSync(file, WHOLE + ' '.repeat(5000), { mode: 0o600 })],
    ['a directory', file => mkdirSync(file)],
    [
      'a link',
      (file, { home }) => {
        writeFileSync(join(home, 'elsewhere'), WHOLE, { mode: 0o600 })
        symlinkSync(join(home, 'elsewhere'), file)
      },
    ],
    [
      'a file of two names',
      (file, { home }) => {
        writeFileSync(join(home, 'elsewhere'), WHOLE, { mode: 0o600 })
        linkSync(join(home, 'elsewhere'), file)
      },
    ],
  ])('includes a file that is %s', async (_, put) => {
    const scene = new Scene()
    const file = join(scene.place.spool, nameAt(AT))
    mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
    put(file, scene)
    chmodSync(scene.place.directory, 0o700)
    const clock = new FakeClock()
    const receiver = await scene.start({ clock, limits: { bodyBytes: 4000 } })
    spool(scene, 'good', { at: AT + 1 })
    await until(() => scene.recorder.told.length === 1)
    clock.pass(90_000)
    await until(() => scene.spooled.length === 1)
    expect(existsSync(file)).toBe(true)
    expect(receiver.counts.refused).toEqual({ spoolFile: 1 })
    expect(scene.lines).toEqual([
      `in ${scene.place.spool} are files that no client of hookspan wrote completely; they are not read`,
    ])
    expect(scene.recorder.names).toEqual(['good'])
  })

  test('ignores a file with a foreign name', async () => {
    const scene = new Scene()
    mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
    for (const name of ['notes.txt', 'x.json', `${AT}-1-0000000g.json`, `.${AT}-1-00000001.json`]) {
      writeFileSync(join(scene.place.spool, name), WHOLE, { mode: 0o600 })
    }
    const receiver = await scene.start()
    spool(scene, 'good')
    await until(() => scene.recorder.told.length === 1)
    await until(() => scene.spooled.length === 4)
    expect(receiver.counts.refused).toEqual({})
  })

  test('rejects a spool that is a link', async () => {
    const scene = new Scene()
    mkdirSync(scene.place.directory, { recursive: true, mode: 0o700 })
    const elsewhere = join(scene.home, 'elsewhere')
    mkdirSync(elsewhere, { mode: 0o700 })
    writeFileSync(join(elsewhere, nameAt(AT)), WHOLE, { mode: 0o600 })
    symlinkSync(elsewhere, scene.place.spool)
    const receiver = await scene.start()
    expect(await scene.send(receiver, 'sent')).toBe(204)
    await until(() => scene.recorder.told.length === 1)
    expect(scene.recorder.names).toEqual(['sent'])
    expect(receiver.counts.refused.spoolPlace).toBeGreaterThan(0)
    expect(scene.lines).toContain(
      `${scene.place.spool} is no directory of its own; move it away: events that find no receiver are lost`,
    )
    unlinkSync(scene.place.spool)
  })
})

test('removes unfinished files of dead clients', async () => {
  const scene = new Scene()
  const clock = new FakeClock()
  mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
  const [old, young] = [clock.now() - 7_200_000, clock.now() - 1000].map(nameAt) as [string, string]
  const names = [old, young].flatMap(name => [`${name}.tmp`, `${name}.4711-0a1b2c3d.tmp`])
  for (const name of names) writeFileSync(join(scene.place.spool, name), '{"pa', { mode: 0o600 })
  await scene.start({ clock })
  expect(scene.spooled.toSorted()).toEqual(names.slice(2).toSorted())
})

test('reports and counts events that clients dropped', async () => {
  const scene = new Scene()
  mkdirSync(scene.place.spool, { recursive: true, mode: 0o700 })
  writeFileSync(join(scene.place.spool, 'dropped'), '1\n1\nx\n5\n', { mode: 0o600 })
  const receiver = await scene.start()
  await until(() => receiver.counts.dropped === 7)
  expect(scene.lines).toEqual(['7 events were lost: no receiver ran, and the spool was full'])
  expect(scene.spooled).toEqual([])
})

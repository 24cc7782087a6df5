import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findRunning } from '../../src/cli/serve/receiver-process.ts'
import { acquireLock } from '../../src/delivery/trace-log/index.ts'
import { ownerToken, systemProbes } from '../../src/delivery/trace-log/owner.ts'
import type { ReceiverServer } from '../../src/receiver/receiver.ts'
import { readAddress } from '../../src/receiver/receiver-files.ts'
import { isNewer } from '../../src/receiver/running-receiver.ts'
import { afterwards } from '../support/afterwards.ts'
import { until } from '../support/until.ts'
import { FakeClock, MemoryRecorder, Scene } from './scene.ts'

/** An id that a receiver gave to a request without one. */
const OURS = expect.stringMatching(/^~/)

describe('one receiver of a user', () => {
  test('keeps running when a receiver of the same or an older version starts', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ version: '1.2.0' })
    for (const version of ['1.2.0', '1.1.9', '1.2.0-beta.1']) {
      expect(await scene.begin({ version })).toMatchObject({ already: { pid: process.pid, version: '1.2.0' } })
    }
    expect(await scene.send(receiver, 'x')).toBe(204)
  })

  test('is replaced by a newer receiver, which receives all events', async () => {
    const scene = new Scene()
    const old = scene.recorder
    const first = await scene.start()
    for (const name of ['1', '2', '3']) await scene.send(first, name)
    const young = new MemoryRecorder()
    const second = await scene.start({ version: '1.0.1', openRecorder: () => Promise.resolve(young) })
    await first.closed
    // What is open stays open, and the doors are where they were.
    expect(old).toMatchObject({ names: ['1', '2', '3'], closings: ['handover'] })
    expect(second.address).toMatchObject({ port: first.address.port, socket: first.address.socket, version: '1.0.1' })
    expect(readAddress(scene.place)).toEqual(second.address)
    expect(await scene.send(second, '4')).toBe(204)
    expect(await scene.send(second, '5', { isBySocket: true })).toBe(204)
    await until(() => young.told.length === 2)
  })

  test('spools events for the newer receiver until it listens, in order', async () => {
    const scene = new Scene()
    const first = await scene.start()
    await scene.send(first, '1', { headers: { 'x-hookspan-delivery': 'one' } })
    const young = new MemoryRecorder()
    const second = await scene.start({
      version: '2.0.0',
      openRecorder: async () => {
        expect(scene.recorder).toMatchObject({ names: ['1'], closings: ['handover'] })
        const at = String(Date.now() - 1000)
        expect(await scene.send(first, '2', { headers: { 'x-hookspan-at': at } })).toBe(204)
        expect(await scene.send(first, '3', { isBySocket: true, headers: { 'x-hookspan-delivery': 'three' } })).toBe(
          204,
        )
        const lines = Array.from({ length: 20 }, (_, line) => JSON.stringify({ event: `line ${line}` })).join('\n')
        expect((await scene.ask(first, '/echo', { body: lines })).status).toBe(204)
        expect(scene.spooled).toHaveLength(22)
        return young
      },
    })
    await scene.send(second, '4')
    await until(() => young.told.length === 23)
    expect(young.told.map(({ event, id }) => [event.event, id])).toEqual([
      ['2', OURS],
      ['3', 'three'],
      ...Array.from({ length: 20 }, (_, line) => [`line ${line}`, OURS]),
      ['4', OURS],
    ])
    await until(() => scene.spooled.length === 0)
  })

  test('loses no event that is sent during a handover', async () => {
    const scene = new Scene()
    const sent: string[] = []
    let receiver: Pick<ReceiverServer, 'address'> = await scene.start()
    let isOver = false
    // As a client does: by the door, again where that is closed, in the order in which it fires.
    const client = async (name: string, isBySocket: boolean): Promise<void> => {
      for (let number = 0; !isOver; number++) {
        const event = `${name}-${number}`
        sent.push(event)
        const headers = { 'x-hookspan-delivery': event }
        while ((await scene.send(receiver, event, { isBySocket, headers }).catch(() => 0)) !== 204)
          await Promise.resolve()
      }
    }
    const clients = [client('port', false), client('socket', true)]
    const recorders = [scene.recorder]
    for (const version of ['1.0.1', '1.0.2', '1.0.3']) {
      await until(() => (recorders.at(-1)?.told.length ?? 0) > 10)
      const recorder = new MemoryRecorder()
      receiver = await scene.start({ version, openRecorder: () => Promise.resolve(recorder) })
      recorders.push(recorder)
    }
    isOver = true
    await Promise.all(clients)
    const told = (): string[] => recorders.flatMap(({ names }) => names)
    await until(() => told().length >= sent.length)
    for (const name of ['port', 'socket']) {
      expect(told().filter(each => each.startsWith(name))).toEqual(sent.filter(each => each.startsWith(name)))
    }
  })

  test('accepts clients that wait at the socket when it leaves, and waits for no answer', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const { socket, port } = receiver.address
    const body = '{"event":"hasty"}'
    const request = `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-hookspan-token: ${scene.token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    // All in one turn of the event loop: the system has let them in, and the receiver does not know of them.
    for (let number = 0; number < 40; number++) {
      const hasty = number % 2 === 0 ? connect(socket as string) : connect(port as number, '127.0.0.1')
      hasty.resume().on('error', () => undefined)
      hasty.end(request)
    }
    await receiver.stop()
    expect(scene.recorder.names).toHaveLength(40)
  })

  test('ends by itself after a handover when its sockets are not requested', async () => {
    const scene = new Scene()
    const first = await scene.start({ limits: { startMillis: 30 } })
    const started = scene.begin({ version: '2.0.0', openRecorder: () => Promise.reject(new Error('no disk')) })
    await expect(started).rejects.toThrow('no disk')
    await first.closed
    // And the next one can start.
    const third = await scene.start({ version: '2.0.0', openRecorder: () => Promise.resolve(new MemoryRecorder()) })
    expect(await scene.send(third, 'x')).toBe(204)
  })

  test('is asked for its sockets by the next one after a handover to one that died', async () => {
    const scene = new Scene()
    const first = await scene.start()
    const started = scene.begin({ version: '2.0.0', openRecorder: () => Promise.reject(new Error('no disk')) })
    await expect(started).rejects.toThrow('no disk')
    expect(await scene.send(first, 'meanwhile')).toBe(204)
    scene.recorder = new MemoryRecorder()
    const third = await scene.start({ version: '2.0.0' })
    await first.closed
    expect(third.address).toMatchObject({ port: first.address.port, socket: first.address.socket })
    await until(() => scene.recorder.names.includes('meanwhile'))
  })

  test.each([
    ['as old', { version: '1.0.0' }],
    ['older', { version: '0.9.0' }],
    ['of no version', { version: 7 }],
    ['of nothing', undefined],
  ])('hands over to no process that is %s', async (_, body) => {
    const scene = new Scene()
    const receiver = await scene.start()
    const answer = await scene.ask(receiver, '/v1/replace', { body: body && JSON.stringify(body) })
    expect(answer.status).toBe(409)
    expect((await scene.ask(receiver, '/v1/leave')).status).toBe(409)
    expect(await scene.send(receiver, 'x')).toBe(204)
  })

  test('requires the token to replace or stop it', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    for (const path of ['/v1/replace', '/v1/leave', '/v1/stop']) {
      expect((await scene.ask(receiver, path, { token: null, body: '{"version":"9.0.0"}' })).status).toBe(401)
    }
    expect(await scene.send(receiver, 'x')).toBe(204)
  })

  test('hands over to one of two newer receivers', async () => {
    const scene = new Scene()
    await scene.start()
    const openRecorder = () => Promise.resolve(new MemoryRecorder())
    const started = await Promise.all(['a', 'b', 'c'].map(() => scene.begin({ version: '1.1.0', openRecorder })))
    const receivers = started.flatMap(each => ('receiver' in each ? [each.receiver] : []))
    expect(receivers).toHaveLength(1)
    expect(started.filter(each => 'already' in each)).toHaveLength(2)
    await receivers[0]?.stop()
  })

  test('is reported, with the fix, if it does not answer', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    await receiver.stop()
    // A process that lives holds the lock, and listens nowhere.
    const lock = acquireLock(scene.place.directory, Date.now)
    expect('release' in lock).toBe(true)
    await expect(scene.begin({ limits: { startMillis: 30 } })).rejects.toThrow(
      `a receiver holds ${scene.place.directory} (pid ${process.pid}) and does not answer; stop it with "hookspan serve --stop", or "kill ${process.pid}", and run this again`,
    )
  })
})

describe('the end', () => {
  test('processes received requests, and leaves open turns to the next one', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    scene.recorder.openTurns = 1
    await Promise.all(Array.from({ length: 50 }, (_, number) => scene.send(receiver, String(number))))
    await receiver.stop()
    expect(scene.recorder.told).toHaveLength(50)
    expect(scene.recorder.closings).toEqual(['handover'])
    expect(existsSync(receiver.address.socket ?? '')).toBe(false)
  })

  test('is stopped by /v1/stop', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    expect((await scene.ask(receiver, '/v1/stop')).status).toBe(200)
    await receiver.closed
    expect(scene.recorder.closings).toEqual(['end'])
    const next = await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })
    expect(next.address.port).toBe(receiver.address.port)
  })

  test('exits after idle time without open turns', async () => {
    const scene = new Scene()
    const clock = new FakeClock()
    const receiver = await scene.start({ clock, idleMillis: 900_000 })
    let isClosed = false
    void receiver.closed.then(() => {
      isClosed = true
    })
    scene.recorder.openTurns = 1
    clock.pass(2_000_000)
    expect(await scene.send(receiver, 'still there')).toBe(204)
    scene.recorder.openTurns = 0
    clock.pass(890_000)
    expect(await scene.send(receiver, 'again')).toBe(204)
    clock.pass(890_000)
    expect(isClosed).toBe(false)
    clock.pass(40_000)
    await receiver.closed
    expect(scene.recorder.names).toEqual(['still there', 'again'])
  })
})

describe('deleted files', () => {
  test('recreates the socket and the address', async () => {
    const scene = new Scene()
    const clock = new FakeClock()
    const receiver = await scene.start({ clock })
    // As when its user logs out.
    rmSync(scene.env['XDG_RUNTIME_DIR'] as string, { recursive: true })
    rmSync(join(scene.place.directory, 'address.json'))
    clock.pass(30_000)
    await until(() => readAddress(scene.place) !== undefined)
    expect(readAddress(scene.place)).toEqual(receiver.address)
    expect(await scene.send(receiver, 'x', { isBySocket: true })).toBe(204)
    await receiver.stop()
  })

  test('retries a socket that could not be recreated', async () => {
    const scene = new Scene()
    const clock = new FakeClock()
    const receiver = await scene.start({ clock })
    const [runtime, inState] = [scene.env['XDG_RUNTIME_DIR'] as string, scene.place.sockets[1] as string]
    rmSync(runtime, { recursive: true })
    symlinkSync(join(scene.home, 'nowhere'), runtime)
    mkdirSync(inState)
    clock.pass(30_000)
    await until(() => receiver.address.socket === null)
    clock.pass(30_000)
    await until(() => scene.lines.some(line => line.startsWith('no socket: ')))
    rmSync(runtime)
    rmSync(inState, { recursive: true })
    await until(() => {
      clock.pass(30_000)
      return receiver.address.socket !== null
    })
    expect(scene.lines.filter(line => line.startsWith('no socket: '))).toHaveLength(1)
    expect(await scene.send(receiver, 'x', { isBySocket: true })).toBe(204)
    await receiver.stop()
  })

  test('ends without its directory, and another may begin', async () => {
    const scene = new Scene()
    const clock = new FakeClock()
    const receiver = await scene.start({ clock })
    rmSync(scene.place.directory, { recursive: true })
    clock.pass(30_000)
    await receiver.closed
    expect(scene.lines).toContain(`${scene.place.directory} is gone, or belongs to another receiver: this one exits`)
    expect(await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })).toBeDefined()
  })

  test("sends no question and no token to a process that listens at a dead one's address", async () => {
    const scene = new Scene()
    await (await scene.start()).stop()
    let asked = 0
    const stranger = createServer(socket => {
      asked++
      socket.destroy()
    })
    afterwards(() => stranger.close())
    await new Promise<void>(resolve => stranger.listen(0, '127.0.0.1', resolve))
    const { port } = stranger.address() as { port: number }
    const left = { pid: 2 ** 31 - 1, startedAt: 1, version: '1.0.0', socket: null, port }
    writeFileSync(join(scene.place.directory, 'address.json'), JSON.stringify(left), { mode: 0o600 })
    // A process that lives holds the lock, and has not said yet where it listens.
    acquireLock(scene.place.directory, Date.now)
    await expect(scene.begin({ limits: { startMillis: 30 } })).rejects.toThrow(/does not answer/)
    expect(await findRunning(scene.place)).toBeUndefined()
    expect(asked).toBe(0)
  })
})

describe('the lock', () => {
  const files = ({ place }: Scene): string[] => readdirSync(place.directory).filter(name => name.startsWith('lock.'))

  test('is free if its process is dead', async () => {
    const scene = new Scene()
    await (await scene.start()).stop()
    const { place } = systemProbes.self
    // A pid that was given again; one that nobody has; none at all.
    for (const owner of [`${place}-${process.pid}-1`, `${place}-2147483647-5`, 'nonsense']) {
      writeFileSync(join(scene.place.directory, files(scene)[0] as string), owner)
      const receiver = await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })
      await receiver.stop()
    }
    expect(files(scene)).toEqual(['lock.4'])
  })

  test('is awaited while it is being written: its creator may be suspended before it writes its id', () => {
    const scene = new Scene()
    const file = join(scene.home, 'lock.1')
    writeFileSync(file, '')
    let looks = 0
    const now = (): number => {
      looks++
      if (looks === 3) writeFileSync(file, ownerToken(systemProbes.self))
      return Date.now()
    }
    expect(acquireLock(scene.home, now)).toEqual(systemProbes.self)
    expect(looks).toBe(3)
  })

  test('is free if it is still empty when its creator must have died', () => {
    const scene = new Scene()
    writeFileSync(join(scene.home, 'lock.1'), '')
    const later = (): number => Date.now() + 60_000
    expect(acquireLock(scene.home, later)).toHaveProperty('release')
    expect(acquireLock(scene.home, later)).toMatchObject({ pid: process.pid })
  })

  test('is not followed if it is a link', async () => {
    const scene = new Scene()
    await (await scene.start()).stop()
    symlinkSync('/etc/hostname', join(scene.place.directory, 'lock.9'))
    await expect(scene.begin()).rejects.toThrow(/lock\.9: it is a symbolic link, which hookspan does not follow/)
  })
})

test.each([
  ['1.0.1', '1.0.0', true],
  ['1.10.0', '1.9.9', true],
  ['2.0.0', '1.99.99', true],
  ['1.0.0', '1.0.0-rc.1', true],
  ['1.0.0-rc.10', '1.0.0-rc.9', true],
  ['1.0.0', '1.0.0', false],
  ['1.0.0', '1.0.1', false],
  ['1.0.0-rc.1', '1.0.0', false],
  ['latest', '1.0.0', false],
  ['1.0.0', 'none', false],
])('compares versions: %s is newer than %s: %s', (one, other, expected) => {
  expect(isNewer(one, other)).toBe(expected)
})

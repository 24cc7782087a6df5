import { spawn } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { runningAddress } from '../../src/receiver/forwarder/forward.ts'
import {
  createReceiverFolders,
  ensureToken,
  type ReceiverFiles,
  readAddress,
} from '../../src/receiver/receiver-files.ts'
import { afterwards } from '../support/afterwards.ts'
import { times } from '../support/sample.ts'
import { MemoryRecorder, Scene } from './scene.ts'

/** A program of somebody else. */
async function listens(where: { port: number; host: string } | { path: string }): Promise<Server> {
  const server = createServer()
  afterwards(() => new Promise(resolve => server.close(resolve)))
  await new Promise<void>(resolve => server.listen(where, resolve))
  return server
}

/** Undefined where somebody has removed it meanwhile. */
function tokenIn(place: ReceiverFiles): string | undefined {
  try {
    return ensureToken(place, () => undefined)
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('ENOENT'))) throw error
    return undefined
  }
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port
}

test('has a port and no socket on Windows, and clients use the port', async () => {
  const { platform } = process
  const pretend = (value: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value })
  pretend('win32')
  afterwards(() => pretend(platform))
  const scene = new Scene()
  const started = await scene.start()
  const address = readAddress(scene.place)
  expect(address).toMatchObject({ socket: null, port: expect.any(Number) })
  expect(runningAddress(scene.place).to).toEqual({ host: '127.0.0.1', port: address?.port })
  expect(scene.lines).toEqual([])
  await started.stop()
})

describe('the token', () => {
  const put = (scene: Scene): string => {
    mkdirSync(scene.place.directory, { recursive: true, mode: 0o700 })
    return join(scene.place.directory, 'token')
  }

  test('differs for each user, and stays the same', async () => {
    const [one, other] = [new Scene(), new Scene()]
    await (await one.start()).stop()
    await (await other.start()).stop()
    const { token } = one
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    expect(other.token).not.toBe(token)
    await (await one.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })).stop()
    expect(one.token).toBe(token)
  })

  test('is never half written, even if two start at once', async () => {
    const { place } = new Scene()
    createReceiverFolders(place, () => undefined)
    const looks = new Worker(
      `const { readFileSync, unlinkSync } = require('node:fs')
      const { workerData, parentPort } = require('node:worker_threads')
      let halves = 0
      for (let whole = 0; whole < ${times(60, 200)}; ) {
        let text
        try { text = readFileSync(workerData, 'utf8') } catch { continue }
        if (text.length < 65) halves++
        else { whole++; unlinkSync(workerData) }
      }
      parentPort.postMessage(halves)`,
      { eval: true, workerData: place.token },
    )
    let halves: number | undefined
    looks.once('message', seen => {
      halves = seen
    })
    while (halves === undefined) {
      // Another one may have gone since it was looked for: then there is none.
      for (let time = 0; time < 50; time++) tokenIn(place)
      await new Promise(setImmediate)
    }
    expect(halves).toBe(0)
  })

  test('is not read if it is a link, and nothing is started', async () => {
    const scene = new Scene()
    writeFileSync(join(scene.home, 'elsewhere'), 'a'.repeat(64))
    symlinkSync(join(scene.home, 'elsewhere'), put(scene))
    await expect(scene.begin()).rejects.toThrow(
      /token: it is a symbolic link, which hookspan does not follow here; move it away$/,
    )
  })

  test('is not created through a link to nothing', async () => {
    const scene = new Scene()
    symlinkSync(join(scene.home, 'elsewhere'), put(scene))
    await expect(scene.begin()).rejects.toThrow(/token: it is a symbolic link/)
    expect(() => lstatSync(join(scene.home, 'elsewhere'))).toThrow(/ENOENT/)
  })

  test('is invalid if written by hand', async () => {
    const scene = new Scene()
    writeFileSync(put(scene), 'secret')
    await expect(scene.begin()).rejects.toThrow(/token is not a token that hookspan wrote; delete it/)
  })

  test('loses the read permission of others, with a report', async () => {
    const scene = new Scene()
    writeFileSync(put(scene), 'a'.repeat(64), { mode: 0o644 })
    await scene.start()
    expect(statSync(join(scene.place.directory, 'token')).mode & 0o777).toBe(0o600)
    expect(scene.lines).toEqual([
      `others could read ${scene.place.directory}/token; its permissions are restricted now. If this machine has other users, delete it, and run "hookspan init" for your agents again`,
    ])
  })
})

describe('the directory', () => {
  test('loses the write permission of others', async () => {
    const scene = new Scene()
    mkdirSync(scene.place.directory, { recursive: true })
    chmodSync(scene.place.directory, 0o777)
    await scene.start()
    expect(statSync(scene.place.directory).mode & 0o777).toBe(0o700)
    expect(scene.lines.join()).toMatch(/other users could write to .*receiver; its mode is 700 now/)
  })

  test('may not be a file', async () => {
    const scene = new Scene()
    mkdirSync(dirname(scene.place.directory), { recursive: true })
    writeFileSync(scene.place.directory, '')
    await expect(scene.begin()).rejects.toThrow(/receiver cannot be used: /)
  })

  test('may not belong to a missing user', async () => {
    const scene = new Scene()
    await expect(scene.begin({ env: {}, home: '' })).rejects.toThrow(
      'there is no home directory; set XDG_STATE_HOME to a directory of yours',
    )
  })
})

describe('the socket', () => {
  const path = ({ home }: Scene): string => join(home, 'r/hookspan/receiver.sock')
  const own = ({ place }: Scene): string => join(place.directory, 'receiver.sock')

  test('is created anew after a killed receiver', async () => {
    const scene = new Scene()
    mkdirSync(dirname(path(scene)), { recursive: true, mode: 0o700 })
    const program = `require('net').createServer().listen(${JSON.stringify(path(scene))}, () => process.kill(process.pid, 'SIGKILL'))`
    const killed = spawn(process.execPath, ['-e', program], { stdio: 'ignore' })
    await new Promise(resolve => killed.once('close', resolve))
    expect(lstatSync(path(scene)).isSocket()).toBe(true)
    const receiver = await scene.start()
    expect(receiver.address.socket).toBe(path(scene))
    expect(await scene.send(receiver, 'x', { isBySocket: true })).toBe(204)
    expect(scene.lines).toEqual([])
  })

  test.each<[string, (path: string, scene: Scene) => void, RegExp]>([
    [
      'a link',
      (at, { home }) => symlinkSync(join(home, 'elsewhere'), at),
      /is a symbolic link, which hookspan did not put/,
    ],
    ['a file', at => writeFileSync(at, 'mine'), /is no socket, which hookspan did not put there; move it away/],
  ])('is left alone if it is %s; there is a second path', async (_, put, line) => {
    const scene = new Scene()
    mkdirSync(dirname(path(scene)), { recursive: true, mode: 0o700 })
    put(path(scene), scene)
    const receiver = await scene.start()
    expect(receiver.address.socket).toBe(own(scene))
    expect(await scene.send(receiver, 'x', { isBySocket: true })).toBe(204)
    expect(scene.lines.join()).toMatch(line)
    await receiver.stop()
    expect(lstatSync(path(scene)).isSocket()).toBe(false)
  })

  test('is left to another receiver', async () => {
    const scene = new Scene()
    const first = await scene.start()
    const env = { ...scene.env, XDG_STATE_HOME: join(scene.home, 'other') }
    const second = await scene.start({ env, openRecorder: () => Promise.resolve(new MemoryRecorder()) })
    expect(second.address.socket).toBe(join(scene.home, 'other/hookspan/receiver/receiver.sock'))
    expect(await scene.send(first, 'x', { isBySocket: true })).toBe(204)
    await second.stop()
    expect(await scene.send(first, 'x', { isBySocket: true })).toBe(204)
  })

  test('is not created if its path is too long; the port exists all the same', async () => {
    const scene = new Scene()
    const deep = join(scene.home, 'd'.repeat(100))
    const env = { XDG_RUNTIME_DIR: deep, XDG_STATE_HOME: deep }
    Object.assign(scene.env, env)
    const receiver = await scene.start()
    expect(receiver.address.socket).toBeNull()
    expect(await scene.send(receiver, 'x')).toBe(204)
    expect(scene.lines).toHaveLength(1)
    expect(scene.lines[0]).toMatch(
      /^no socket: .* bytes long, and a socket's path may have 10[37]; set XDG_RUNTIME_DIR to a shorter one.*Agents reach this receiver by its port alone$/,
    )
  })

  test('falls back to the state directory without a runtime directory', async () => {
    const scene = new Scene()
    for (const runtime of ['', 'relative', '/proc/nowhere']) {
      scene.env['XDG_RUNTIME_DIR'] = runtime
      const receiver = await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })
      expect(receiver.address.socket).toBe(own(scene))
      await receiver.stop()
    }
  })
})

test("is closed to another user's process, as is the token, and the port requires the token", async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  // All that is not ours to protect lies open.
  for (const path of [scene.home, join(scene.home, 's'), join(scene.home, 's/hookspan'), join(scene.home, 'r')]) {
    chmodSync(path, 0o755)
  }
  const { socket, port } = receiver.address
  const program = `
    const tell = answer => console.log(answer)
    try { tell(require('fs').readFileSync(${JSON.stringify(join(scene.place.directory, 'token'))}, 'utf8')) } catch (error) { tell(error.code) }
    require('net').connect(${JSON.stringify(socket)}).on('connect', () => tell('connected')).on('error', error => tell(error.code)).on('close', () =>
      require('http').request({ host: '127.0.0.1', port: ${port}, path: '/echo', method: 'POST', agent: false }, answer => answer.on('end', () => tell(answer.statusCode)).resume()).end('{}'))`
  // Without being root nobody can be another user: then only the modes are looked at.
  const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...other,
    env: {},
  })
  afterwards(() => child.kill())
  const stdout = await text(child.stdout)
  const modes = [scene.place.directory, dirname(socket as string)].map(path => statSync(path).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700])
  if (other !== undefined) expect(stdout).toBe('EACCES\nEACCES\n401\n')
})

describe('the port', () => {
  test('is the same the next time', async () => {
    const scene = new Scene()
    const first = await scene.start()
    await first.stop()
    const second = await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })
    expect(second.address.port).toBe(first.address.port)
  })

  test('may be taken although it was configured', async () => {
    const scene = new Scene()
    const port = portOf(await listens({ port: 0, host: '127.0.0.1' }))
    await expect(scene.begin({ port, limits: { patienceMillis: 0 } })).rejects.toThrow(
      `port ${port} cannot be used: another program listens there; choose another with --port, or 0 for any`,
    )
    // Nothing of it is left behind.
    expect(scene.recorder.closings).toEqual(['handover'])
    expect(await scene.start({ openRecorder: () => Promise.resolve(new MemoryRecorder()) })).toBeDefined()
  })

  test('may be taken by another program since the last time', async () => {
    const scene = new Scene()
    const port = portOf(await listens({ port: 0, host: '127.0.0.1' }))
    mkdirSync(scene.place.directory, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.place.directory, 'port'), `${port}\n`, { mode: 0o600 })
    const receiver = await scene.start({ limits: { patienceMillis: 0 } })
    expect(receiver.address.port).not.toBe(port)
    expect(scene.lines).toHaveLength(1)
    expect(scene.lines[0]).toMatch(
      new RegExp(
        `^port ${port}, which agents may be configured with, cannot be used: another program listens there.* has ${receiver.address.port}`,
      ),
    )
    expect(readFileSync(join(scene.place.directory, 'port'), 'utf8')).toBe(`${receiver.address.port}\n`)
  })
})

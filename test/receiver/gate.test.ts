import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { ReceiverAdapter } from '../../src/agents/receiver-adapter.ts'
import type { Address } from '../../src/receiver/receiver-files.ts'
import type { Health } from '../../src/receiver/running-receiver.ts'
import { until } from '../support/until.ts'
import { type Asked, ECHO, plug, Scene, untilClosed } from './scene.ts'

test('answers an event without a body, and records it', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  const answer = await scene.ask(receiver, '/echo', { body: '{"event":"prompted","data":{"n":1}}' })
  expect(answer).toMatchObject({ status: 204, text: '' })
  await until(() => scene.recorder.told.length === 1)
  expect(scene.recorder.told[0]).toMatchObject({ host: 'echo', event: { event: 'prompted', data: { n: 1 } } })
})

test('accepts events by the private socket and by the port', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  expect(receiver.address.socket).toBe(join(scene.home, 'r/hookspan/receiver.sock'))
  expect(statSync(receiver.address.socket as string).mode & 0o777).toBe(0o600)
  expect(statSync(join(scene.place.directory, 'token')).mode & 0o777).toBe(0o600)
  expect(await scene.send(receiver, 'one', { isBySocket: true, headers: { host: 'whatever' } })).toBe(204)
  await until(() => scene.recorder.names.includes('one'))
})

test('writes its address to the agreed file, and removes it at the end', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  const file = join(scene.place.directory, 'address.json')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...receiver.address, version: '1.0.0', pid: process.pid })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await receiver.stop()
  expect(() => readFileSync(file)).toThrow(/ENOENT/)
})

test('writes its process id to the agreed file, and removes it at the end', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  const file = join(scene.place.directory, 'pid')
  expect(readFileSync(file, 'utf8')).toBe(`${process.pid}\n`)
  await receiver.stop()
  expect(existsSync(file)).toBe(false)
})

test('allows the next start at once when it exits', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  writeFileSync(scene.place.starting, '\n')
  await receiver.stop()
  expect(existsSync(scene.place.starting)).toBe(false)
})

test.each<[string | undefined, Record<string, string>]>([
  [undefined, {}],
  ['full', { HOOKSPAN_CONTENT_CAPTURE: 'full' }],
  ['full', { HOOKSPAN_CAPTURE_CONVERSATION_HISTORY: 'true' }],
])('informs senders whether all of it is kept: %s with %j', async (expected, env) => {
  const scene = new Scene()
  Object.assign(scene.env, env)
  await scene.start()
  const address = JSON.parse(readFileSync(join(scene.place.directory, 'address.json'), 'utf8')) as Address
  expect(address.content_capture).toBe(expected)
})

test('accepts the token as the first part of the path', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  const answer = await scene.ask(receiver, `/t/${scene.token}/echo?x=1`, { body: '{"event":"x"}', token: null })
  expect(answer.status).toBe(204)
})

test('reports its state at /healthz', async () => {
  const scene = new Scene()
  const receiver = await scene.start()
  scene.recorder.openTurns = 3
  await scene.send(receiver, 'x')
  await scene.send(receiver, 'x', { token: 'wrong' })
  const { status, text } = await scene.ask(receiver, '/healthz', { method: 'GET' })
  expect(status).toBe(200)
  expect(JSON.parse(text)).toMatchObject({
    version: '1.0.0',
    pid: process.pid,
    openTurns: 3,
    counts: { requests: 3, deliveries: 1, refused: { token: 1 } },
  })
})

describe('the checks of a request, with counts', () => {
  const TOO_LONG = 'x'.repeat(2000)
  test.each<[string, string, Asked, number, string]>([
    ['a missing token', '/echo', { token: null }, 401, 'token'],
    ['a wrong token', '/echo', { token: 'f'.repeat(64) }, 401, 'token'],
    ['a token that is too short', '/echo', { token: 'f' }, 401, 'token'],
    ['a token that is no ASCII', '/echo', { token: 'é'.repeat(64) }, 401, 'token'],
    ['a wrong token in the path', `/t/${'f'.repeat(64)}/echo`, {}, 401, 'token'],
    ['an unknown path without a token', '/nothing', { token: null }, 401, 'token'],
    ['another Host', '/echo', { headers: { host: 'evil.example' } }, 403, 'host'],
    ['our address on another port', '/echo', { headers: { host: '127.0.0.1:1' } }, 403, 'host'],
    ['a page of another origin', '/echo', { headers: { origin: 'https://evil.example' } }, 403, 'origin'],
    ['a page that hides its origin', '/echo', { headers: { origin: 'null' } }, 403, 'origin'],
    ['a browser', '/echo', { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'origin'],
    ['a preflight request', '/echo', { method: 'OPTIONS', headers: { origin: 'x' }, body: '' }, 403, 'origin'],
    ['a name that begins like ours', '/echo', { headers: { host: 'localhost.evil.example' } }, 403, 'host'],
    ['a client that is newer', '/echo', { headers: { 'x-hookspan-client': '1.0.1' } }, 426, 'older'],
    ['GET', '/echo', { method: 'GET' }, 405, 'method'],
    ['PUT', '/healthz', { method: 'PUT' }, 405, 'method'],
    ['an unknown path', '/nothing', {}, 404, 'path'],
    ['a path up the directories', '/../echo', {}, 404, 'path'],
    ['the name of a property', '/__proto__', {}, 404, 'path'],
    ['truncated JSON', '/echo', { body: '{"event":"x"' }, 400, 'json'],
    ['invalid JSON', '/echo', { body: 'hello' }, 400, 'json'],
    ['an empty body', '/echo', { body: '' }, 400, 'json'],
    ['a truncated line', '/echo', { body: '{"event":"x"}\n{"event":' }, 400, 'json'],
    ['a long body', '/echo', { body: TOO_LONG }, 413, 'size'],
    ['a long body in pieces', '/echo', { body: TOO_LONG, headers: { 'transfer-encoding': 'chunked' } }, 413, 'size'],
    [
      'a body that is long when inflated',
      '/echo',
      { body: gzipSync(TOO_LONG), headers: { 'content-encoding': 'gzip' } },
      413,
      'size',
    ],
    ['invalid gzip', '/echo', { body: '{}', headers: { 'content-encoding': 'gzip' } }, 400, 'gzip'],
    ['another encoding', '/echo', { body: '{}', headers: { 'content-encoding': 'br' } }, 415, 'encoding'],
  ])('rejects %s', async (_, path, asked, status, why) => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { bodyBytes: 1000 } })
    const answer = await scene.ask(receiver, path, {
      body: asked.method === 'GET' ? undefined : '{"event":"x"}',
      ...asked,
    })
    expect(answer).toMatchObject({ status, text: '' })
    expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([])
    expect(receiver.counts.refused).toEqual({ [why]: 1 })
    // It is as it was before, and nothing of that came through.
    expect(await scene.send(receiver, 'after')).toBe(204)
    await until(() => scene.recorder.told.length > 0)
    expect(scene.recorder.names).toEqual(['after'])
  })

  test('accepts each of our names', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const { port } = receiver.address
    for (const name of ['127.0.0.1', 'localhost', 'LocalHost', '[::1]']) {
      expect(await scene.send(receiver, name, { headers: { host: `${name}:${port}` } })).toBe(204)
      expect(await scene.send(receiver, name, { headers: { host: name } })).toBe(204)
    }
  })

  test('limits the memory of a gzip bomb', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { bodyBytes: 100_000 } })
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    expect(bomb.length).toBeLessThan(100_000)
    const answer = await scene.ask(receiver, '/echo', { body: bomb, headers: { 'content-encoding': 'gzip' } })
    expect(answer.status).toBe(413)
    expect(await scene.send(receiver, 'after')).toBe(204)
  })

  test('rejects gzip that ends too early', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const body = gzipSync('{"event":"x"}').subarray(0, -6)
    const answer = await scene.ask(receiver, '/echo', { body, headers: { 'content-encoding': 'gzip' } })
    expect(answer.status).toBe(400)
    expect(receiver.counts.refused).toEqual({ gzip: 1 })
  })

  test('rejects more values than memory should be spent on', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { values: 1000 } })
    const brackets = `[${'[],'.repeat(400_000)}[]]`
    expect((await scene.ask(receiver, '/echo', { body: brackets })).status).toBe(413)
    // As long, but one text, with all that in it.
    const text = JSON.stringify({ event: 'long', data: `${brackets}"\\` })
    expect((await scene.ask(receiver, '/echo', { body: text })).status).toBe(204)
  })

  test('rejects deep JSON', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const body = `{"event":"deep","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await scene.ask(receiver, '/echo', { body })).status).toBe(204)
    await until(() => scene.recorder.names.includes('deep'))
  })

  test('rejects more events in a second than the limit', async () => {
    const scene = new Scene()
    let now = 1_795_256_100_000
    const clock = { now: () => now, every: () => () => undefined }
    const receiver = await scene.start({ clock, limits: { eventsPerSecond: 3 } })
    const statuses = []
    for (const name of ['1', '2', '3', '4']) statuses.push(await scene.send(receiver, name))
    expect(statuses).toEqual([204, 204, 204, 503])
    now += 1000
    const lines = '{"event":"5"}\n{"event":"6"}\n{"event":"7"}\n'
    expect((await scene.ask(receiver, '/echo', { body: lines })).status).toBe(204)
    expect(await scene.send(receiver, '8')).toBe(503)
    expect(receiver.counts.refused).toEqual({ rate: 2 })
    await until(() => scene.recorder.told.length === 6)
  })

  test('rejects more at once than memory allows', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { bytesAtOnce: 1000 } })
    const first = await plug(receiver)
    first.write(
      `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${receiver.address.port}\r\nx-hookspan-token: ${scene.token}\r\n`,
    )
    first.write(`content-length: 900\r\n\r\n${'x'.repeat(899)}`)
    await until(async () => (await scene.send(receiver, 'x'.repeat(200))) === 503)
    expect(receiver.counts.refused).toEqual({ busy: 1 })
    first.destroy()
    await until(async () => (await scene.send(receiver, 'y'.repeat(200))) === 204)
    expect(receiver.counts.refused).toMatchObject({ busy: expect.any(Number), cutOff: 1 })
  })
})

describe('a connection', () => {
  test('closes a connection without a request', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { headersMillis: 20, requestMillis: 30, checkMillis: 5 } })
    expect(await untilClosed(await plug(receiver))).toContain('408')
    expect(receiver.counts.refused).toEqual({ slow: 1 })
    // With so little patience it may take several attempts on a busy machine.
    await until(async () => (await scene.send(receiver, 'after').catch(() => 0)) === 204)
  })

  test.each([
    ['in the headers', 'POST /echo HTTP/1.1\r\nhost: x'],
    [
      'in the body',
      (token: string, port: number) =>
        `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-hookspan-token: ${token}\r\ncontent-length: 50\r\n\r\n{`,
    ],
    [
      'in a body that is refused',
      (_: string, port: number) => `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 50\r\n\r\n{`,
    ],
  ])('is closed if its client stops %s', async (_, begun) => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { headersMillis: 20, requestMillis: 30, checkMillis: 5 } })
    const socket = await plug(receiver)
    socket.write(typeof begun === 'string' ? begun : begun(scene.token, receiver.address.port as number))
    await untilClosed(socket)
    expect(receiver.counts.refused).toMatchObject({ slow: 1 })
    // With so little patience it may take several attempts on a busy machine.
    await until(async () => (await scene.send(receiver, 'after').catch(() => 0)) === 204)
  })

  test('is closed if it does not send HTTP', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const socket = await plug(receiver)
    socket.write('\u0016\u0003\u0001 hello\r\n\r\n')
    expect(await untilClosed(socket)).toContain('400')
    expect(receiver.counts.refused).toEqual({ request: 1 })
  })

  test('is closed if its headers are too long', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    await scene.ask(receiver, '/echo', { headers: { long: 'x'.repeat(20_000) } }).catch(() => undefined)
    expect(receiver.counts.refused).toEqual({ request: 1 })
    expect(await scene.send(receiver, 'after')).toBe(204)
  })

  test('is closed above the limit, and the socket stays open', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { connections: 5 } })
    const sockets = await Promise.all(Array.from({ length: 50 }, () => plug(receiver)))
    await until(() => receiver.counts.refused.connections === 45)
    expect(await scene.send(receiver, 'by the socket', { isBySocket: true })).toBe(204)
    for (const socket of sockets) socket.destroy()
    await until(async () => (await scene.send(receiver, 'after').catch(() => 0)) === 204)
  })

  test('is closed if it has more requests than are answered at once', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { requestsPerConnection: 2 } })
    const socket = await plug(receiver)
    const head = `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${receiver.address.port}\r\nx-hookspan-token: ${scene.token}\r\n`
    // What is inflated takes a moment, in which the next one comes.
    const body = gzipSync('{"event":"x"}')
    const one = Buffer.concat([
      Buffer.from(`${head}content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`),
      body,
    ])
    socket.write(Buffer.concat(Array.from({ length: 5 }, () => one)))
    socket.end()
    const answers = await untilClosed(socket)
    expect(answers.match(/HTTP\/1\.1 \d+/g)?.sort()).toEqual([
      'HTTP/1.1 204',
      'HTTP/1.1 204',
      'HTTP/1.1 503',
      'HTTP/1.1 503',
      'HTTP/1.1 503',
    ])
  })

  test.each([
    ['small', 10],
    ['large', 3_000_000],
  ])('is read to the end if its client writes and leaves (%s)', async (_, size) => {
    const scene = new Scene()
    const receiver = await scene.start()
    const body = Buffer.from(JSON.stringify({ event: 'gone', data: 'x'.repeat(size) }))
    for (const packed of [false, true]) {
      const sent = packed ? gzipSync(body) : body
      const socket = await plug(receiver)
      const head = `POST /echo HTTP/1.1\r\nhost: 127.0.0.1:${receiver.address.port}\r\nx-hookspan-token: ${scene.token}\r\n`
      socket.write(`${head}${packed ? 'content-encoding: gzip\r\n' : ''}content-length: ${sent.length}\r\n\r\n`)
      socket.write(sent, () => socket.destroy())
    }
    await until(() => scene.recorder.told.length === 2)
  })
})

describe('a delivery', () => {
  test('counts once when repeated', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const headers = { 'x-hookspan-delivery': 'd1' }
    const statuses = [await scene.send(receiver, 'a', { headers }), await scene.send(receiver, 'a', { headers })]
    await scene.send(receiver, 'b')
    await until(() => scene.recorder.names.includes('b'))
    expect(statuses).toEqual([204, 204])
    expect(scene.recorder.names).toEqual(['a', 'b'])
    expect(receiver.counts.duplicates).toBe(1)
    expect(scene.recorder.told[0]?.id).toBe('d1')
  })

  test('is remembered for a while, not for ever', async () => {
    const scene = new Scene()
    const receiver = await scene.start({ limits: { deliveries: 2 } })
    for (const id of ['1', '2', '3', '1']) await scene.send(receiver, id, { headers: { 'x-hookspan-delivery': id } })
    await until(() => scene.recorder.told.length === 4)
    expect(receiver.counts.duplicates).toBe(0)
  })

  test('may be repeated after a rejection', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const headers = { 'x-hookspan-delivery': 'd1' }
    expect(await scene.send(receiver, '', { body: '{"ev', headers })).toBe(400)
    expect(await scene.send(receiver, 'whole', { headers })).toBe(204)
    await until(() => scene.recorder.names.includes('whole'))
  })

  test('is several events for several lines, in order, with an id each', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    const body = gzipSync('{"event":"a"}\n\n{"event":"b","data":NaN}\r\n{"event":"c\u2028"}')
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip', 'x-hookspan-delivery': 'd' }
    expect((await scene.ask(receiver, '/echo', { body, headers })).status).toBe(204)
    await until(() => scene.recorder.told.length === 3)
    expect(scene.recorder.told.map(({ id, event }) => [id, event.event, event.data])).toEqual([
      ['d', 'a', undefined],
      ['d/1', 'b', null],
      ['d/2', 'c\u2028', undefined],
    ])
  })

  test.each([
    ['plausible', '1795256000000', 1_795_256_000_000],
    ['missing', undefined, 1_795_256_100_000],
    ['of next year', '1900000000000', 1_795_256_100_000],
    ['of no clock', '12', 1_795_256_100_000],
    ['of another type', 'now', 1_795_256_100_000],
  ])('has the time of its hook if it is plausible: %s', async (_, at, expected) => {
    const scene = new Scene()
    const clock = { now: () => 1_795_256_100_000, every: () => () => undefined }
    const receiver = await scene.start({ clock })
    await scene.send(receiver, 'x', { headers: at === undefined ? {} : { 'x-hookspan-at': at } })
    await until(() => scene.recorder.told.length === 1)
    expect(scene.recorder.told[0]?.event.at).toBe(expected)
  })

  test('passes headers to the adapter, without secrets', async () => {
    const scene = new Scene()
    const found: unknown[] = []
    const adapter: ReceiverAdapter = {
      events: ({ headers }) => {
        found.push(headers)
        return []
      },
    }
    const receiver = await scene.start({ endpoints: { '/echo': { host: 'echo', adapter } } })
    await scene.send(receiver, 'x', { headers: { 'X-Agent': 'a', authorization: 'Bearer b', cookie: 'c' } })
    await until(() => found.length === 1)
    expect(found[0]).toMatchObject({ 'x-agent': 'a' })
    expect(Object.keys(found[0] as object)).not.toEqual(expect.arrayContaining(['x-hookspan-token']))
    expect(Object.keys(found[0] as object).filter(name => /authorization|cookie|token/.test(name))).toEqual([])
  })

  test('is dropped alone if its adapter cannot read it, and is reported once', async () => {
    const scene = new Scene()
    const receiver = await scene.start()
    for (const body of ['null', '1', '{"event":"fine"}']) await scene.ask(receiver, '/echo', { body })
    const adapter = {
      events: () => {
        throw new TypeError('secret')
      },
    }
    expect(ECHO.adapter.events({ body: null, headers: {}, at: 1 })).toEqual([{ at: 1 }])
    await receiver.stop()
    const second = await scene.start({ endpoints: { '/echo': { host: 'echo', adapter } } })
    for (const name of ['a', 'b']) expect(await scene.send(second, name)).toBe(204)
    await until(() => second.counts.unreadable === 2)
    expect(scene.lines).toEqual(['echo: an event could not be read (a TypeError); the trace lacks it'])
  })
})

describe('a signature', () => {
  const BODY = '{"event":"signed"}'
  const signed = (secret: string): Record<string, string> => ({
    'x-hermes-signature-256': `sha256=${createHmac('sha256', secret).update(BODY).digest('hex')}`,
  })

  async function withSecret(): Promise<[Scene, Awaited<ReturnType<Scene['start']>>]> {
    const scene = new Scene()
    mkdirSync(scene.place.directory, { recursive: true, mode: 0o700 })
    writeFileSync(join(scene.place.directory, 'echo-secret'), 'agreed\n', { mode: 0o600 })
    return [scene, await scene.start()]
  }

  test('requires a signature of senders with the token in the path, if a secret is set', async () => {
    const [scene, receiver] = await withSecret()
    const path = `/t/${scene.token}/echo`
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await scene.ask(receiver, path, { body: BODY, token: null, headers })).status
    expect(await status(signed('agreed'))).toBe(204)
    expect(await status(signed('another'))).toBe(401)
    expect(await status({})).toBe(401)
    expect(await status({ 'x-hermes-signature-256': 'é' })).toBe(401)
    expect(receiver.counts.refused).toEqual({ signature: 3 })
    // Our own clients do not sign.
    expect((await scene.ask(receiver, '/echo', { body: BODY })).status).toBe(204)
  })

  test('uses the current secret, if there is one', async () => {
    const [scene, receiver] = await withSecret()
    const file = join(scene.place.directory, 'echo-secret')
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await scene.ask(receiver, `/t/${scene.token}/echo`, { body: BODY, token: null, headers })).status
    writeFileSync(file, 'another\n')
    expect([await status(signed('agreed')), await status(signed('another'))]).toEqual([401, 204])
    rmSync(file)
    expect(await status({})).toBe(204)
  })

  test('refuses all requests if the secret cannot be read, and reports it once', async () => {
    const scene = new Scene()
    mkdirSync(scene.place.directory, { recursive: true, mode: 0o700 })
    symlinkSync('/etc/hostname', join(scene.place.directory, 'echo-secret'))
    const receiver = await scene.start()
    const asked = { body: BODY, token: null, headers: signed('') }
    for (const _ of [1, 2]) expect((await scene.ask(receiver, `/t/${scene.token}/echo`, asked)).status).toBe(401)
    expect(scene.lines.filter(line => /echo-secret: it is a symbolic link/.test(line))).toHaveLength(1)
  })
})

test('includes its last lines in its health', async () => {
  const scene = new Scene()
  const receiver = await scene.start({
    openRecorder: ({ report }) => {
      report.warn('something is wrong')
      return Promise.resolve(scene.recorder)
    },
  })
  const { text } = await scene.ask(receiver, '/healthz', { method: 'GET' })
  expect((JSON.parse(text) as Health).lines).toEqual(['something is wrong'])
})

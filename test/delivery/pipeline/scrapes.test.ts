import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { afterEach, expect, test, vi } from 'vitest'
import { PrometheusEndpoint, type ScrapeLimits } from '../../../src/delivery/pipeline/prometheus.ts'
import { freePort, Lines } from './pipeline-fixture.ts'

/** More than the buffers of two sockets take of one who does not read. */
const LARGE = 24 * 1024 * 1024
const SCRAPE = 'GET /metrics HTTP/1.1\r\nhost: test\r\n\r\n'

const cleanups: (() => void)[] = []

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup()
})

async function open(limits: Partial<ScrapeLimits> = {}) {
  const lines = new Lines()
  const port = await freePort()
  const all = { connections: 16, series: 50_000, clientMillis: 600_000, ...limits }
  const endpoint = new PrometheusEndpoint({ host: '127.0.0.1', port }, lines, all)
  cleanups.push(() => endpoint.close())
  const meter = new MeterProvider({ readers: [endpoint.reader] }).getMeter('test')
  const collect = vi.spyOn(endpoint.reader, 'collect')
  const url = `http://127.0.0.1:${port}/metrics`
  await listening(port)
  return { endpoint, lines, meter, collect, url, port, client: () => client(port) }
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    if (!isUp) continue
    socket.destroy()
    return
  }
}

/** A connection that is told what it says, and of which nothing is read. */
async function client(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  cleanups.push(() => socket.destroy())
  socket.pause()
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

function closed(socket: Socket): Promise<unknown> {
  socket.resume()
  return socket.closed ? Promise.resolve() : once(socket, 'close')
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate)
}

test('shares one answer among concurrent clients', async () => {
  const { endpoint, meter, collect, url } = await open()
  meter.createCounter('calls').add(7)
  const asked = vi.fn()
  subscribe('http.server.request.start', asked)
  cleanups.push(() => unsubscribe('http.server.request.start', asked))
  collect.mockImplementationOnce(async () => {
    await until(() => asked.mock.calls.length === 8)
    return endpoint.reader.collect()
  })
  const texts = await Promise.all(Array.from({ length: 8 }, async () => (await fetch(url)).text()))
  expect(new Set(texts).size).toBe(1)
  expect(texts[0]).toMatch(/^calls_total\{.*\} 7$/m)
  // The one that waited has asked a second time.
  expect(collect).toHaveBeenCalledTimes(2)
  meter.createCounter('calls').add(1)
  expect(await (await fetch(url)).text()).toMatch(/^calls_total\{.*\} 8$/m)
})

test('lets the host run while an answer is built', async () => {
  const { meter, url } = await open()
  const calls = meter.createCounter('calls')
  for (let at = 0; at < 1900; at++) calls.add(1, { tool: `t${at}` })
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  const answer = fetch(url)
  turn()
  expect(await (await answer).text()).toContain('t1899')
  isOver = true
  expect(turns).toBeGreaterThan(19)
})

test('disconnects a client that does not read, and reports it once', async () => {
  const { meter, lines, client } = await open({ clientMillis: 50 })
  meter.createCounter('calls').add(1, { text: 'x'.repeat(LARGE) })
  const clients = await Promise.all([client(), client()])
  for (const one of clients) one.write(SCRAPE)
  await until(() => lines.said.length > 0)
  await Promise.all(clients.map(closed))
  expect(lines.said).toEqual(['prometheus: a client that had not read its answer after 0.05 s was cut off'])
})

test('keeps at most two answers for slow clients', async () => {
  const { meter, collect, client } = await open()
  meter.createCounter('calls').add(1, { text: 'x'.repeat(LARGE) })
  for (let at = 0; at < 5; at++) {
    const one = await client()
    one.write(SCRAPE)
    // Its answer has begun.
    await once(one, 'readable')
  }
  expect(collect).toHaveBeenCalledTimes(2)
})

test('releases the answers of clients that disconnect', async () => {
  const { meter, collect, client, url } = await open()
  meter.createCounter('calls').add(1, { text: 'x'.repeat(LARGE) })
  const clients = [await client(), await client()]
  for (const one of clients) {
    one.write(SCRAPE)
    await once(one, 'readable')
  }
  for (const one of clients) one.destroy()
  while (collect.mock.calls.length < 3) await (await fetch(url)).text()
})

test('rejects clients beyond the limit, and reports it once', async () => {
  const { lines, client } = await open({ connections: 2 })
  const kept = [await client(), await client()]
  await Promise.all((await Promise.all([client(), client()])).map(closed))
  expect(lines.said).toEqual(['prometheus: more than 2 clients at once; further ones are rejected'])
  expect(kept.every(socket => !socket.destroyed)).toBe(true)
})

test.each([
  ['scrapes', SCRAPE],
  ['an unknown path', 'GET /none HTTP/1.1\r\nhost: test\r\n\r\n'],
])('disconnects a client that requests %s before its answer', async (_what, request) => {
  const { collect, client } = await open()
  const one = await client()
  one.write(SCRAPE + request.repeat(1000))
  await closed(one)
  expect(collect.mock.calls.length).toBeLessThanOrEqual(1)
})

test('serves several scrapes on one connection', async () => {
  const { meter, collect, client } = await open()
  meter.createCounter('calls').add(1)
  const one = await client()
  for (let at = 0; at < 3; at++) {
    one.write(SCRAPE)
    await once(one, 'readable')
    expect(String(one.read())).toContain('200 OK')
  }
  expect(collect).toHaveBeenCalledTimes(3)
})

test('reports omitted series once, with advice', async () => {
  const { meter, lines, url } = await open({ series: 10 })
  const calls = meter.createCounter('calls')
  for (let at = 0; at < 12; at++) calls.add(1, { tool: `t${at}` })
  for (let at = 0; at < 2; at++) expect(await (await fetch(url)).text()).toMatch(/^# left out of calls: 2 label sets$/m)
  expect(lines.said).toEqual([
    'prometheus: 2 label sets are left out of what is scraped (calls): it has room for 10 series. A backend gets all of them',
  ])
})

test('answers 503 if the metrics cannot be collected', async () => {
  const { collect, url } = await open()
  collect.mockRejectedValueOnce(new Error('broken'))
  expect((await fetch(url)).status).toBe(503)
  expect((await fetch(url)).status).toBe(200)
})

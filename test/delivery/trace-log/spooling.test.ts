import { describe, expect, test } from 'vitest'
import { until } from '../../support/until.ts'
import { FakeServer, names, openScene, type SceneOptions, status, TAKEN } from './spooled-queue.ts'

const down = status(503)

function sceneOf(server: FakeServer, options?: SceneOptions) {
  const scene = openScene({ jaeger: server }, options)
  const [queue] = scene.queues
  return { ...scene, queue: queue! }
}

describe('spans that a backend rejects', () => {
  test('stays in the log and is sent later, once and in order', async () => {
    const server = new FakeServer(down)
    const scene = sceneOf(server)
    scene.record('one', 'two')
    await scene.flush()
    scene.record('three')
    await scene.flush()
    expect(scene.queue.counts()).toMatchObject({ delivered: 0, dropped: 0, queued: 2, spooled: 1 })
    server.answer = TAKEN
    await until(() => server.taken.length === 3)
    scene.record('four')
    await scene.close()
    expect(server.taken).toEqual(['one', 'two', 'three', 'four'])
    expect(scene.queue.counts()).toMatchObject({ delivered: 4, dropped: 0, queued: 0, spooled: 0 })
    expect(scene.spool()).toEqual([])
  })

  test('is sent a second time if the answer arrives after the time limit, and counts as retried, not as lost', async () => {
    const arrived: string[] = []
    const server = new FakeServer(spans => {
      arrived.push(...spans)
      // It has them, and says so too late.
      return arrived.length > 2 ? TAKEN(spans) : { lost: 2, failure: { kind: 'timeout', afterMillis: 10 } }
    })
    const scene = sceneOf(server)
    scene.record('one', 'two')
    await scene.flush()
    await until(() => server.taken.length === 2)
    expect(arrived).toEqual(['one', 'two', 'one', 'two'])
    expect(scene.queue.counts()).toMatchObject({ delivered: 2, dropped: 0, retried: 2 })
    await scene.close()
  })

  test('is left to the next process, which sends it', async () => {
    const server = new FakeServer(down)
    const first = sceneOf(server)
    first.record(...names(300))
    await first.close()
    expect(first.queue.counts()).toMatchObject({ delivered: 0, dropped: 0, queued: 0, spooled: 300 })
    expect(first.spool()).toEqual([expect.stringMatching(/\.free\.json$/)])
    server.answer = TAKEN
    const second = sceneOf(server, { directory: first.directory })
    await second.store.recover(() => undefined)
    await second.queue.drainRecovered()
    expect(server.taken).toEqual(names(300))
    expect(second.queue.counts()).toMatchObject({ delivered: 0, recovered: 300 })
    expect(second.spool()).toEqual([])
    await second.close()
  })

  test('does not delay another backend', async () => {
    const [well, dead] = [new FakeServer(), new FakeServer(down)]
    const scene = openScene({ well, dead })
    for (const name of names(5)) {
      scene.record(name)
      await scene.flush()
    }
    expect(well.taken).toEqual(names(5))
    dead.answer = TAKEN
    await until(() => dead.taken.length === 5)
    expect(dead.taken).toEqual(names(5))
    await scene.close()
  })

  test('is not sent again before the requested time', async () => {
    const server = new FakeServer(status(429, 60_000))
    const scene = sceneOf(server)
    scene.record('one')
    await scene.flush()
    const asked = server.requests.length
    server.answer = TAKEN
    scene.record('two')
    await scene.flush()
    await scene.close()
    expect(server.requests).toHaveLength(asked)
    expect(scene.queue.counts()).toMatchObject({ delivered: 0, dropped: 0, spooled: 2 })
  })

  test('is kept if the credentials are wrong', async () => {
    const server = new FakeServer(status(401))
    const scene = sceneOf(server)
    scene.record('one')
    await scene.flush()
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ dropped: 0, spooled: 1 })
    expect(scene.lines.said).toEqual([expect.stringContaining('answered 401')])
  })
})

describe('ten thousand spans in one tick', () => {
  test('delivers all of them, in order', async () => {
    const server = new FakeServer()
    const scene = sceneOf(server)
    scene.record(...names(10_000))
    await scene.close()
    expect(server.taken).toEqual(names(10_000))
    expect(scene.queue.counts()).toMatchObject({ delivered: 10_000, dropped: 0 })
    expect(Math.max(...server.requests.map(spans => spans.length))).toBeLessThanOrEqual(128)
  })

  test('keeps all of them if no backend accepts them', async () => {
    const server = new FakeServer(down)
    const first = sceneOf(server)
    first.record(...names(10_000))
    await first.close()
    expect(first.queue.counts()).toMatchObject({ delivered: 0, dropped: 0, spooled: 10_000 })
    server.answer = TAKEN
    const second = sceneOf(server, { directory: first.directory })
    await second.store.recover(() => undefined)
    await second.queue.drainRecovered()
    expect(server.taken).toEqual(names(10_000))
    await second.close()
  })
})

describe('rejected spans', () => {
  test('finds them, and delivers the others', async () => {
    const server = new FakeServer(spans => (spans.includes('span 77') ? status(400)(spans) : { lost: 0 }))
    const scene = sceneOf(server)
    scene.record(...names(200))
    await scene.close()
    expect(server.taken).toEqual(names(200).filter(name => name !== 'span 77'))
    expect(scene.queue.counts()).toMatchObject({ delivered: 199, dropped: 1 })
    expect(scene.lines.said).toEqual([expect.stringMatching(/answered 400 to single spans, which are dropped/)])
  })

  test('finds them even if they are first and alone', async () => {
    const server = new FakeServer(spans => (spans.includes('poison') ? status(400)(spans) : { lost: 0 }))
    const scene = sceneOf(server)
    scene.record('poison')
    await scene.flush()
    scene.record('fine')
    await scene.close()
    expect(server.taken).toEqual(['fine'])
    expect(scene.queue.counts()).toMatchObject({ delivered: 1, dropped: 1 })
  })

  test('keeps them when the server rejects everything', async () => {
    const server = new FakeServer(status(400))
    const scene = sceneOf(server)
    scene.record(...names(200))
    await scene.flush()
    expect(server.requests.length).toBeLessThan(20)
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ delivered: 0, dropped: 0, spooled: 200 })
  })

  test('sends smaller requests if they are too many at once', async () => {
    const server = new FakeServer(spans => (spans.length > 20 ? status(413)(spans) : { lost: 0 }))
    const scene = sceneOf(server)
    scene.record(...names(100))
    await scene.close()
    expect(server.taken).toEqual(names(100))
  })

  test('loses only the one that is too large', async () => {
    const server = new FakeServer(spans => (spans.includes('span 3') ? status(413)(spans) : { lost: 0 }))
    const scene = sceneOf(server)
    scene.record(...names(10))
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ delivered: 9, dropped: 1 })
  })

  test('does not send accepted spans of a request again', async () => {
    const server = new FakeServer(() => ({ lost: 2, failure: { kind: 'rejected' } }))
    const scene = sceneOf(server)
    scene.record(...names(10))
    await scene.close()
    expect(server.requests).toHaveLength(1)
    expect(scene.queue.counts()).toMatchObject({ delivered: 8, dropped: 2 })
  })

  test('drops them in the end if a server fails on some of them only', async () => {
    const server = new FakeServer(spans => (spans.includes('span 5') ? status(500)(spans) : { lost: 0 }))
    const scene = sceneOf(server, { pauseScale: 0.0001 })
    scene.record(...names(10))
    await until(() => server.taken.length === 9)
    await until(() => scene.queue.counts().dropped === 1)
    await scene.close()
    expect(server.taken.sort()).toEqual(names(10).filter(name => name !== 'span 5'))
  })
})

test('counts spans as dropped, not delivered, if they were pruned', async () => {
  const server = new FakeServer(down)
  const scene = sceneOf(server, { maxBytes: 200_000 })
  for (let round = 0; round < 30; round++) {
    scene.record(...names(100, 'a name of a span that takes some room in the log'))
    await scene.flush()
  }
  await until(() => scene.lines.said.some(line => line.includes('oldest part of the log')))
  await scene.close()
  expect(scene.lines.said.join('\n')).toMatch(/trace log: \d+ spans pending for backend jaeger were removed/)
})

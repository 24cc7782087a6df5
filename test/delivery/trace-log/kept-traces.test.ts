import { mkdirSync, readdirSync, renameSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { headerJson } from '../../../src/delivery/trace-log/line-parser.ts'
import { spansOf } from '../../../src/delivery/trace-log/span-line.ts'
import { until } from '../../support/until.ts'
import { MARKS } from '../pipeline/pipeline-fixture.ts'
import { lineOf, noteOf, spanWith } from './any-span.ts'
import { breakDisk, failure, mend, noFaults } from './broken-disk.ts'
import { leave } from './checkpoint-fixture.ts'
import { FakeServer, openScene, scratch, status, TAKEN } from './spooled-queue.ts'

const faults = noFaults()
breakDisk(faults)

const down = status(503)

beforeEach(() => {
  Object.assign(faults, noFaults())
})
afterEach(() => mend(faults))

function sceneOf(server: FakeServer, options?: Parameters<typeof openScene>[1]) {
  const scene = openScene({ jaeger: server }, options)
  const queue = scene.queues[0] as (typeof scene.queues)[number]
  return { ...scene, queue }
}

/** Two spans are in the log only. */
async function behind(server = new FakeServer(down)) {
  const scene = sceneOf(server, { pauseScale: 0.000_5 })
  scene.record('one')
  await scene.flush()
  scene.record('two', 'three')
  await scene.flush()
  const [name = ''] = readdirSync(join(scene.directory, 'traces'))
  const path = join(scene.directory, 'traces', name)
  const wellAgain = async (): Promise<void> => {
    server.answer = TAKEN
    await until(() => server.taken.includes('one'))
    await scene.flush()
  }
  return { ...scene, server, path, wellAgain }
}

describe('a kept span that is lost', () => {
  test('counts once when its file is removed: read first, missed by the writer then', async () => {
    const scene = await behind()
    rmSync(join(scene.directory, 'traces'), { recursive: true })
    await scene.wellAgain()
    scene.record('four')
    await scene.flush()
    await scene.close()
    expect(scene.server.taken).toEqual(['one', 'four'])
    expect(scene.queue.counts()).toMatchObject({ delivered: 2, dropped: 2, queued: 0, spooled: 0 })
  })

  test('counts once when its file is cut', async () => {
    const scene = await behind()
    truncateSync(scene.path)
    await scene.wellAgain()
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ delivered: 1, dropped: 2, queued: 0, spooled: 0 })
  })

  test('counts once when its line is damaged', async () => {
    const scene = await behind()
    const size = statSync(scene.path).size
    truncateSync(scene.path, size - 20)
    truncateSync(scene.path, size)
    await scene.wellAgain()
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ delivered: 1, dropped: 2, queued: 0, spooled: 0 })
  })

  test('counts once when its file is removed while it is in memory, and the server then fails', async () => {
    const server = new FakeServer()
    const scene = sceneOf(server)
    let answered = (): void => undefined
    const answering = new Promise<void>(resolve => {
      answered = resolve
    })
    vi.spyOn(server, 'export').mockImplementationOnce(async lines => {
      await answering
      return down(spansOf(lines).map(span => span.name))
    })
    scene.record('one')
    void scene.flush()
    await until(() => scene.queue.waitedMillis() > 0)
    scene.record('two')
    await scene.store.traceLog.forceFlush()
    rmSync(join(scene.directory, 'traces'), { recursive: true })
    scene.record('three')
    await scene.store.traceLog.forceFlush()
    answered()
    await until(() => server.taken.includes('three'))
    await scene.close()
    const { delivered, dropped, queued, spooled } = scene.queue.counts()
    expect({ all: delivered + dropped, queued, spooled }).toEqual({ all: 3, queued: 0, spooled: 0 })
  })
})

describe('a lack of descriptors that lasts', () => {
  test("costs nothing of this process's kept spans", async () => {
    const scene = await behind()
    let left = 3
    faults.onOpen = () => {
      if (left-- > 0) throw failure('EMFILE')
    }
    await scene.wellAgain()
    await until(() => left < 3)
    await scene.close()
    mend(faults)
    const next = sceneOf(scene.server, { directory: scene.directory })
    await next.store.recover(() => undefined)
    await next.queue.drainRecovered()
    await next.close()
    expect(scene.queue.counts().dropped).toBe(0)
    expect(scene.server.taken).toEqual(['one', 'two', 'three'])
  })

  test('delays adopted spans, but not until the end of this process', async () => {
    const first = await behind()
    await first.close()
    let left = 2
    faults.onOpen = () => {
      if (left-- > 0) throw failure('EMFILE')
    }
    const server = new FakeServer()
    const scene = sceneOf(server, { directory: first.directory, pauseScale: 0.000_5 })
    // As it looks again every few minutes.
    await until(async () => {
      await scene.store.recover(() => undefined)
      return server.taken.length === 3
    })
    expect(server.taken).toEqual(['one', 'two', 'three'])
    await scene.close()
  })
})

describe('a segment that can never be read (a bad disk)', () => {
  test("does not delay the others if it is another process's, and is reported", async () => {
    const directory = scratch()
    mkdirSync(join(directory, 'traces'))
    for (const segment of ['1000-7', '2000-7']) {
      writeFileSync(join(directory, 'traces', `${segment}.jsonl`), `${lineOf([spanWith({ name: segment })])}\n`)
      leave(directory, { segment, text: '{"open":false,"delivered":{"jaeger":0}}' })
    }
    faults.onOpen = path => {
      if (path.includes('1000-7')) throw failure('EIO')
    }
    const server = new FakeServer()
    const scene = sceneOf(server, { directory, pauseScale: 0.000_5 })
    await scene.store.recover(() => undefined)
    await until(() => server.taken.length === 1 && scene.lines.said.length > 0)
    await scene.close()
    expect(server.taken).toEqual(['2000-7'])
    expect(scene.lines.said.length).toBeGreaterThan(0)
  })

  test("does not delay later spans if it is this process's", async () => {
    const scene = await behind()
    faults.onOpen = path => {
      if (path === scene.path) throw failure('EIO')
    }
    await scene.wellAgain()
    await until(() => scene.lines.said.some(line => line.includes('cannot be read')))
    // Whatever becomes of those two, a backend that is well gets what is recorded from now on.
    scene.record('later')
    await until(() => scene.server.taken.includes('later'))
    await scene.close()
    expect(scene.server.taken).toContain('later')
  })
})

test('does not delay others for ever if a server rejects its span and empty requests, too', async () => {
  const server = new FakeServer()
  const scene = sceneOf(server, { pauseScale: 0.000_01 })
  scene.record('first')
  await scene.flush()
  server.answer = spans => (spans.length === 0 || spans.includes('poison') ? status(400)(spans) : { lost: 0 })
  scene.record('poison')
  await scene.flush()
  scene.record('later')
  await until(() => server.taken.includes('later'))
  await scene.close()
  expect(server.taken).toEqual(['first', 'later'])
})

test('is not written to any more once another process has taken it over', async () => {
  const server = new FakeServer(down)
  const scene = sceneOf(server)
  scene.record('one')
  await scene.flush()
  const [checkpoint = ''] = scene.spool()
  const spool = join(scene.directory, 'spool')
  // After a long sleep, say. The other one delivers what it has found, and is done with it.
  const theirs = join(spool, checkpoint.replace(/\.[^.]+\.json$/, '.aaaaaaaa_bbbbbbbb_cccccccc-17-4242.json'))
  renameSync(join(spool, checkpoint), theirs)
  scene.record('two', 'three')
  await scene.flush()
  await scene.close()
  unlinkSync(theirs)
  server.answer = TAKEN
  const next = sceneOf(server, { directory: scene.directory })
  await next.store.recover(() => undefined)
  await next.queue.drainRecovered()
  await next.close()
  expect(server.taken).toEqual(expect.arrayContaining(['two', 'three']))
})

test('is released again if it is taken over at the moment of the end', async () => {
  const directory = scratch()
  mkdirSync(join(directory, 'traces'))
  const segment = '1000-7'
  const note = noteOf([spanWith({ name: 'open', endTime: [0, 0] })])
  writeFileSync(join(directory, 'traces', `${segment}.jsonl`), `${headerJson(MARKS, new Map())}\n${note}\n`)
  leave(directory, { segment, text: '{"open":true,"delivered":{"jaeger":0}}' })
  const scene = sceneOf(new FakeServer(), { directory })
  let isReleased = false
  faults.onOpen = () => {
    if (!isReleased) scene.store.release()
    isReleased = true
  }
  await scene.store.recover(() => undefined)
  expect(isReleased).toBe(true)
  expect(scene.spool()).toEqual([`${segment}.free.json`])
  await scene.close()
})

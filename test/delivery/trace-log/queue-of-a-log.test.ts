import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { BackOff } from '../../../src/delivery/pipeline/back-off.ts'
import type { ExportResult, SpanSink } from '../../../src/delivery/pipeline/delivery.ts'
import { readBacklog } from '../../../src/delivery/trace-log/backlog.ts'
import { type SpanLine, sizeOf } from '../../../src/delivery/trace-log/span-line.ts'
import { until } from '../../support/until.ts'
import { backend, Lines, openPipeline, startSink } from '../pipeline/pipeline-fixture.ts'
import { lineOf, spanWith } from './any-span.ts'
import { leave } from './checkpoint-fixture.ts'
import { FakeServer, names, openScene, scratch, status, TAKEN } from './spooled-queue.ts'

const down = status(503)

function sceneOf(server: SpanSink, options?: Parameters<typeof openScene>[1]) {
  const scene = openScene({ jaeger: server }, options)
  const queue = scene.queues[0] as (typeof scene.queues)[number]
  return { ...scene, queue }
}

describe('spans pruned during their export', () => {
  /** Much more than the log holds, while nobody takes it. */
  async function overflown(server: FakeServer) {
    const scene = sceneOf(server, { maxBytes: 200_000 })
    let recorded = 0
    for (let round = 0; round < 20; round++) {
      scene.record(...names(100, 'a name of a span that takes some room in the log'))
      recorded += 100
      await scene.flush()
    }
    await until(() => scene.lines.said.some(line => line.includes('oldest part of the log')))
    server.answer = TAKEN
    await until(() => server.taken.length > 100)
    await until(() => scene.store.segments.pendingBytes('jaeger') === 0)
    return { ...scene, recorded }
  }

  test('is lost or arrives, not both', async () => {
    const server = new FakeServer(down)
    const scene = await overflown(server)
    await scene.close()
    const counts = scene.queue.counts()
    expect(counts.delivered).toBe(server.taken.length)
    expect(counts.delivered + counts.dropped).toBe(scene.recorded)
    expect(counts).toMatchObject({ queued: 0, spooled: 0 })
  })

  test('does not make later flushes go home early', async () => {
    const server = new FakeServer(down)
    const scene = await overflown(server)
    scene.record('later')
    await scene.flush()
    expect(server.taken).toContain('later')
    await scene.close()
  })
})

describe('an answer that arrives after the deadline', () => {
  /** Says only when it is cut off what it thinks of the spans. */
  class LateServer implements SpanSink {
    requests = 0
    readonly #delivery: Partial<ExportResult>

    constructor(delivery: Partial<ExportResult>) {
      this.#delivery = delivery
    }

    export(lines: readonly SpanLine[], signal: AbortSignal): Promise<ExportResult> {
      this.requests++
      return new Promise(resolve => {
        signal.addEventListener('abort', () => resolve({ lost: sizeOf(lines), ...this.#delivery }))
      })
    }

    close(): Promise<void> {
      return Promise.resolve()
    }
  }

  test.each([413, 400])(
    'keeps the spans in the log, because there is no time to find the rejected ones: %d',
    async code => {
      const server = new LateServer({ failure: { kind: 'status', status: code } })
      const scene = sceneOf(server)
      scene.record(...names(code === 413 ? 10 : 1))
      await scene.store.traceLog.forceFlush()
      void scene.queue.forceFlush()
      await until(() => server.requests > 0)
      await scene.store.traceLog.shutdown()
      await scene.queue.abandon()
      scene.store.release()
      expect(scene.queue.counts()).toMatchObject({ dropped: 0, spooled: code === 413 ? 10 : 1 })
      // Nor is the server asked anything more.
      expect(server.requests).toBe(1)
    },
  )
})

test('costs no span of a server that worked and then answers 500 to everything, also to empty requests', async () => {
  const server = new FakeServer()
  const scene = sceneOf(server, { pauseScale: 0.000_01 })
  scene.record('first')
  await scene.flush()
  server.answer = status(500)
  scene.record(...names(4))
  await until(() => server.requests.length > 60 || scene.queue.counts().dropped > 0)
  server.answer = TAKEN
  await until(() => scene.queue.counts().delivered + scene.queue.counts().dropped === 5)
  await scene.close()
  // What is asked for again may overtake.
  expect(server.taken.toSorted()).toEqual(['first', ...names(4)])
})

test('costs no span of a server that recovers between a span and the empty request', async () => {
  const server = new FakeServer()
  const scene = sceneOf(server, { pauseScale: 0.000_01 })
  let isWell = false
  server.answer = spans => {
    isWell ||= spans.length === 0
    return isWell ? TAKEN(spans) : status(400)(spans)
  }
  scene.record('alone')
  await until(() => scene.queue.counts().delivered + scene.queue.counts().dropped === 1)
  await scene.close()
  expect(server.taken).toEqual(['alone'])
})

test('costs no span of a server that accepts one half and then answers 500 to everything', async () => {
  const server = new FakeServer()
  const scene = sceneOf(server, { pauseScale: 0.000_01 })
  server.answer = spans => {
    if (spans.length > 1) return status(413)(spans)
    return server.taken.length === 0 ? TAKEN(spans) : status(500)(spans)
  }
  scene.record(...names(4))
  await until(() => server.requests.length > 60 || scene.queue.counts().dropped > 0)
  server.answer = TAKEN
  await until(() => scene.queue.counts().delivered + scene.queue.counts().dropped === 4)
  await scene.close()
  expect(server.taken.toSorted()).toEqual(names(4))
})

test('reports a segment with many damaged lines once', async () => {
  const directory = scratch()
  mkdirSync(join(directory, 'traces'))
  const good = `${lineOf(Array.from({ length: 100 }, () => spanWith()))}\n`
  writeFileSync(join(directory, 'traces', '1000-7.jsonl'), `${good}{"damaged\n`.repeat(10))
  leave(directory, { segment: '1000-7', text: '{"open":false,"delivered":{"one":0,"two":0}}' })
  const [one, two] = [await startSink(), await startSink()]
  const lines = new Lines()
  const localLog = { directory, maxBytes: 1 << 28, maxAgeHours: 1_000_000, flushMillis: 5 }
  const backends = [
    { ...backend('jaeger', one.url), name: 'one' },
    { ...backend('jaeger', two.url), name: 'two' },
  ]
  const pipeline = openPipeline({ backends, localLog }, lines)
  await pipeline.deliverBacklog()
  await pipeline.shutdown()
  expect([one.spanNames.length, two.spanNames.length]).toEqual([1000, 1000])
  expect(lines.said).toHaveLength(1)
})

test('finds appended lines behind a cursor beyond the end of a file that a machine truncated', async () => {
  const directory = scratch()
  const first = sceneOf(new FakeServer(), { directory })
  const open = first.start('open')
  const written = (name: string): string => readFileSync(join(directory, 'traces', name), 'utf8')
  const isNoted = (name: string): boolean => written(name).includes('"hookspan.open"')
  await until(() => existsSync(join(directory, 'traces')) && readdirSync(join(directory, 'traces')).some(isNoted))
  first.record(...names(100))
  await first.flush()
  const [name = ''] = readdirSync(join(directory, 'traces'))
  const text = written(name)
  const state = scratch()
  mkdirSync(join(state, 'traces'))
  // The last line was delivered, but had not reached the disk when the machine went down.
  const lines = text.split('\n').filter(line => line !== '')
  writeFileSync(
    join(state, 'traces', name),
    lines
      .slice(0, 2)
      .map(line => `${line}\n`)
      .join(''),
  )
  leave(state, {
    segment: name.replace('.jsonl', ''),
    text: JSON.stringify({ open: true, delivered: { jaeger: text.length } }),
  })
  open.end()
  await first.close()
  const server = new FakeServer()
  const scene = sceneOf(server, { directory: state })
  await scene.store.recover(() => undefined)
  await scene.queue.drainRecovered()
  await scene.close()
  expect(server.taken).toEqual(['open'])
})

test('counts spans that end after everything was given up', async () => {
  const scene = sceneOf(new FakeServer(down))
  scene.record('one')
  await scene.queue.abandon()
  // The disk had hung, say, and has written it now.
  await scene.store.traceLog.shutdown()
  scene.store.release()
  expect(scene.queue.counts()).toMatchObject({ delivered: 0, queued: 0, spooled: 1 })
})

test('treats a noted open span as no backlog', async () => {
  const scene = sceneOf(new FakeServer())
  scene.record('one')
  await scene.flush()
  const open = scene.start('open')
  await scene.store.traceLog.forceFlush()
  expect(await readBacklog(scene.directory)).toEqual([])
  open.end()
  await scene.close()
})

test('probes an outage within a minute, whatever the answers were', async () => {
  const failed = vi.spyOn(BackOff.prototype, 'failed')
  const server = new FakeServer(status(500))
  const scene = sceneOf(server, { pauseScale: 0.000_01 })
  scene.record(...names(2))
  await until(() => server.requests.length > 60)
  const reasons = new Set(failed.mock.calls.map(([reason]) => reason))
  await scene.close()
  failed.mockRestore()
  expect([...reasons]).toEqual(['unwell'])
})

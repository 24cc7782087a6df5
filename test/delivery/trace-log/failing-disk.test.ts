import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTraceState, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { describe, expect, test, vi } from 'vitest'
import type { RecoveredTrace } from '../../../src/delivery/trace-log/index.ts'
import { LineParser } from '../../../src/delivery/trace-log/line-parser.ts'
import { readLosses } from '../../../src/delivery/trace-log/losses.ts'
import { ownerToken } from '../../../src/delivery/trace-log/owner.ts'
import { until } from '../../support/until.ts'
import { backend, DEAD_URL, openPipeline, recordSpans } from '../pipeline/pipeline-fixture.ts'
import { always, breakDisk, mend, noFaults, once, wholeForEachTest } from './broken-disk.ts'
import { farOwner, leave } from './checkpoint-fixture.ts'
import { FakeServer, names, openScene, openStore, scratch, status, TAKEN } from './spooled-queue.ts'

const faults = noFaults()
breakDisk(faults)

const down = status(503)

const rejections = wholeForEachTest(faults)

function sceneOf(server: FakeServer, options?: Parameters<typeof openScene>[1]) {
  const scene = openScene({ jaeger: server }, options)
  const queue = scene.queues[0] as (typeof scene.queues)[number]
  return { ...scene, queue }
}

/** All lines of all segments, as a reader of OTLP sees them. */
function storedNames(directory: string): string[] {
  const traces = join(directory, 'traces')
  const text = readdirSync(traces)
    .map(name => readFileSync(join(traces, name), 'utf8'))
    .join('')
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line => new LineParser().read(line)).flatMap(namesOf)
}

function namesOf(line: ReturnType<LineParser['read']>): string[] {
  if (line.kind === 'damaged') return ['(damaged)']
  return line.kind === 'spans' ? line.spans.map(span => span.name) : []
}

describe('a read that fails for the moment (no descriptors)', () => {
  test('loses no pending span', async () => {
    const server = new FakeServer(down)
    const scene = sceneOf(server)
    scene.record('one')
    await scene.flush()
    scene.record('two')
    await scene.flush()
    faults.onOpen = once('EMFILE')
    server.answer = TAKEN
    await until(() => server.taken.includes('one'))
    await scene.flush()
    await scene.close()
    const next = sceneOf(server, { directory: scene.directory })
    await next.store.recover(() => undefined)
    await next.queue.drainRecovered()
    await next.close()
    expect(server.taken).toEqual(['one', 'two'])
  })

  test('still spools later spans', async () => {
    const server = new FakeServer(down)
    const scene = sceneOf(server)
    scene.record('one')
    await scene.flush()
    scene.record('two')
    await scene.flush()
    faults.onOpen = once('EMFILE')
    server.answer = TAKEN
    await until(() => server.taken.includes('one'))
    await scene.flush()
    server.answer = down
    scene.record('three')
    await scene.flush()
    scene.record('four')
    await scene.flush()
    server.answer = TAKEN
    await until(() => server.taken.includes('three'))
    await scene.flush()
    await scene.close()
    expect(server.taken).toContain('four')
    expect(scene.queue.counts()).toMatchObject({ queued: 0, spooled: 0 })
  })

  test('loses no span of another process', async () => {
    const server = new FakeServer(down)
    const first = sceneOf(server)
    first.record('one')
    await first.close()
    server.answer = TAKEN
    faults.onOpen = path => {
      if (path.endsWith('.jsonl')) faultOnce()
    }
    const faultOnce = once('EMFILE')
    const second = sceneOf(server, { directory: first.directory })
    await second.store.recover(() => undefined)
    await second.queue.drainRecovered()
    await second.close()
    const third = sceneOf(server, { directory: first.directory })
    await third.store.recover(() => undefined)
    await third.queue.drainRecovered()
    await third.close()
    expect(server.taken).toEqual(['one'])
  })
})

test('counts unreadable spans as lost', async () => {
  const server = new FakeServer(down)
  const scene = sceneOf(server)
  scene.record('one')
  await scene.flush()
  scene.record('two', 'three')
  await scene.flush()
  rmSync(join(scene.directory, 'traces'), { recursive: true })
  server.answer = TAKEN
  await until(() => server.taken.includes('one'))
  await scene.flush()
  await scene.close()
  expect(scene.queue.counts()).toMatchObject({ delivered: 1, dropped: 2, queued: 0, spooled: 0 })
})

test('counts spans of a removed file as lost', async () => {
  const server = new FakeServer(down)
  const scene = sceneOf(server)
  scene.record('one')
  await scene.flush()
  scene.record('two', 'three')
  await scene.flush()
  server.answer = TAKEN
  rmSync(join(scene.directory, 'traces'), { recursive: true })
  // It is noticed with the next line.
  scene.record('four')
  await scene.flush()
  await until(() => server.taken.includes('four'))
  await scene.close()
  expect(server.taken).toEqual(['one', 'four'])
  expect(scene.queue.counts()).toMatchObject({ delivered: 2, dropped: 2, queued: 0, spooled: 0 })
})

describe('a file system that is gone (a stale handle)', () => {
  test('is a failure like others: nothing is rejected, and delivery continues', async () => {
    const server = new FakeServer()
    const scene = sceneOf(server)
    scene.record('one')
    await scene.flush()
    const look = vi.fn(always('ESTALE'))
    faults.onStat = look
    scene.record('two')
    await until(() => look.mock.calls.length > 0)
    faults.onStat = () => undefined
    scene.record('three')
    await scene.flush().catch(() => undefined)
    await scene.close().catch(() => undefined)
    expect(rejections).toEqual([])
    expect(server.taken.sort()).toEqual(['one', 'three', 'two'])
  })

  test('does not throw in the code that ends a span', async () => {
    const server = new FakeServer()
    const scene = sceneOf(server, { batch: { maxQueueSize: 4, maxExportBatchSize: 4 } })
    scene.record('one')
    await scene.flush()
    faults.onStat = always('ESTALE')
    expect(() => scene.record(...names(20))).not.toThrow()
    mend(faults)
    await scene.close().catch(() => undefined)
  })
})

test('loses the note of an open span that cannot be written, not the log', async () => {
  const server = new FakeServer()
  const scene = sceneOf(server)
  const tracer = new BasicTracerProvider({ spanProcessors: [scene.store.traceLog] }).getTracer('test')
  const serialize = vi.fn(() => {
    throw new Error('odd')
  })
  const traceState = Object.assign(createTraceState('a=1'), { serialize })
  const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1, traceState }
  const open = tracer.startSpan('odd', {}, trace.setSpanContext(ROOT_CONTEXT, context))
  await until(() => serialize.mock.calls.length > 0)
  scene.record('one')
  await scene.flush().catch(() => undefined)
  open.end()
  await scene.close().catch(() => undefined)
  expect(rejections).toEqual([])
  expect(server.taken).toContain('one')
})

/** Kept in the log for a server that is down: one span that is there, and one whose write is under way when the disk is full. */
async function givenUp(failing: (code: string) => () => void, meanwhile: (scene: ReturnType<typeof sceneOf>) => void) {
  const scene = sceneOf(new FakeServer(down))
  scene.record('first')
  await scene.flush()
  faults.held = []
  scene.record('late')
  await until(() => faults.held?.length === 1)
  // The process is about to end, say.
  faults.onWriteNow = failing('ENOSPC')
  scene.store.traceLog.flushSync()
  meanwhile(scene)
  const late = faults.held
  mend(faults)
  for (const write of late) write()
  return scene
}

describe('a write that returns after it was given up', () => {
  test('does not damage later data in its place', async () => {
    const scene = await givenUp(once, ({ record, store }) => {
      record('a')
      store.traceLog.flushSync()
    })
    await scene.flush()
    await scene.close()
    expect(storedNames(scene.directory)).not.toContain('(damaged)')
    expect(storedNames(scene.directory)).toEqual(expect.arrayContaining(['first', 'a']))
  })

  test('is removed again: its content counts as lost', async () => {
    const scene = await givenUp(always, () => undefined)
    await scene.close()
    expect(scene.queue.counts()).toMatchObject({ dropped: 1 })
    const next = sceneOf(new FakeServer(TAKEN), { directory: scene.directory })
    await next.store.recover(() => undefined)
    await next.queue.drainRecovered()
    await next.close()
    expect(next.queue.counts()).toMatchObject({ recovered: 1 })
  })
})

test('keeps a segment until the next one notes the open spans', async () => {
  const scene = sceneOf(new FakeServer(), { maxBytes: 1 << 20, batch: { maxExportBatchSize: 8 } })
  const open = names(12, 'open').map(name => scene.start(name))
  await scene.flush()
  let begun = 0
  const failing = once('ENOSPC')
  faults.onWrite = text => {
    if (!text.includes('hookspan.segment')) return
    begun++
    failing()
  }
  while (begun < 2) {
    scene.record('a name that takes some room in a segment: '.padEnd(2000, 'x'))
    await scene.flush()
  }
  const left = copyOfState(scene.directory)
  for (const span of open) span.end()
  await scene.close()
  const crashed: RecoveredTrace[] = []
  const next = sceneOf(new FakeServer(), { directory: left })
  await next.store.recover(traces => void crashed.push(...traces))
  await next.close()
  const roots = open.map(span => span.spanContext()).map(({ traceId, spanId }) => ({ traceId, spanId, spans: 1 }))
  expect(crashed).toHaveLength(12)
  expect(crashed).toEqual(expect.arrayContaining(roots))
})

/** As the next process finds it when this one is killed now. */
function copyOfState(directory: string): string {
  const state = scratch()
  for (const room of ['traces', 'spool']) {
    mkdirSync(join(state, room))
    for (const name of readdirSync(join(directory, room))) {
      const left = name.replace(/\.[^.]+\.json$/, '.free.json')
      writeFileSync(join(state, room, left), readFileSync(join(directory, room, name)))
    }
  }
  return state
}

test('keeps a segment if its checkpoint changes owners while the log is pruned', async () => {
  const state = scratch()
  const segment = '1000-7'
  mkdirSync(join(state, 'traces'))
  const path = join(state, 'traces', `${segment}.jsonl`)
  writeFileSync(path, '{"resourceSpans":[]}\n')
  utimesSync(path, new Date(0), new Date(0))
  const free = leave(state, { segment, text: '{"open":false,"delivered":{"jaeger":0}}' })
  const taken = join(state, 'spool', `${segment}.${ownerToken(farOwner())}.json`)
  faults.onLook = () => {
    faults.onLook = () => undefined
    utimesSync(free, new Date(), new Date())
    renameSync(free, taken)
  }
  const settings = { directory: state, maxBytes: 1 << 28, maxAgeHours: 1, flushMillis: 5 }
  const store = openStore(settings)
  store.prune()
  await store.stop()
  expect(readdirSync(join(state, 'traces'))).toEqual([`${segment}.jsonl`])
})

test('counts spans as lost that are only in memory when the process ends at once', async () => {
  const directory = scratch()
  const localLog = { directory, maxBytes: 1 << 28, maxAgeHours: 1000, flushMillis: 1000 }
  const pipeline = openPipeline({ backends: [backend('jaeger', DEAD_URL)], localLog })
  faults.onWriteNow = always('ENOSPC')
  recordSpans(pipeline, 'one', 'two')
  pipeline.shutdownSync()
  const losses = await readLosses(directory, 0)
  expect(losses.map(loss => [loss.backend, loss.spans])).toEqual([['jaeger', 2]])
})

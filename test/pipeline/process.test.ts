import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BuiltRoom } from './built-room.ts'
import { deadUrl, scratchDirectory, startSink } from './pipeline-fixture.ts'

let room: BuiltRoom

beforeAll(async () => {
  room = await BuiltRoom.build()
})

afterAll(() => room?.remove())

/** A host that awaits nothing, with our wiring of `beforeExit`. */
function hostThatEnds(url: string, flush: 'with a flush' | 'without a flush', more: object = {}): string {
  return `
    const more = ${JSON.stringify({ flushWaitMillis: 500, ...more })}
    const pipeline = createPipeline(settings({ backends: [backend('otlp', '${url}')], ...more }), report)
    process.once('beforeExit', () => void pipeline.shutdown().then(() => {
      process.stdout.write(JSON.stringify(pipeline.stats().backends[0]))
    }))
    record(pipeline, 'one', 'two')
    pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
    ${flush === 'with a flush' ? 'void pipeline.flush()' : ''}
  `
}

describe('a process that has nothing left to do', () => {
  test.each([
    ['nothing listens', async () => deadUrl(), 'with a flush'],
    ['nothing listens', async () => deadUrl(), 'without a flush'],
    ['the collector hangs', async () => (await startSink({ kind: 'hanging' })).url, 'with a flush'],
    ['the collector hangs', async () => (await startSink({ kind: 'hanging' })).url, 'without a flush'],
    ['the collector is busy', async () => (await startSink({ kind: 'status', status: 503 })).url, 'with a flush'],
    ['the collector is busy', async () => (await startSink({ kind: 'status', status: 503 })).url, 'without a flush'],
  ] as const)('ends although %s (%#)', async (_why, url, flush) => {
    const ended = await room.run(hostThatEnds(await url(), flush))
    expect(ended.code).toBe(0)
    expect(ended.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^backend otlp: /)])
    expect(JSON.parse(ended.stdout)).toMatchObject({ delivered: 0, dropped: 2, queued: 0 })
  })

  test('ends although it never flushes nor shuts down', async () => {
    const sink = await startSink({ kind: 'hanging' })
    const ended = await room.run(`
      const batch = { maxQueueSize: 10, scheduleDelayMillis: 1, maxExportBatchSize: 1, exportTimeoutMillis: 60000 }
      const backends = [backend('otlp', '${sink.url}')]
      const prometheus = { host: '127.0.0.1', port: 0 }
      const pipeline = createPipeline(settings({ backends, batch, metricsIntervalMillis: 60, prometheus }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      setTimeout(() => {}, 200)
    `)
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(sink.spanNames).toEqual(['one'])
  })

  test('delivers what it has before it ends', async () => {
    const sink = await startSink({ kind: 'slow', millis: 100 })
    const directory = await scratchDirectory()
    const localLog = { directory, maxBytes: 1e9, maxAgeHours: 1e6 }
    const ended = await room.run(hostThatEnds(sink.url, 'without a flush', { localLog, flushWaitMillis: 5000 }))
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(sink.spanNames).toEqual(['one', 'two'])
    expect(sink.metricNames).toEqual(['points'])
    expect(JSON.parse(ended.stdout)).toMatchObject({ name: 'local_log', delivered: 2 })
  })

  test('prints its traces when the console is the backend', async () => {
    const ended = await room.run(`
      const backends = [backend('console', undefined), { ...backend('console', undefined, { options: { stream: 'stderr' } }), name: 'second' }]
      const pipeline = createPipeline(settings({ backends }), report)
      record(pipeline, 'one')
      await pipeline.shutdown()
    `)
    for (const text of [ended.stdout, ended.stderr])
      expect(text).toMatch(/^trace [0-9a-f]{32}\n {2}one {2}\d\.\d{3} s\n$/)
  })
})

describe('what is loaded', () => {
  test('importing the room loads no package of OpenTelemetry', async () => {
    const ended = await room.run('process.stdout.write(JSON.stringify(loaded()))')
    expect(ended).toEqual({ code: 0, stdout: '[]', stderr: '' })
  })

  test('a pipeline without backends loads no exporter and no metrics', async () => {
    const ended = await room.run(`
      createPipeline(settings({}), report)
      process.stdout.write(JSON.stringify([...new Set(loaded())].sort()))
    `)
    expect(JSON.parse(ended.stdout)).toEqual([
      'api',
      'core',
      'resources',
      'sdk-trace',
      'sdk-trace-base',
      'semantic-conventions',
    ])
  })
})

describe('a host with an OpenTelemetry of its own', () => {
  test('nothing global is touched', async () => {
    const sink = await startSink({ kind: 'status', status: 500 })
    const ended = await room.run(`
      const registry = () => JSON.stringify(Object.getOwnPropertySymbols(globalThis).map(symbol => [String(symbol), typeof globalThis[symbol]]))
      const before = registry()
      const pipeline = createPipeline(settings({ backends: [backend('otlp', '${sink.url}')], prometheus: { host: '127.0.0.1', port: 0 } }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      await pipeline.flush()
      await pipeline.shutdown()
      process.stdout.write(registry() === before && !before.includes('opentelemetry') ? 'untouched' : registry())
    `)
    expect(ended).toMatchObject({ code: 0, stdout: 'untouched' })
  })

  test('our requests are not traced by it, and its environment does not sample us', async () => {
    const sink = await startSink()
    const ended = await room.run(`
      const { AsyncLocalStorage } = await import('node:async_hooks')
      const { context, ROOT_CONTEXT } = require('@opentelemetry/api')
      const { isTracingSuppressed } = require('@opentelemetry/core')
      const storage = new AsyncLocalStorage()
      context.setGlobalContextManager({
        active: () => storage.getStore() ?? ROOT_CONTEXT,
        with: (active, run, self, ...args) => storage.run(active, () => run.apply(self, args)),
        bind: (_context, target) => target,
        enable() { return this },
        disable() { return this },
      })
      const http = require('node:http')
      const { request } = http
      const seen = []
      http.request = (...args) => {
        seen.push(isTracingSuppressed(context.active()))
        return request(...args)
      }
      process.env.OTEL_TRACES_SAMPLER = 'always_off'
      const pipeline = createPipeline(settings({ backends: [backend('otlp', '${sink.url}')] }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      await pipeline.shutdown()
      process.stdout.write(JSON.stringify(seen))
    `)
    expect(ended).toEqual({ code: 0, stdout: '[true,true]', stderr: '' })
  })
})

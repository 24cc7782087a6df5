import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { afterwards } from '../../support/afterwards.ts'
import { GrpcSink } from '../../support/grpc-sink.ts'
import { SAMPLED, sample } from '../../support/sample.ts'
import { BuiltPipeline, type Ended } from './built-pipeline.ts'
import { DEAD_URL, PROTOCOLS, scratchDirectory, startSink } from './pipeline-fixture.ts'

let room: BuiltPipeline

beforeAll(async () => {
  room = await BuiltPipeline.build()
})

afterAll(() => room?.remove())

type TraceProtocol = (typeof PROTOCOLS)[number] | 'grpc'

interface EndingHost {
  /** Of each backend, by its name. */
  readonly urls: Readonly<Record<string, string>>
  readonly protocol: TraceProtocol
  readonly isFlushed: boolean
  readonly settings?: object
}

/** A host that awaits nothing, with our wiring of `beforeExit`. */
function hostThatEnds({ urls, protocol, isFlushed, settings = {} }: EndingHost): string {
  return `
    const more = ${JSON.stringify({ flushWaitMillis: 500, ...settings })}
    const backends = Object.entries(${JSON.stringify(urls)}).map(([name, url]) => ({ ...backend('otlp', url, { protocol: '${protocol}' }), name }))
    const pipeline = createPipeline(settings({ backends, ...more }), report)
    process.once('beforeExit', () => void pipeline.shutdown().then(() => {
      process.stdout.write(JSON.stringify(pipeline.stats().backends))
    }))
    record(pipeline, 'one', 'two')
    pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
    ${isFlushed ? 'void pipeline.flush()' : ''}
  `
}

const UNWELL = [
  ['absent', async () => DEAD_URL],
  ['busy', async () => (await startSink({ kind: 'status', status: 503 })).url],
  ['closing', async () => (await startSink({ kind: 'reset' })).url],
  ['hanging', async () => (await startSink({ kind: 'hanging' })).url],
] as const

describe.each(sample(PROTOCOLS, 1))(`over %s, a process that has nothing left to do, ${SAMPLED}`, protocol => {
  test.each([
    ['with a flush', true],
    ['without a flush', false],
  ])('ends with unhealthy backends, reporting each once with its losses: %s', async (_with, isFlushed) => {
    const urls = Object.fromEntries(await Promise.all(UNWELL.map(async ([name, url]) => [name, await url()])))
    // A request that is cut off before it is answered says another thing than its answer.
    const settings = { flushWaitMillis: 2000 }
    const ended = await room.run(hostThatEnds({ urls, protocol, isFlushed, settings }))
    expect(ended.code).toBe(0)
    const lines = ended.stderr.trim().split('\n')
    const [lost, causes] = [
      /: 2 spans were lost, because the process ended/,
      lines.filter(line => !/were lost/.test(line)),
    ]
    expect(causes.map(line => /^backend (\w+): /.exec(line)?.[1]).sort(), ended.stderr).toEqual(
      UNWELL.map(([name]) => name),
    )
    // Those that had failed for good before are said with their cause.
    expect(lines.filter(line => lost.test(line))).toHaveLength(lines.length - causes.length)
    const stats = JSON.parse(ended.stdout) as object[]
    expect(stats).toEqual(
      UNWELL.map(([name]) => expect.objectContaining({ name, delivered: 0, dropped: 2, queued: 0 })),
    )
  })

  test('waits for no timer of an unhealthy backend', async () => {
    const patient = await startSink({ kind: 'status', status: 503, headers: { 'retry-after': '5' } })
    const busy = await startSink({ kind: 'status', status: 503 })
    const urls = [patient.url, busy.url, ...(await Promise.all(UNWELL.map(([, url]) => url())))]
    const body = `
      const batch = { maxQueueSize: 10, scheduleDelayMillis: 1, maxExportBatchSize: 1, exportTimeoutMillis: 60000 }
      const backends = ${JSON.stringify(urls)}.map(url => backend('otlp', url, { protocol: '${protocol}', metrics: false }))
      record(createPipeline(settings({ backends, batch }), report), 'one')
      process.stdin.resume().once('end', () => {
        process.stdout.write(process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').join())
      })
    `
    // By then the first one, which has asked for more time, is waited for.
    const isTriedAgain = busy.until(() => busy.requests.length > 1)
    const ended = await room.run(body, { isOver: isTriedAgain })
    expect(ended).toMatchObject({ code: 0, stdout: '' })
  })

  test('ends although it never flushes nor shuts down', async () => {
    const sink = await startSink({ kind: 'hanging' })
    const body = `
      const batch = { maxQueueSize: 10, scheduleDelayMillis: 1, maxExportBatchSize: 1, exportTimeoutMillis: 60000 }
      const backends = [backend('otlp', '${sink.url}', { protocol: '${protocol}' })]
      const prometheus = { host: '127.0.0.1', port: 0 }
      const pipeline = createPipeline(settings({ backends, batch, metricsIntervalMillis: 60, prometheus }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      process.stdin.resume()
    `
    const isBeingSent = sink.until(() => sink.spanNames.length > 0)
    const ended = await room.run(body, { isOver: isBeingSent })
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(sink.spanNames).toEqual(['one'])
  })

  test('delivers its spans before it ends', async () => {
    const sink = await startSink({ kind: 'slow', millis: 100 })
    const directory = await scratchDirectory()
    const settings = { localLog: { directory, maxBytes: 1e9, maxAgeHours: 1e6 }, flushWaitMillis: 5000 }
    const ended = await room.run(hostThatEnds({ urls: { otlp: sink.url }, protocol, isFlushed: false, settings }))
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(sink.spanNames).toEqual(['one', 'two'])
    expect(sink.metricNames).toEqual(['points'])
    expect(JSON.parse(ended.stdout)).toMatchObject([{ name: 'local_log', delivered: 2 }, { name: 'otlp' }])
  })
})

test.each([
  ['hanging', (sink: GrpcSink) => sink.url, /did not answer within|were lost/],
  ['absent', () => DEAD_URL, /nothing listens at/],
] as const)('ends over grpc with a backend that is %s', async (_what, url, expected) => {
  const sink = await GrpcSink.start()
  afterwards(() => sink.stop())
  sink.behaviour = { kind: 'hanging' }
  const ended = await room.run(hostThatEnds({ urls: { otlp: url(sink) }, protocol: 'grpc', isFlushed: true }))
  expect(ended.code).toBe(0)
  expect(ended.stderr).toMatch(expected)
  expect(JSON.parse(ended.stdout)).toMatchObject([{ name: 'otlp', delivered: 0, dropped: 2, queued: 0 }])
})

test('ends over grpc although it never flushes nor shuts down', async () => {
  const sink = await GrpcSink.start()
  afterwards(() => sink.stop())
  const body = `
    const batch = { maxQueueSize: 10, scheduleDelayMillis: 1, maxExportBatchSize: 1, exportTimeoutMillis: 60000 }
    const backends = [backend('otlp', '${sink.url}', { protocol: 'grpc', metrics: false })]
    record(createPipeline(settings({ backends, batch }), report), 'one')
    process.stdin.resume()
  `
  const ended = await room.run(body, { isOver: sink.until(() => sink.calls.length > 0) })
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(sink.spanNames).toEqual(['one'])
})

describe('a process with a terminal', () => {
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

test.each(['stdout', 'stderr'] as const)('survives a console backend whose %s has no reader', async unread => {
  const body = `
    const backends = [backend('console', undefined, { options: { stream: '${unread}' } })]
    const pipeline = createPipeline(settings({ backends }), report)
    for (const name of ['one', 'two', 'three']) {
      record(pipeline, name)
      await pipeline.flush()
      await new Promise(setImmediate)
    }
    await pipeline.shutdown()
    if (process.${unread}.listenerCount('error') > 0) process.exitCode = 3
  `
  expect(await room.run(body, { unread })).toMatchObject({ code: 0 })
})

describe('the loaded modules', () => {
  const run = (body: string): Promise<Ended> => room.run(body, { isUnbundled: true })

  test('loads no package of OpenTelemetry on import', async () => {
    const ended = await run('process.stdout.write(JSON.stringify(loaded()))')
    expect(ended).toEqual({ code: 0, stdout: '[]', stderr: '' })
  })

  test('loads no SDK and no exporter without a backend', async () => {
    const ended = await run(`
      createPipeline(settings({}), report)
      process.stdout.write(JSON.stringify([...new Set(loaded())].sort()))
    `)
    expect(JSON.parse(ended.stdout)).toEqual([])
  })

  test.each([
    ['when metrics are flushed', 'await pipeline.flush()'],
    ['when a meter is requested', 'pipeline.meterProvider'],
    ['after the first interval', 'while (loaded().length === 0) await new Promise(setImmediate)'],
  ])('loads the metrics SDK %s, not before', async (_when, wait) => {
    const ended = await run(`
      const backends = [backend('otlp', '${DEAD_URL}', {})]
      const pipeline = createPipeline(settings({ backends, metricsIntervalMillis: 300, flushWaitMillis: 100 }), report)
      const used = []
      pipeline.onMeterProvider(provider => used.push(provider))
      const before = [loaded(), used.length]
      ${wait}
      const isUsed = used.length === 1 && used[0] === pipeline.meterProvider
      process.stdout.write(JSON.stringify([before, loaded().some(name => name.includes('metrics')), isUsed]))
      process.exit()
    `)
    expect(JSON.parse(ended.stdout)).toEqual([[[], 0], true, true])
  })
})

describe.each(sample(PROTOCOLS, 1))(`over %s, a host with an OpenTelemetry of its own, ${SAMPLED}`, protocol => {
  test('touches nothing global', async () => {
    const sink = await startSink({ kind: 'status', status: 500 })
    const ended = await room.run(`
      // With the first import of it, Node itself puts a dispatcher for fetch there.
      await import('node:http')
      const registry = () => JSON.stringify(Object.getOwnPropertySymbols(globalThis).map(symbol => [String(symbol), typeof globalThis[symbol]]))
      const before = registry()
      const pipeline = createPipeline(settings({ backends: [backend('otlp', '${sink.url}', { protocol: '${protocol}' })], prometheus: { host: '127.0.0.1', port: 0 } }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      await pipeline.flush()
      await pipeline.shutdown()
      process.stdout.write(registry() === before && !before.includes('opentelemetry') ? 'untouched' : registry())
    `)
    expect(ended).toMatchObject({ code: 0, stdout: 'untouched' })
  })

  test("is neither traced nor sampled by the host's OpenTelemetry", async () => {
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
      // As instrumentations do: an import of the module shows the change only then.
      require('node:module').syncBuiltinESMExports()
      process.env.OTEL_TRACES_SAMPLER = 'always_off'
      const pipeline = createPipeline(settings({ backends: [backend('otlp', '${sink.url}', { protocol: '${protocol}' })] }), report)
      pipeline.meterProvider.getMeter('test').createCounter('points').add(1)
      record(pipeline, 'one')
      await pipeline.shutdown()
      process.stdout.write(JSON.stringify(seen))
    `)
    expect(ended).toEqual({ code: 0, stdout: '[true,true]', stderr: '' })
  })
})

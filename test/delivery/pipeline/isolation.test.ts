import { describe, expect, test } from 'vitest'
import {
  backend as anyBackend,
  DEAD_URL,
  Lines,
  openPipeline,
  PROTOCOLS,
  recordSpans,
  startSink,
} from './pipeline-fixture.ts'

const names = Array.from({ length: 200 }, (_, index) => `span ${index}`)

describe.each(PROTOCOLS)('the isolation of backends over %s', protocol => {
  const backend: typeof anyBackend = (type, endpoint, more) => anyBackend(type, endpoint, { protocol, ...more })

  test('delivers everything to a healthy backend beside dead, slow and hanging ones', async () => {
    const [healthy, slow, hanging] = [
      await startSink(),
      await startSink({ kind: 'slow', millis: 20 }),
      await startSink({ kind: 'hanging' }),
    ]
    const lines = new Lines()
    const pipeline = openPipeline(
      {
        backends: [
          { ...backend('jaeger', DEAD_URL), name: 'dead' },
          { ...backend('jaeger', hanging.url), name: 'hanging' },
          { ...backend('jaeger', slow.url), name: 'slow' },
          { ...backend('jaeger', healthy.url), name: 'healthy' },
        ],
      },
      lines,
    )
    recordSpans(pipeline, ...names)
    let isFlushed = false
    const flushed = pipeline.flush().then(() => {
      isFlushed = true
    })
    await healthy.until(() => healthy.spanNames.length === names.length)
    await slow.until(() => slow.spanNames.length === names.length)
    // Both have everything while the flush still waits for the one that never answers.
    expect(isFlushed).toBe(false)
    expect(healthy.spanNames).toEqual(names)
    expect(slow.spanNames).toEqual(names)
    expect(statsOf('dead')).toMatchObject({ delivered: 0, dropped: 200, queued: 0 })
    expect(statsOf('hanging')).toMatchObject({ delivered: 0, queued: 200 })
    await hanging.stop()
    await pipeline.shutdown()
    await flushed
    expect(statsOf('hanging')).toMatchObject({ delivered: 0, dropped: 200, queued: 0 })
    expect(statsOf('healthy')).toMatchObject({ delivered: 200, dropped: 0 })
    expect(lines.said.map(line => line.split(':')[0]).sort()).toEqual(['backend dead', 'backend hanging'])

    function statsOf(name: string): unknown {
      return pipeline.stats().backends.find(candidate => candidate.name === name)
    }
  })

  test('does not affect other backends if one is misconfigured', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const pipeline = openPipeline(
      { backends: [backend('langfuse', undefined), backend('zipkin', sink.url), backend('jaeger', sink.url)] },
      lines,
    )
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    expect(sink.spanNames).toEqual(['one'])
    expect(lines.errors).toEqual([
      'backend langfuse is off: public_key is missing. Set public_key, or public_key_env to the name of a variable',
      expect.stringMatching(/^backend zipkin is off: type "zipkin" is not known\. Known: otlp, jaeger, /),
    ])
  })

  test('drops spans if the queue is full, and reports the start and the count', async () => {
    const sink = await startSink()
    const lines = new Lines()
    const batch = { maxQueueSize: 20, scheduleDelayMillis: 1000, maxExportBatchSize: 10, exportTimeoutMillis: 10_000 }
    const pipeline = openPipeline({ backends: [backend('jaeger', sink.url)], batch }, lines)
    recordSpans(pipeline, ...names)
    await pipeline.flush()
    expect(sink.spanNames).toEqual(names.slice(0, 20))
    expect(pipeline.stats().backends[0]).toMatchObject({ delivered: 20, dropped: 180, queued: 0 })
    expect(lines.said).toEqual([
      expect.stringMatching(/^backend jaeger: 20 spans are waiting for it, and further ones are dropped/),
      'backend jaeger: has caught up; 180 spans were dropped in the meantime',
    ])
    recordSpans(pipeline, 'after')
    await pipeline.flush()
    expect(sink.spanNames.at(-1)).toBe('after')
  })

  test('records without a backend', async () => {
    const lines = new Lines()
    const pipeline = openPipeline({}, lines)
    recordSpans(pipeline, ...names)
    await pipeline.flush()
    await pipeline.shutdown()
    expect(lines.said).toEqual([])
    expect(pipeline.stats()).toEqual({ backends: [], traceFiles: [] })
  })
})

import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Checkpoint } from '../../../src/delivery/trace-log/checkpoint.ts'
import { openStore } from '../trace-log/spooled-queue.ts'
import {
  backend,
  countPoint,
  Lines,
  MARKS,
  openPipeline,
  recordSpans,
  scratchDirectory,
  startSink,
} from './pipeline-fixture.ts'

const FOREVER = { maxBytes: 1 << 30, maxAgeHours: 1e6, flushMillis: 100 }
const MODE_BITS = 0o777
const ABSENT_PID = 2 ** 22 + 1

async function lines(path: string): Promise<unknown[]> {
  const text = await readFile(path, 'utf8')
  expect(text.endsWith('\n')).toBe(true)
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as unknown)
}

function spanNames(requests: unknown[]): string[] {
  return (requests as { resourceSpans?: { scopeSpans: { spans: { name: string }[] }[] }[] }[]).flatMap(request =>
    (request.resourceSpans ?? []).flatMap(group =>
      group.scopeSpans.flatMap(scope => scope.spans.map(span => span.name)),
    ),
  )
}

function requestLine(...names: string[]): string {
  const ids = { traceId: 'a'.repeat(32), startTimeUnixNano: '1', endTimeUnixNano: '2', kind: 1, status: { code: 0 } }
  const spans = names.map((name, index) => ({ ...ids, spanId: `${index}`.repeat(16).replaceAll('0', 'f'), name }))
  return `${JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ scope: { name: 's' }, spans }] }] })}\n`
}

describe('the local trace log', () => {
  test('is one private file of OTLP requests, named by start and process', async () => {
    const directory = join(await scratchDirectory(), 'state')
    const pipeline = openPipeline({ localLog: { directory, ...FOREVER } })
    recordSpans(pipeline, 'one', 'two')
    await pipeline.flush()
    recordSpans(pipeline, 'three')
    await pipeline.flush()
    const names = await readdir(join(directory, 'traces'))
    expect(names).toEqual([expect.stringMatching(new RegExp(`^\\d{13}-${process.pid}\\.jsonl$`))])
    const path = join(directory, 'traces', String(names[0]))
    expect(pipeline.stats().traceFiles).toEqual([path])
    expect((await stat(path)).mode & MODE_BITS).toBe(0o600)
    expect((await stat(join(directory, 'traces'))).mode & MODE_BITS).toBe(0o700)
    expect((await stat(directory)).mode & MODE_BITS).toBe(0o700)
    const [header, ...requests] = await lines(path)
    expect(header).toEqual({ 'hookspan.segment': { version: 1, marks: MARKS, backends: {} } })
    expect(requests).toHaveLength(2)
    expect(spanNames(requests)).toEqual(['one', 'two', 'three'])
    expect(pipeline.stats().backends).toEqual([
      expect.objectContaining({ name: 'local_log', type: 'local_log', delivered: 3, dropped: 0, queued: 0 }),
    ])
  })

  test('creates no file and no directory without a span', async () => {
    const directory = join(await scratchDirectory(), 'state')
    const pipeline = openPipeline({ localLog: { directory, ...FOREVER } })
    await pipeline.flush()
    expect(await readdir(join(directory, '..'))).toEqual([])
  })

  test('uses one file per pipeline', async () => {
    const directory = await scratchDirectory()
    const pipelines = [0, 1, 2].map(() => openPipeline({ localLog: { directory, ...FOREVER } }))
    for (const pipeline of pipelines) {
      recordSpans(pipeline, 'one')
      await pipeline.flush()
    }
    expect(await readdir(join(directory, 'traces'))).toHaveLength(3)
  })

  test('reports an unwritable directory once, and delivers everything', async () => {
    const file = join(await scratchDirectory(), 'a-file')
    await writeFile(file, '')
    const sink = await startSink()
    const report = new Lines()
    const localLog = { directory: join(file, 'below'), ...FOREVER }
    const pipeline = openPipeline({ localLog, backends: [backend('jaeger', sink.url)] }, report)
    for (const name of ['one', 'two']) {
      recordSpans(pipeline, name)
      await pipeline.flush()
    }
    expect(report.said).toEqual([
      expect.stringMatching(/^trace log: cannot write .*: a part of the path is not a directory \(ENOTDIR\)/),
    ])
    expect(sink.spanNames).toEqual(['one', 'two'])
    expect(pipeline.stats().backends).toMatchObject([
      { delivered: 0, dropped: 2 },
      { delivered: 2, dropped: 0 },
    ])
  })

  test.each(['shutdown', 'shutdownSync'] as const)(
    'counts the lost spans at the end without a backend (%s)',
    async endBy => {
      const file = join(await scratchDirectory(), 'a-file')
      await writeFile(file, '')
      const report = new Lines()
      const pipeline = openPipeline({ localLog: { directory: join(file, 'below'), ...FOREVER } }, report)
      for (const name of ['one', 'two']) {
        recordSpans(pipeline, name)
        await pipeline.flush()
      }
      await pipeline[endBy]()
      expect(report.said).toEqual([
        expect.stringMatching(
          /^trace log: cannot write .* Choose a path of directories; until then traces are not stored$/,
        ),
        'trace log: 2 spans are not in it',
      ])
    },
  )

  test('is used again once it can be written', async () => {
    const directory = join(await scratchDirectory(), 'state')
    await writeFile(directory, 'in the way')
    const report = new Lines()
    const pipeline = openPipeline({ localLog: { directory, ...FOREVER } }, report)
    recordSpans(pipeline, 'lost')
    await pipeline.flush()
    await rm(directory)
    recordSpans(pipeline, 'kept')
    await pipeline.flush()
    expect(spanNames(await lines(String(pipeline.stats().traceFiles[0])))).toEqual(['kept'])
    expect(report.said.at(-1)).toBe('trace log: it can be written again; 1 span is not in it')
  })

  test('is recreated if it was removed', async () => {
    const directory = await scratchDirectory()
    const pipeline = openPipeline({ localLog: { directory, ...FOREVER } })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    await rm(join(directory, 'traces'), { recursive: true })
    recordSpans(pipeline, 'two')
    await pipeline.flush()
    expect(spanNames(await lines(String(pipeline.stats().traceFiles[0])))).toEqual(['two'])
  })
})

describe('pruning', () => {
  async function filled(
    ...files: readonly (readonly [name: string, bytes: number, ageHours: number])[]
  ): Promise<string> {
    const directory = await scratchDirectory()
    await mkdir(join(directory, 'traces'))
    for (const [name, bytes, ageHours] of files) {
      const path = join(directory, 'traces', name)
      await writeFile(path, 'x'.repeat(bytes))
      const at = Date.now() / 1000 - ageHours * 3600
      await utimes(path, at, at)
    }
    return directory
  }

  const left = async (directory: string): Promise<string[]> => (await readdir(join(directory, 'traces'))).sort()

  const prune = async (directory: string, limits: Partial<typeof FOREVER>): Promise<[string, number][]> => {
    const settings = { directory, ...FOREVER, ...limits }
    const pruned: [string, number][] = []
    const nothing = (): void => undefined
    const losses = { note: (backend: string, spans: number) => pruned.push([backend, spans]), save: nothing }
    const store = openStore(settings, losses)
    store.prune()
    await store.stop()
    return pruned
  }

  test('removes files that are too old', async () => {
    const directory = await filled([`1000-${ABSENT_PID}.jsonl`, 5, 10], [`2000-${ABSENT_PID}.jsonl`, 5, 1])
    await prune(directory, { maxBytes: 100, maxAgeHours: 5 })
    expect(await left(directory)).toEqual([`2000-${ABSENT_PID}.jsonl`])
  })

  test('removes the oldest files above the limit', async () => {
    const directory = await filled(
      [`3000-${ABSENT_PID}.jsonl`, 40, 1],
      [`1000-${ABSENT_PID}.jsonl`, 40, 3],
      [`2000-${ABSENT_PID}.jsonl`, 40, 2],
    )
    await prune(directory, { maxBytes: 90, maxAgeHours: 5 })
    expect(await left(directory)).toEqual([`2000-${ABSENT_PID}.jsonl`, `3000-${ABSENT_PID}.jsonl`])
  })

  test('leaves foreign files, and segments that another process needs', async () => {
    const names = ['notes.txt', `1000-${process.pid}.jsonl`, 'other.jsonl']
    const directory = await filled(...names.map(name => [name, 50, 1000] as const))
    Checkpoint.create(directory, `1000-${process.pid}`, ['jaeger'])
    expect(await prune(directory, { maxBytes: 1, maxAgeHours: 1 })).toEqual([])
    expect(await left(directory)).toEqual([...names].sort())
  })

  test('counts pending spans as lost', async () => {
    const directory = await filled([`1000-${ABSENT_PID}.jsonl`, 0, 10])
    const line = requestLine('one', 'two')
    await writeFile(join(directory, 'traces', `1000-${ABSENT_PID}.jsonl`), line + requestLine('three'))
    const checkpoint = Checkpoint.create(directory, `1000-${ABSENT_PID}`, ['jaeger', 'phoenix', 'tempo'])
    checkpoint.advance('phoenix', line.length)
    checkpoint.advance('tempo', 1e6)
    checkpoint.release()
    expect(await prune(directory, { maxBytes: 1 })).toEqual([
      ['jaeger', 3],
      ['phoenix', 1],
    ])
    expect(await left(directory)).toEqual([])
    expect(await readdir(join(directory, 'spool'))).toEqual([])
  })

  test('happens when a file is opened, and never fails', async () => {
    const directory = await filled([`1000-${ABSENT_PID}.jsonl`, 5, 10])
    const pipeline = openPipeline({ localLog: { directory, maxBytes: 1 << 20, maxAgeHours: 5, flushMillis: 100 } })
    recordSpans(pipeline, 'one')
    await pipeline.flush()
    await pipeline.shutdown()
    expect(await left(directory)).toEqual([basename(String(pipeline.stats().traceFiles[0]))])
    await expect(prune(join(directory, 'missing'), {})).resolves.toEqual([])
  })
})

describe('the backend file', () => {
  test('appends traces and metrics to files of the user, below directories that it creates', async () => {
    const directory = await scratchDirectory()
    const [path, metricsPath] = [join(directory, 'a', 'spans.jsonl'), join(directory, 'b', 'metrics.jsonl')]
    for (const name of ['one', 'two']) {
      const pipeline = openPipeline({
        backends: [backend('file', undefined, { options: { path, metrics_path: metricsPath } })],
      })
      recordSpans(pipeline, name)
      countPoint(pipeline, 'points')
      await pipeline.flush()
    }
    expect(spanNames(await lines(path))).toEqual(['one', 'two'])
    const metrics = await lines(metricsPath)
    expect(metrics).toHaveLength(2)
    expect(JSON.stringify(metrics[0])).toContain('"name":"points"')
    expect((await stat(path)).mode & MODE_BITS).toBe(0o600)
  })

  test('keeps the mode of a file that exists, and does without metrics', async () => {
    const path = join(await scratchDirectory(), 'spans.jsonl')
    await writeFile(path, '{}\n')
    await chmod(path, 0o644)
    const pipeline = openPipeline({ backends: [backend('file', undefined, { options: { path } })] })
    recordSpans(pipeline, 'one')
    countPoint(pipeline, 'points')
    await pipeline.flush()
    expect((await lines(path)).length).toBe(2)
    expect((await stat(path)).mode & MODE_BITS).toBe(0o644)
  })
})

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { LineParser } from '../../../src/delivery/trace-log/line-parser.ts'
import { ProtobufWriter } from '../../../src/delivery/trace-log/span-protobuf.ts'
import type { OtlpSink } from '../../support/otlp-sink.ts'
import { backend, Lines, openPipeline, recordSpans, scratchDirectory, startSink } from '../pipeline/pipeline-fixture.ts'
import { lineOf, spanWith } from './any-span.ts'
import { leave } from './checkpoint-fixture.ts'

afterEach(() => vi.restoreAllMocks())

function logIn(directory: string) {
  return { directory, maxBytes: 1 << 28, maxAgeHours: 1_000_000, flushMillis: 5 }
}

/** Lines of spans in the log, without its headers and notes. */
function linesIn(directory: string): string[] {
  const traces = join(directory, 'traces')
  const texts = readdirSync(traces)
    .sort()
    .map(name => readFileSync(join(traces, name), 'utf8'))
  return texts
    .join('')
    .split('\n')
    .filter(line => line.startsWith('{"resourceSpans"'))
}

function bodies(server: OtlpSink): string[] {
  return server.requests.map(({ body }) => body.toString())
}

/** Several requests as the one that they could have been. */
function resourceSpans(texts: readonly string[]): unknown[] {
  return texts.flatMap(text => (JSON.parse(text) as { resourceSpans: unknown[] }).resourceSpans)
}

describe('a line of the log, for a backend of http/json', () => {
  test('is sent live', async () => {
    const directory = await scratchDirectory()
    const server = await startSink()
    const backends = [backend('otlp', server.url, { protocol: 'http/json', metrics: false })]
    const pipeline = openPipeline({ backends, localLog: logIn(directory) })
    recordSpans(pipeline, 'one', 'two')
    await pipeline.flush()
    expect(bodies(server)).toEqual(linesIn(directory))
    expect(server.spanNames).toEqual(['one', 'two'])
  })

  test('is sent after an outage, without parsing', async () => {
    const directory = await scratchDirectory()
    const read = vi.spyOn(LineParser.prototype, 'read')
    const server = await startSink({ kind: 'status', status: 401 })
    const backends = [backend('otlp', server.url, { protocol: 'http/json', metrics: false })]
    const first = openPipeline({ backends, localLog: logIn(directory) })
    recordSpans(first, 'one')
    await first.flush()
    recordSpans(first, 'two', 'three')
    await first.shutdown()
    server.requests.splice(0)
    server.behaviour = { kind: 'ok' }
    const second = openPipeline({ backends, localLog: logIn(directory) })
    await second.deliverBacklog()
    expect(server.spanNames).toEqual(['one', 'two', 'three'])
    expect(resourceSpans(bodies(server))).toEqual(resourceSpans(linesIn(directory)))
    expect(read.mock.calls.filter(([line]) => line.startsWith('{"resourceSpans"'))).toEqual([])
  })
})

test('is converted to protobuf once for all backends that use it', async () => {
  const [one, two] = [await startSink(), await startSink()]
  const protobuf = { protocol: 'http/protobuf', metrics: false } as const
  const backends = [
    { ...backend('otlp', one.url, protobuf), name: 'one' },
    { ...backend('otlp', two.url, protobuf), name: 'two' },
  ]
  const pipeline = openPipeline({ backends, localLog: logIn(await scratchDirectory()) })
  const made = vi.spyOn(ProtobufWriter.prototype, 'start')
  recordSpans(pipeline, 'first', 'second')
  await pipeline.flush()
  expect([one.spanNames, two.spanNames]).toEqual([
    ['first', 'second'],
    ['first', 'second'],
  ])
  expect(made).toHaveBeenCalledTimes(1)
})

/** Damage that is seen by nobody who does not read the line. */
const damaged = lineOf([spanWith({ name: 'damaged' }), spanWith({ name: 'also' })]).replace('"kind":', '"kind"}')
const good = (name: string): string => lineOf([spanWith({ name }), spanWith({ name })])

async function left(lines: readonly string[]) {
  const directory = await scratchDirectory()
  mkdirSync(join(directory, 'traces'))
  writeFileSync(join(directory, 'traces', '1000-7.jsonl'), lines.map(line => `${line}\n`).join(''))
  leave(directory, { segment: '1000-7', text: '{"open":false,"delivered":{"otlp":0}}' })
  return directory
}

describe('a line that only looks whole', () => {
  test.each([
    ['among others', [good('a'), good('b'), damaged, good('c')], 6],
    ['alone', [damaged], 0],
  ])('costs that line and is reported: %s', async (_, lines, recovered) => {
    const server = await startSink()
    server.refuseBadJson = true
    const said = new Lines()
    const backends = [backend('otlp', server.url, { protocol: 'http/json', metrics: false })]
    const pipeline = openPipeline({ backends, localLog: logIn(await left(lines)) }, said)
    await pipeline.deliverBacklog()
    expect(server.spanNames).toHaveLength(recovered)
    expect(pipeline.stats().backends.find(({ name }) => name === 'otlp')).toMatchObject({
      recovered,
      dropped: 0,
      spoolBytes: 0,
    })
    expect(said.said).toEqual([expect.stringContaining('damaged lines of')])
  })

  test('costs that line for a backend of protobuf, which never receives it', async () => {
    const server = await startSink()
    const said = new Lines()
    const backends = [backend('otlp', server.url, { protocol: 'http/protobuf', metrics: false })]
    const pipeline = openPipeline({ backends, localLog: logIn(await left([good('a'), damaged, good('b')])) }, said)
    await pipeline.deliverBacklog()
    expect(server.spanNames).toEqual(['a', 'a', 'b', 'b'])
    expect(pipeline.stats().backends.find(({ name }) => name === 'otlp')).toMatchObject({ recovered: 4, dropped: 0 })
    expect(said.said).toEqual([expect.stringContaining('damaged lines of')])
  })
})

/** What a process that was killed had held, where the log of what is kept cannot be written. */
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Pipeline } from '../../../src/delivery/pipeline/index.ts'
import type { LocalLogSettings } from '../../../src/delivery/trace-log/index.ts'
import type { OtlpSink } from '../../support/otlp-sink.ts'
import { backend, Lines, openPipeline, recordSpans, scratchDirectory, startSink } from '../pipeline/pipeline-fixture.ts'
import { breakDisk, failure, mend, noFaults, wholeForEachTest } from './broken-disk.ts'
import { leaveHeld } from './held-segment.ts'

const faults = noFaults()
breakDisk(faults)

wholeForEachTest(faults)

const HOLDING = { reasonName: 'hermes.sampling.reason', maxBytes: 1 << 20, threshold: undefined }

interface Scene {
  readonly directory: string
  readonly sink: OtlpSink
  readonly lines: Lines
  open(): Pipeline
  /** A process that does what there is to do, and ends. */
  live(): Promise<void>
}

/** A state directory in which something is held that nobody lives for, and a backend that is down. */
async function leftBehind(continued?: LocalLogSettings['continued']): Promise<Scene & { readonly segment: string }> {
  const [directory, sink, lines] = [await scratchDirectory(), await startSink(), new Lines()]
  const localLog = { directory, maxBytes: 1 << 28, maxAgeHours: 1000, flushMillis: 5 }
  const backends = [backend('otlp', sink.url, { protocol: 'http/json', metrics: false })]
  const settings = { backends, localLog, tailSampling: HOLDING, flushWaitMillis: 500 }
  const open = (): Pipeline => openPipeline(settings, lines)
  const live = async (): Promise<void> => {
    const pipeline = open()
    await pipeline.deliverBacklog()
    await pipeline.shutdown()
  }
  const before = openPipeline({ ...settings, localLog: { ...localLog, continued } }, lines)
  recordSpans(before, 'before')
  await before.shutdown()
  sink.requests.splice(0)
  // A second attempt could be under way when the process ends, and arrive beside those of the next process.
  sink.behaviour = { kind: 'status', status: 503, headers: { 'retry-after': '60' } }
  rmSync(join(directory, 'kept'), { recursive: true })
  return { directory, sink, lines, open, live, segment: leaveHeld(directory, 'held', 'held, too') }
}

test('is left for later without loss', async () => {
  const { directory, sink, lines, live, segment } = await leftBehind()
  writeFileSync(join(directory, 'kept'), 'in the way', { mode: 0o600 })
  await live()
  expect(readdirSync(join(directory, 'spool'))).toEqual([`${segment}.free.json`])
  expect(sink.requests).toEqual([])
  expect(lines.said).toEqual([expect.stringMatching(/^trace log: cannot write .*kept: a part of the path is not/)])
  sink.behaviour = { kind: 'ok' }
  rmSync(join(directory, 'kept'))
  await live()
  expect(sink.spanNames).toEqual(['held', 'held, too'])
  expect(readdirSync(join(directory, 'spool'))).toEqual([])
})

test('is left for later if the disk fills up meanwhile', async () => {
  const { directory, sink, live, segment } = await leftBehind()
  faults.onWrite = text => {
    if (text.includes('held')) throw failure('ENOSPC')
  }
  await live()
  expect(readdirSync(join(directory, 'spool'))).toEqual([`${segment}.free.json`])
  mend(faults)
  sink.requests.splice(0)
  sink.behaviour = { kind: 'ok' }
  await live()
  expect(sink.spanNames).toEqual(['held', 'held, too'])
})

test('leaves the buffered spans of a receiver to the next one, which may have continued them, while that one writes', async () => {
  const minute = 60_000
  const { directory, sink, live, segment } = await leftBehind({ withinMillis: minute, isContinuedHere: () => false })
  sink.behaviour = { kind: 'ok' }
  const afterwards = Number(segment.split('-')[0]) + 1000
  const [path, later] = [segment, `${afterwards}-4712`].map(name => join(directory, 'traces', `${name}.jsonl`))
  const header = readFileSync(path ?? '', 'utf8').split('\n', 1)
  for (const each of [path, later]) {
    await live()
    expect(sink.spanNames).toEqual([])
    if (each === path) writeFileSync(later ?? '', `${header}\n`, { mode: 0o600 })
    utimesSync(each ?? '', new Date(), new Date(Date.now() - 2 * minute))
  }
  await live()
  expect(sink.spanNames).toEqual(['held', 'held, too'])
})

test('is found by a later recovery of the same process', async () => {
  const { directory, sink, lines, open } = await leftBehind()
  sink.behaviour = { kind: 'ok' }
  writeFileSync(join(directory, 'kept'), 'in the way', { mode: 0o600 })
  const pipeline = open()
  await pipeline.deliverBacklog()
  rmSync(join(directory, 'kept'))
  await pipeline.deliverBacklog()
  await pipeline.flush()
  expect(sink.spanNames).toEqual(['held', 'held, too'])
  expect(lines.said.slice(1)).toEqual(['trace log: kept traces can be written again'])
})

test('reports the state of the log of kept traces', async () => {
  const { directory, sink, lines, open } = await leftBehind()
  sink.behaviour = { kind: 'ok' }
  writeFileSync(join(directory, 'kept'), 'in the way', { mode: 0o600 })
  const pipeline = open()
  for (const name of ['one', 'two', 'three']) {
    recordSpans(pipeline, name)
    await pipeline.flush()
  }
  expect(lines.said).toEqual([expect.stringMatching(/^trace log: cannot write .*kept: a part of the path is not/)])
  expect(pipeline.stats().backends[0]).toMatchObject({ name: 'local_log', lastError: lines.said[0] })
  expect(sink.spanNames).toEqual(['one', 'two', 'three'])
  rmSync(join(directory, 'kept'))
  mkdirSync(join(directory, 'kept'), { mode: 0o700 })
  recordSpans(pipeline, 'four')
  await pipeline.flush()
  expect(lines.said.slice(1)).toEqual([
    'trace log: kept traces can be written again; 3 spans of it were only sent from memory',
  ])
})

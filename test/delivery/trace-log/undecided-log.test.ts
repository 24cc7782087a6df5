/** What a killed process had held, and nobody has judged: it is owed to nobody, and is lost all the same when it is removed. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readUndecided } from '../../../src/delivery/trace-log/backlog.ts'
import { readLosses } from '../../../src/delivery/trace-log/index.ts'
import { headerJson } from '../../../src/delivery/trace-log/line-parser.ts'
import { thisOwner } from '../../../src/delivery/trace-log/owner.ts'
import { MARKS } from '../pipeline/pipeline-fixture.ts'
import { lineOf, spanWith } from './any-span.ts'
import { leave } from './checkpoint-fixture.ts'
import { FakeServer, openScene, scratch } from './spooled-queue.ts'

const REASON = 'x.sampling.reason'
const HELD_FOR = new Map([
  ['jaeger', 'where jaeger was'],
  ['phoenix', 'where phoenix was'],
])
const SEGMENT = '1000-7'
const YEAR_SECONDS = 31_536_000

interface Told {
  readonly trace: number
  readonly span: number
  readonly reason?: string
}

function line(...told: readonly Told[]): string {
  const startTime: [number, number] = [Math.floor(Date.now() / 1000) - YEAR_SECONDS, 0]
  const spans = told.map(({ trace, span, reason }) =>
    spanWith({
      spanContext: () => ({
        traceId: `${trace}`.padStart(32, '0'),
        spanId: `${span}`.padStart(16, '0'),
        traceFlags: 1,
      }),
      attributes: reason === undefined ? {} : { [REASON]: reason },
      startTime,
      endTime: startTime,
    }),
  )
  return lineOf(spans)
}

/** As a process that was killed has left it. */
function segment(directory: string, { lines, heldBy = REASON, open = true, segment = SEGMENT }: Left): string {
  const path = join(directory, 'traces', `${segment}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, [headerJson(MARKS, HELD_FOR, 0, heldBy), ...lines, ''].join('\n'))
  if (open) leave(directory, { segment, text: '{"open":true,"delivered":{}}' })
  return path
}

interface Left {
  readonly lines: readonly string[]
  readonly heldBy?: string
  readonly open?: boolean
  readonly segment?: string
}

const TRACES = [
  line({ trace: 1, span: 1 }, { trace: 1, span: 2 }),
  line({ trace: 2, span: 3 }, { trace: 2, span: 4, reason: 'none' }),
]

async function pruned(directory: string) {
  const scene = openScene({ jaeger: new FakeServer() }, { directory })
  const old = Date.now() / 1000 - YEAR_SECONDS
  for (const name of readdirSync(join(directory, 'traces'))) utimesSync(join(directory, 'traces', name), old, old)
  scene.store.prune()
  await scene.close()
  const losses = (await readLosses(directory, 0)).map(({ backend, spans, reason }) => ({ backend, spans, reason }))
  const counts = scene.queues[0]?.counts()
  return { losses, counts, said: scene.lines.said, left: readdirSync(join(directory, 'traces')) }
}

describe('a buffered segment removed to make room', () => {
  test('is counted for each backend that it was buffered for, and reported', async () => {
    const directory = scratch()
    segment(directory, { lines: TRACES })
    const { losses, counts, said, left } = await pruned(directory)
    expect(left).toEqual([])
    // That of jaeger, which this process delivers to, is counted by its queue.
    expect(losses).toEqual([{ backend: 'phoenix', spans: 2, reason: 'the trace log was full' }])
    expect(counts).toMatchObject({ dropped: 2 })
    expect(said).toEqual(
      ['jaeger', 'phoenix'].map(name =>
        expect.stringContaining(`2 spans pending for backend ${name} were removed with the oldest part of the log`),
      ),
    )
  })

  test('does not count spans that are in the log of kept traces', async () => {
    const directory = scratch()
    segment(directory, { lines: TRACES })
    segment(join(directory, 'kept'), { lines: [line({ trace: 1, span: 2 })], heldBy: '', open: false })
    expect(await pruned(directory)).toMatchObject({ left: [], losses: [{ backend: 'phoenix', spans: 1 }] })
  })

  test.each([
    ['in a decided segment', { open: false }],
    ['of a dropped trace', { lines: [TRACES[1] ?? ''] }],
  ])('does not count spans %s', async (_what, more) => {
    const directory = scratch()
    segment(directory, { lines: TRACES, ...more })
    expect(await pruned(directory)).toMatchObject({ left: [], losses: [], said: [] })
  })
})

describe('the segments of the log', () => {
  test('lists them by the backends that they are buffered for', async () => {
    const directory = scratch()
    segment(directory, { lines: TRACES, segment: '2000-7' })
    segment(directory, { lines: TRACES })
    const [first, ...others] = await readUndecided(directory)
    expect(others).toEqual([])
    expect(first).toMatchObject({ destinations: HELD_FOR, segments: 2, oldestAt: 1000 })
    expect(first?.bytes).toBeGreaterThan(1000)
  })

  test.each([
    ['of a process that lives', { open: false }, thisOwner()],
    ['in a decided segment', { open: false }, undefined],
    ['in a segment pending for backends', { heldBy: '' }, undefined],
  ])('lists none %s', async (_what, more, owner) => {
    const directory = scratch()
    segment(directory, { lines: TRACES, ...more })
    if (owner) leave(directory, { segment: SEGMENT, owner, text: '{"open":true,"delivered":{}}' })
    expect(await readUndecided(directory)).toEqual([])
  })
})

import timers from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Backpressure } from '../../src/cli/replay.ts'
import type { BackendStats } from '../../src/delivery/pipeline/index.ts'
import { START_AT } from '../support/feed.ts'
import { replaceBuiltin } from '../support/replaced-builtin.ts'
import { asLines, generatedRecords } from './generated-records.ts'
import { ScratchReplay } from './scratch-replay.ts'

const pauses: number[] = []
let onPause: () => void = () => undefined
replaceBuiltin(timers, ({ setImmediate }) => ({
  setTimeout: (millis => {
    pauses.push(millis ?? 0)
    onPause()
    // A loop that a red test of another file has left behind would otherwise never let the process go on.
    return setImmediate()
  }) as typeof timers.setTimeout,
}))

let scratch: ScratchReplay
beforeEach(() => {
  scratch = new ScratchReplay()
  pauses.length = 0
  onPause = () => undefined
})
afterEach(() => scratch.remove())

describe('--speed', () => {
  const RECORDS = generatedRecords(10).records

  test.each<[string, number[]]>([
    ['1', [1, 1, 198, 10, 1, 89, 20, 80, 10]],
    ['10', [0.1, 0.1, 19.8, 1, 0.1, 8.9, 2, 8, 1]],
  ])('keeps the pauses of the recording: %s', async (speed, expected) => {
    const file = scratch.put('in.jsonl', asLines(RECORDS))
    expect(await scratch.spansOf([file, '--speed', speed])).toHaveLength(5)
    expect(pauses).toEqual(expected)
  })

  test('has no pauses without it', async () => {
    await scratch.spansOf([scratch.put('in.jsonl', asLines(RECORDS))])
    expect(pauses).toEqual([])
  })

  test('skips a night in the recording, and time that runs backwards', async () => {
    const [first, second, ...others] = RECORDS
    const night = { ...second, at: START_AT + 36_000_000 }
    const file = scratch.put('in.jsonl', asLines([{ ...first }, night, ...others]))
    await scratch.spansOf([file, '--speed', '1'])
    expect(pauses.slice(0, 2)).toEqual([60_000, 198])
  })
})

test('gives a record without a time that of the previous one', async () => {
  const untimed = generatedRecords(10).records.map(({ at, ...record }, index) =>
    index % 2 === 0 ? { ...record, at } : record,
  )
  const spans = await scratch.spansOf([scratch.put('in.jsonl', asLines(untimed))])
  const ends = spans.map(span => span.endAt - START_AT)
  expect(spans).toHaveLength(5)
  expect(Math.max(...ends)).toBe(400)
  expect(Math.min(...spans.map(span => span.startAt))).toBe(START_AT)
})

describe('a replay that is faster than a backend', () => {
  const stats = (counts: Partial<BackendStats>): BackendStats => ({
    name: 'slow',
    type: 'otlp',
    delivered: 0,
    dropped: 0,
    queued: 0,
    spooled: 0,
    spooledEver: 0,
    retried: 0,
    recovered: 0,
    isKept: false,
    spoolBytes: 0,
    ...counts,
  })

  test('waits until it has caught up', async () => {
    let queued = 4100
    onPause = () => {
      queued -= 1
    }
    const backpressure = new Backpressure(() => [stats({ queued, delivered: 9000 - queued }), stats({ name: 'idle' })])
    await backpressure.afterRecord(100)
    expect({ queued, pauses: pauses.length }).toEqual({ queued: 4096, pauses: 4 })
  })

  test('does not look after each record', async () => {
    const look = vi.fn(() => [stats({})])
    const backpressure = new Backpressure(look)
    for (let count = 1; count <= 99; count += 1) await backpressure.afterRecord(count)
    expect(look).not.toHaveBeenCalled()
    await backpressure.afterRecord(100)
    expect(look).toHaveBeenCalledOnce()
  })

  test('gives up one that accepts nothing, for good, and still waits for the others', async () => {
    let alive = 9000
    onPause = () => {
      alive -= 1
    }
    const hanging = stats({ name: 'hanging', queued: 5000 })
    const backends = (): BackendStats[] => [hanging, stats({ name: 'alive', queued: alive, delivered: 9000 - alive })]
    const backpressure = new Backpressure(backends, 3)
    await backpressure.afterRecord(100)
    expect(alive).toBeLessThanOrEqual(4096)
    pauses.length = 0
    await backpressure.afterRecord(200)
    expect(pauses).toEqual([])
  })
})

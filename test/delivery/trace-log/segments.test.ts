import { expect, test, vi } from 'vitest'
import { Checkpoint } from '../../../src/delivery/trace-log/checkpoint.ts'
import { SegmentManager } from '../../../src/delivery/trace-log/segments.ts'
import { Lines } from '../pipeline/pipeline-fixture.ts'
import { scratch } from './spooled-queue.ts'

test('avoids a checkpoint of the same name, of another thread of this process', () => {
  const state = scratch()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  try {
    Checkpoint.create(state, `${Date.now()}-${process.pid}`, [])
    const settings = { directory: state, maxBytes: 1 << 28, maxAgeHours: 1, flushMillis: 5 }
    const nothing = (): void => undefined
    const custody = new SegmentManager({ settings, queues: new Map(), report: new Lines() }, nothing, nothing)
    expect(custody.current(() => undefined)).toHaveProperty('segment')
    custody.endWriting(true)
  } finally {
    vi.useRealTimers()
  }
})

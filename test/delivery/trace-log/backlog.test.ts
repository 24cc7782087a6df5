import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBacklog } from '../../../src/delivery/trace-log/backlog.ts'
import { Checkpoint } from '../../../src/delivery/trace-log/checkpoint.ts'
import { deadOwner, farOwner, leave, stateDirectory } from './checkpoint-fixture.ts'

function writeSegment(state: string, segment: string, bytes: number): void {
  mkdirSync(join(state, 'traces'), { recursive: true })
  writeFileSync(join(state, 'traces', `${segment}.jsonl`), 'x'.repeat(bytes))
}

test('is empty without a log', async () => {
  expect(await readBacklog(stateDirectory())).toEqual([])
})

test('sums pending data per backend, living owners apart', async () => {
  const state = stateDirectory()
  for (const [segment, bytes] of [
    ['3000-7', 100],
    ['1000-7', 200],
    ['2000-7', 300],
    ['4000-7', 50],
  ] as const) {
    writeSegment(state, segment, bytes)
  }
  leave(state, { segment: '3000-7', owner: deadOwner(), text: '{"open":true,"delivered":{"jaeger":40,"phoenix":100}}' })
  leave(state, { segment: '2000-7', text: '{"open":false,"delivered":{"jaeger":0,"__proto__":299}}' })
  leave(state, {
    segment: '1000-7',
    owner: farOwner(),
    heartbeatAt: Date.now(),
    text: '{"open":false,"delivered":{"jaeger":1}}',
  })
  Checkpoint.create(state, '4000-7', ['jaeger', 'phoenix']).advance('phoenix', 51)
  expect(await readBacklog(state)).toEqual([
    { backend: '__proto__', segments: 1, bytes: 1, oldestAt: 2000, isLive: false },
    { backend: 'jaeger', segments: 2, bytes: 360, oldestAt: 2000, isLive: false },
    { backend: 'jaeger', segments: 2, bytes: 249, oldestAt: 1000, isLive: true },
  ])
})

test('ignores missing segments and damaged checkpoints', async () => {
  const state = stateDirectory()
  writeSegment(state, '1000-7', 100)
  leave(state, { segment: '1000-7', text: '' })
  leave(state, { segment: '2000-7', text: '{"open":true,"delivered":{"jaeger":0}}' })
  expect(await readBacklog(state)).toEqual([])
})

test('tolerates files that disappear meanwhile', async () => {
  const state = stateDirectory()
  for (let number = 1000; number < 1100; number++) {
    writeSegment(state, `${number}-7`, 100)
    leave(state, { segment: `${number}-7` })
  }
  const reading = readBacklog(state)
  rmSync(state, { recursive: true })
  expect(Array.isArray(await reading)).toBe(true)
})

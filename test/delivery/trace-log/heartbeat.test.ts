/** Until when a process is known to have lived that is killed in the middle of something. */
import { readFileSync } from 'node:fs'
import type { Span } from '@opentelemetry/api'
import { beforeEach, expect, test, vi } from 'vitest'
import { listCheckpoints } from '../../../src/delivery/trace-log/checkpoint.ts'
import { afterwards } from '../../support/afterwards.ts'
import { openScene } from './spooled-queue.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })
  afterwards(() => vi.useRealTimers())
})

test('records in the checkpoint until when its process lived', async () => {
  vi.setSystemTime(Date.now() + 3_600_000)
  const scene = openScene({})
  const began = Date.now()
  const seenAfter = async (): Promise<number> => {
    const [entry] = await listCheckpoints(scene.directory)
    // A file's time is a float.
    return Math.round((entry?.heartbeatAt ?? 0) - began)
  }
  const tool = scene.start('tool')
  await scene.store.traceLog.forceFlush()
  vi.advanceTimersByTime(5000)
  expect(await seenAfter()).toBe(4000)
  tool.end()
  await scene.store.traceLog.forceFlush()
  const [last, timers] = [await seenAfter(), vi.getTimerCount()]
  vi.advanceTimersByTime(4900)
  expect([await seenAfter(), vi.getTimerCount()]).toEqual([last, timers - 1])
})

test('renews the note of an open span with its attributes', async () => {
  const scene = openScene({})
  const root = scene.start('root') as Span
  await scene.store.traceLog.forceFlush()
  const size = (): string => readFileSync(scene.store.segments.paths[0] ?? '', 'utf8')
  expect(size()).not.toContain('Why does CI fail?')
  root.setAttribute('input.value', 'Why does CI fail?')
  scene.store.traceLog.renewNote(root)
  await scene.store.traceLog.forceFlush()
  expect(size()).toContain('Why does CI fail?')
  const written = size()
  root.end()
  scene.store.traceLog.renewNote(root)
  await scene.store.traceLog.forceFlush()
  expect(size().slice(written.length)).not.toContain('hookspan.open')
})

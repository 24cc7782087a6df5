import { expect, test } from 'vitest'
import { FakeServer, names, openScene, status } from './spooled-queue.ts'

test('does not mistake a host that is busy for seconds for a disk that hangs', async () => {
  const scene = openScene({ jaeger: new FakeServer(status(503)) }, { batch: { maxQueueSize: 64 } })
  scene.record('first')
  // Until the write is under way in another thread.
  await new Promise(resolve => setTimeout(resolve, 6))
  await new Promise(setImmediate)
  const busyUntil = performance.now() + 2300
  while (performance.now() < busyUntil) scene.record(...names(20))
  await scene.close()
  const { stored, dropped } = scene.store.traceLog.counts()
  expect(dropped).toBe(0)
  expect(stored).toBeGreaterThan(64)
})

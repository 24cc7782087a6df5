import { expect, test } from 'vitest'
import { listOpenSegments } from '../../../src/delivery/trace-log/index.ts'
import { thisOwner } from '../../../src/delivery/trace-log/owner.ts'
import { deadOwner, farOwner, leave, stateDirectory } from './checkpoint-fixture.ts'

const NOW = 1_795_256_104_330

/** `1-1 owned`, in order. */
async function openIn(state: string): Promise<string[]> {
  const segments = await listOpenSegments(state, NOW)
  return segments.map(({ path, isOwned }) => `${/([\d-]+)\.jsonl$/.exec(path)?.[1]} ${isOwned ? 'owned' : 'left'}`)
}

test('lists a segment as open until it is closed, and as owned while its process lives', async () => {
  const state = stateDirectory()
  leave(state, { segment: '1-1', owner: thisOwner() })
  leave(state, { segment: '2-1', owner: thisOwner(), text: '{"open":false,"delivered":{"jaeger":10}}' })
  leave(state, { segment: '3-1', owner: deadOwner() })
  leave(state, { segment: '4-1' })
  leave(state, { segment: '5-1', owner: farOwner(), heartbeatAt: NOW - 60_000 })
  leave(state, { segment: '6-1', owner: farOwner(), heartbeatAt: NOW - 3_600_000 })
  expect(await openIn(state)).toEqual(['1-1 owned', '3-1 left', '4-1 left', '5-1 owned', '6-1 left'])
})

test('lists none without a log', async () => {
  expect(await openIn(stateDirectory())).toEqual([])
})

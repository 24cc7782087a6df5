import { expect, test } from 'vitest'
import { type Step, told } from '../support/feed.ts'
import { answered, asked, began, TURN, used } from '../traces/scenes.ts'

const idsOf = (steps: readonly Step[]): string[] => {
  const plugin = told(steps, { deterministic_ids: true, host: 'h' })
  return plugin.spans().map(({ spanId }) => spanId)
}

test('ids differ between a span of a turn and the late one that is like it', () => {
  const first = used(100, { tool_call_id: undefined })
  const late = used(500, { tool_call_id: undefined })
  const ids = idsOf([...began(), ...first, ...answered(300), ...late])
  expect(new Set(ids).size).toBe(ids.length)
})

test('ids differ between a failed request that stands alone and the attempt that follows it', () => {
  const failed = { ...TURN, api_request_id: 'r1', error: { type: 'Timeout' } }
  const ids = idsOf([[50, 'api_request_error', failed], ...asked(100), ...answered(300)])
  expect(ids).toHaveLength(3)
  expect(new Set(ids).size).toBe(3)
})

test('ids differ between the turns of a session that was torn down and came again', () => {
  const turn = (at: number): Step[] => [
    [at, 'on_session_start', { session_id: 's1' }],
    [at + 50, 'on_session_end', { session_id: 's1', completed: true }],
    [at + 60, 'on_session_finalize', { session_id: 's1' }],
  ]
  const ids = idsOf([...turn(0), ...turn(1000)])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(2)
})

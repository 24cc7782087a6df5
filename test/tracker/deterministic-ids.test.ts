import { expect, test } from 'vitest'
import { createTestPlugin } from '../../src/testing.ts'
import { TurnHistory } from '../../src/tracker/turn-history.ts'
import { type Step, told } from '../support/feed.ts'
import { answered, asked, began, TURN, used } from '../traces/scenes.ts'

const idsOf = (steps: readonly Step[]): string[] => {
  const plugin = told(steps, { deterministic_ids: true, host: 'h' })
  return plugin.spans().map(({ spanId }) => spanId)
}

test('gives a span of a turn and a similar late one different ids', () => {
  const first = used(100, { tool_call_id: undefined })
  const late = used(500, { tool_call_id: undefined })
  const ids = idsOf([...began(), ...first, ...answered(300), ...late])
  expect(new Set(ids).size).toBe(ids.length)
})

test('gives a failed request that stands alone and the attempt that follows it different ids', () => {
  const failed = { ...TURN, api_request_id: 'r1', error: { type: 'Timeout' } }
  const ids = idsOf([[50, 'api_request_error', failed], ...asked(100), ...answered(300)])
  expect(ids).toHaveLength(3)
  expect(new Set(ids).size).toBe(3)
})

test('gives the turns of a session that was torn down and reused different ids', () => {
  const turn = (at: number): Step[] => [
    [at, 'on_session_start', { session_id: 's1' }],
    [at + 50, 'on_session_end', { session_id: 's1', completed: true }],
    [at + 60, 'on_session_finalize', { session_id: 's1' }],
  ]
  const ids = idsOf([...turn(0), ...turn(1000)])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(2)
})

test('gives turns without time and id different ids, and repeats them in a second replay', () => {
  const SESSION = { session_id: 's1' }
  const turn: [string, object][] = [
    ['pre_llm_call', { ...SESSION, user_message: 'again' }],
    ['pre_api_request', { ...SESSION, api_call_count: 1 }],
    ['post_api_request', { ...SESSION, api_call_count: 1 }],
    ['on_session_end', { ...SESSION, completed: true }],
  ]
  const replay = (): string[] => {
    const plugin = createTestPlugin({ deterministic_ids: true, host: 'h' })
    for (const [hook, payload] of [...turn, ...turn, ...turn]) plugin.emitUntyped(hook, payload)
    return plugin.spans().map(({ traceId, spanId }) => `${traceId} ${spanId}`)
  }
  const ids = replay()
  expect(ids).toHaveLength(9)
  expect(new Set(ids).size).toBe(9)
  expect(new Set(ids.map(id => id.split(' ')[0])).size).toBe(3)
  expect(replay()).toEqual(ids)
})

test('bounds the counters of ids: drops the oldest, keeps active ones', () => {
  const memory = new TurnHistory('turn')
  const [oldest] = [memory.nextSeed('tool oldest'), memory.nextSeed('tool again')]
  for (let call = 1; call < 100_000; call++) {
    memory.nextSeed(`tool ${call}`)
    if (call === 50_000) memory.nextSeed('tool again')
  }
  expect(memory.nextSeed('tool oldest')).toBe(oldest)
  expect(memory.nextSeed('tool again').endsWith('\u00002')).toBe(true)
})

import { expect, test } from 'vitest'
import { START_AT, type Step, told } from '../support/feed.ts'
import { answered, began, delegated, used } from '../traces/scenes.ts'

/** Milliseconds after the start of the scene. */
function openSince(steps: readonly Step[]): number | undefined {
  const since = told(steps).stats().openSince
  return since === undefined ? undefined : since - START_AT
}

test('reports nothing open before the first turn and after the last', () => {
  expect(openSince([])).toBeUndefined()
  expect(openSince([...began(), ...used(100), ...answered(200)])).toBeUndefined()
})

test('returns the start of the oldest open turn as openSince', () => {
  expect(openSince([...began(), ...used(100)])).toBe(0)
  const other: Step = [500, 'pre_llm_call', { session_id: 's2', turn_id: 't2' }]
  expect(openSince([...began(), other])).toBe(0)
  expect(openSince([...began(), other, ...answered(600)])).toBe(500)
})

test("counts a running child from the start of its parent's ended turn", () => {
  const child: Step[] = [
    [120, 'on_session_start', { session_id: 'C' }],
    [130, 'pre_llm_call', { session_id: 'C', turn_id: 'ct1' }],
  ]
  expect(openSince([...began(), delegated(100), ...answered(200)])).toBe(0)
  expect(openSince([...began(), delegated(100), ...child, ...answered(200)])).toBe(0)
  const stop: Step = [210, 'subagent_stop', { parent_session_id: 's1', parent_turn_id: 't1', child_session_id: 'C' }]
  expect(openSince([...began(), delegated(100), ...child, ...answered(200), stop])).toBe(0)
})

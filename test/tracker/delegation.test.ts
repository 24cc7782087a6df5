import { describe, expect, test } from 'vitest'
import { DelegationRegistry } from '../../src/tracker/delegation.ts'
import { type TrackedDelegation, TrackedSession, type TrackedSpan } from '../../src/tracker/turn.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'

const HOST = 'hermes'
const LIMIT = 1000

function registered(): { registry: DelegationRegistry; evicted: TrackedDelegation[] } {
  const evicted: TrackedDelegation[] = []
  return { registry: new DelegationRegistry(LIMIT, delegation => evicted.push(delegation)), evicted }
}

const parent = turnOf(new TrackedSession('parent', HOST, 'parent'), 't1')

function spanOf(payload: object): TrackedSpan {
  return openSpan('subagent', parent, { start: payload })
}

function delegate(registry: DelegationRegistry, payload: object): TrackedDelegation {
  return registry.add(spanOf(payload), payload, 'parent', undefined)
}

const childTurn = () => turnOf(new TrackedSession('child', HOST, 'child'), 'c1')

describe('a delegation', () => {
  test('is found by either id of its child', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_session_id: 'c', child_subagent_id: 'a', child_role: 'leaf' })
    expect(registry.find(HOST, { child_session_id: 'c' })).toBe(delegation)
    expect(registry.find(HOST, { child_subagent_id: 'a' })).toBe(delegation)
    expect(registry.find(HOST, { child_session_id: 'c', child_subagent_id: 'other' })).toBe(delegation)
    expect(registry.find(HOST, { child_session_id: 'a' })).toBeUndefined()
    expect(registry.find('pi', { child_session_id: 'c' })).toBeUndefined()
    expect(registry.of(delegation.open)).toBe(delegation)
  })

  test('is not found without an id', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_role: 'leaf' })
    expect(registry.find(HOST, {})).toBeUndefined()
    expect(registry.of(delegation.open)).toBeUndefined()
  })

  test('replaces the first of the same child', () => {
    const { registry } = registered()
    const first = delegate(registry, { child_session_id: 'c' })
    const second = delegate(registry, { child_session_id: 'c' })
    expect(registry.find(HOST, { child_session_id: 'c' })).toBe(second)
    expect(registry.of(first.open)).toBeUndefined()
    registry.forget(first)
    expect(registry.find(HOST, { child_session_id: 'c' })).toBe(second)
  })
})

describe('the delegation of a child', () => {
  test('is found while the child may still start', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_session_id: 'c' })
    expect(registry.forChild(HOST, 'c', 1e9)).toBe(delegation)
    expect(registry.forChild(HOST, undefined, 0)).toBeUndefined()
    expect(registry.forChild(HOST, 'stranger', 0)).toBeUndefined()
  })

  test('is found after the stop, within the limit', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_session_id: 'c' })
    registry.stop(delegation, 100)
    expect(registry.forChild(HOST, 'c', 100 + LIMIT)).toBe(delegation)
    expect(registry.forChild(HOST, 'c', 101 + LIMIT)).toBeUndefined()
    expect(registry.forChild(HOST, 'c', 100)).toBeUndefined()
  })

  test('is found until the child has returned and its last turn has ended', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_session_id: 'c' })
    const [first, second] = [childTurn(), childTurn()]
    registry.childStarted(delegation, first)
    registry.childEnded(delegation, first)
    expect(registry.forChild(HOST, 'c', 0)).toBe(delegation)
    registry.childStarted(delegation, second)
    registry.stop(delegation, 100)
    expect(registry.forChild(HOST, 'c', 0)).toBe(delegation)
    registry.childEnded(delegation, second)
    expect(registry.forChild(HOST, 'c', 0)).toBeUndefined()
  })
})

describe("a delegation whose parent's turn has ended", () => {
  test('stays open while its child has not started, or runs', () => {
    const { registry } = registered()
    const delegation = delegate(registry, { child_session_id: 'c' })
    expect(registry.outlivesTurn(delegation.open)).toBe(true)
    const turn = childTurn()
    registry.childStarted(delegation, turn)
    expect(registry.outlivesTurn(delegation.open)).toBe(true)
  })

  test('ends if nothing else could end it', () => {
    const { registry } = registered()
    expect(registry.outlivesTurn(delegate(registry, {}).open)).toBe(false)
  })
})

describe('a stop', () => {
  test('is recognised when repeated, by either id', () => {
    const { registry } = registered()
    registry.stop(delegate(registry, { child_session_id: 'c', child_subagent_id: 'a' }), 100)
    expect(registry.wasStopped(HOST, { child_session_id: 'c' })).toBe(true)
    expect(registry.wasStopped(HOST, { child_subagent_id: 'a' })).toBe(true)
    expect(registry.wasStopped('pi', { child_session_id: 'c' })).toBe(false)
    expect(registry.wasStopped(HOST, {})).toBe(false)
  })

  test('is recognised without a delegation, too', () => {
    const { registry } = registered()
    registry.noteStopped(HOST, { child_subagent_id: 'a' })
    expect(registry.wasStopped(HOST, { child_subagent_id: 'a' })).toBe(true)
  })
})

test('is bounded in number, and reported when dropped', () => {
  const { registry, evicted } = registered()
  for (let child = 0; child < 10_500; child += 1) delegate(registry, { child_session_id: `c${child}` })
  expect(evicted.map(({ childSessionId }) => childSessionId)).toEqual(
    Array.from({ length: 500 }, (_, child) => `c${child}`),
  )
  expect(registry.find(HOST, { child_session_id: 'c499' })).toBeUndefined()
  expect(registry.find(HOST, { child_session_id: 'c500' })).toBeDefined()
})

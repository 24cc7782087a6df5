import { describe, expect, test } from 'vitest'
import type { HookName } from '../../src/contract/index.ts'
import { isEndOf, isOfEarlierAttempt, retryCount } from '../../src/tracker/attempts.ts'
import { TrackedSession, type TrackedTurn } from '../../src/tracker/turn.ts'
import { type EndedMark, TurnHistory } from '../../src/tracker/turn-history.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'

function turn(): TrackedTurn {
  return turnOf(new TrackedSession('s1', 'hermes', 's1'), 't1')
}

const told = (retry_count: unknown): { retry_count: number } => ({ retry_count }) as { retry_count: number }

function attempts(...retryCounts: unknown[]): number[] {
  const memory = new TurnHistory('')
  return retryCounts.map(said => memory.nextAttempt('r1', retryCount(told(said))))
}

describe('the number of an attempt', () => {
  test("follows the host's numbers", () => {
    expect(attempts(0, 1, 2)).toEqual([0, 1, 2])
    expect(attempts('0', '1')).toEqual([0, 1])
  })

  test('counts up if the host sends no numbers', () => {
    expect(attempts(undefined, undefined, undefined)).toEqual([0, 1, 2])
  })

  test('counts up if the host repeats one number', () => {
    expect(attempts(0, 0, 0)).toEqual([0, 1, 2])
  })

  test('keeps the gap of lost attempts', () => {
    expect(attempts(0, 3, undefined)).toEqual([0, 3, 4])
    expect(attempts(2)).toEqual([2])
  })

  test('never decreases', () => {
    expect(attempts(2, 0, 1)).toEqual([2, 3, 4])
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, Number.MAX_VALUE, {}, true, 'x', null])(
    "is counted if the host's number is %s",
    odd => {
      expect(attempts(odd, odd)).toEqual([0, 1])
    },
  )

  test('starts at 0 for each request', () => {
    const memory = new TurnHistory('')
    const numbers = ['r1', 'r2', 'r1', 'r2'].map(request => memory.nextAttempt(request))
    expect(numbers).toEqual([0, 0, 1, 1])
  })

  test('continues after an attempt without a start', () => {
    const memory = new TurnHistory('')
    memory.nextAttempt('r1')
    memory.keepAttempt('r1', 3)
    memory.keepAttempt('r1', 1)
    expect(memory.nextAttempt('r1')).toBe(4)
  })

  test('is remembered for a limited number of requests', () => {
    const memory = new TurnHistory('')
    for (let request = 0; request < 25_000; request += 1) memory.nextAttempt(`r${request}`)
    expect(memory.nextAttempt('r24999')).toBe(1)
    expect(memory.nextAttempt('r14000')).toBe(0)
  })
})

describe('an end', () => {
  const open = (retryCount: unknown) =>
    openSpan('api', turn(), { start: told(retryCount), attempt: Number(retryCount ?? 0) })

  test('belongs to the attempt with its number', () => {
    expect(isEndOf(open(1), told(1))).toBe(true)
    expect(isEndOf(open(1), told(0))).toBe(false)
    expect(isEndOf(open('1'), told(1))).toBe(true)
  })

  test('belongs to the open attempt if either has no number', () => {
    expect(isEndOf(open(undefined), told(1))).toBe(true)
    expect(isEndOf(open(1), told(undefined))).toBe(true)
    expect(isEndOf(openSpan('api', turn(), { start: undefined }), told(1))).toBe(true)
  })

  test('may report the failure of an attempt before the remembered one', () => {
    const isOfEarlier = (hook: HookName, retryCount: unknown): boolean =>
      isOfEarlierAttempt('api', { hook, at: 0, payload: told(retryCount), facts: {} }, { attempt: 1 } as EndedMark)
    expect(isOfEarlier('api_request_error', 0)).toBe(true)
    expect(isOfEarlier('api_request_error', 1)).toBe(false)
    expect(isOfEarlier('api_request_error', undefined)).toBe(false)
    expect(isOfEarlier('post_api_request', 0)).toBe(false)
  })
})

import { describe, expect, test } from 'vitest'
import type { HookName } from '../../src/contract/index.ts'
import { isEndOf, isOfEarlierAttempt, nextAttempt } from '../../src/core/api-attempts.ts'
import { type EndedMark, newSession, type Turn } from '../../src/core/turn.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'

function turn(): Turn {
  return turnOf(newSession('s1', 'hermes', 's1'), 't1')
}

const told = (retry_count: unknown): { retry_count: number } => ({ retry_count }) as { retry_count: number }

function attempts(...retryCounts: unknown[]): number[] {
  const one = turn()
  return retryCounts.map(retryCount => nextAttempt(one, 'r1', told(retryCount)))
}

describe('attempts are numbered', () => {
  test('as the host numbers them', () => {
    expect(attempts(0, 1, 2)).toEqual([0, 1, 2])
    expect(attempts('0', '1')).toEqual([0, 1])
  })

  test('by us where the host does not', () => {
    expect(attempts(undefined, undefined, undefined)).toEqual([0, 1, 2])
  })

  test('by us where the host gives every attempt the same number', () => {
    expect(attempts(0, 0, 0)).toEqual([0, 1, 2])
  })

  test('with the gap that lost ones leave', () => {
    expect(attempts(0, 3, undefined)).toEqual([0, 3, 4])
    expect(attempts(2)).toEqual([2])
  })

  test('never backwards', () => {
    expect(attempts(2, 0, 1)).toEqual([2, 3, 4])
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, Number.MAX_VALUE, {}, true, 'x', null])(
    'as if it were not numbered, when the number is %s',
    odd => {
      expect(attempts(odd, odd)).toEqual([0, 1])
    },
  )

  test('a request on its own', () => {
    const one = turn()
    const numbers = ['r1', 'r2', 'r1', 'r2'].map(request => nextAttempt(one, request, {}))
    expect(numbers).toEqual([0, 0, 1, 1])
  })

  test('of so many requests only', () => {
    const one = turn()
    for (let request = 0; request < 25_000; request += 1) nextAttempt(one, `r${request}`, {})
    expect(one.attempts.size).toBeLessThanOrEqual(10_000)
  })
})

describe('an end', () => {
  const open = (retryCount: unknown) =>
    openSpan('api', turn(), { start: told(retryCount), attempt: Number(retryCount ?? 0) })

  test('is that of the attempt with its number', () => {
    expect(isEndOf(open(1), told(1))).toBe(true)
    expect(isEndOf(open(1), told(0))).toBe(false)
    expect(isEndOf(open('1'), told(1))).toBe(true)
  })

  test('is that of the open attempt, where one of the two has no number', () => {
    expect(isEndOf(open(undefined), told(1))).toBe(true)
    expect(isEndOf(open(1), told(undefined))).toBe(true)
    expect(isEndOf(openSpan('api', turn(), { start: undefined }), told(1))).toBe(true)
  })

  test('in an error may be that of an attempt before the one that is remembered', () => {
    const isOfEarlier = (hook: HookName, retryCount: unknown): boolean =>
      isOfEarlierAttempt('api', { hook, at: 0, payload: told(retryCount), facts: {} }, { attempt: 1 } as EndedMark)
    expect(isOfEarlier('api_request_error', 0)).toBe(true)
    expect(isOfEarlier('api_request_error', 1)).toBe(false)
    expect(isOfEarlier('api_request_error', undefined)).toBe(false)
    expect(isOfEarlier('post_api_request', 0)).toBe(false)
  })
})

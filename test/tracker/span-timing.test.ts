import { describe, expect, test } from 'vitest'
import { plausibleAt } from '../../src/contract/foreign.ts'
import type { HookName } from '../../src/index.ts'
import { endTime, measuredDuration, reportedDuration } from '../../src/tracker/span-tracker.ts'
import { START_AT } from '../support/feed.ts'

type Payload = Record<string, unknown>

function fired(payload: Payload, at: number = START_AT + 500, hook: HookName = 'post_api_request') {
  return { hook, at, payload, facts: {} }
}

describe('the time of a record', () => {
  test.each([START_AT, START_AT + 0.25, 1e12])('is accepted as epoch milliseconds: %d', at => {
    expect(plausibleAt(at)).toBe(at)
  })

  test.each([
    undefined,
    null,
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    START_AT / 1000,
    START_AT * 1000,
    `${START_AT}`,
    {},
  ])('is rejected if it is %s', at => {
    expect(plausibleAt(at)).toBeUndefined()
  })
})

describe('the end of a span', () => {
  const startAt = START_AT + 100

  test('is the time of its record', () => {
    expect(endTime('tool', fired({}), startAt)).toBe(START_AT + 500)
  })

  test("is the host's time for a request", () => {
    expect(endTime('api', fired({ ended_at: (START_AT + 450) / 1000 }), startAt)).toBeCloseTo(START_AT + 450, 3)
  })

  test.each([
    ['before its start', (START_AT + 50) / 1000],
    ['long after its record', (START_AT + 5000) / 1000],
    ['in milliseconds by mistake', START_AT + 450],
    ['in words', 'soon'],
    ['at NaN', Number.NaN],
  ])('is the time of its record if the host reports one %s', (_what, ended_at) => {
    expect(endTime('api', fired({ ended_at }), startAt)).toBe(START_AT + 500)
  })

  test('is the time of its record if it is no request', () => {
    expect(endTime('tool', fired({ ended_at: (START_AT + 450) / 1000 }), startAt)).toBe(START_AT + 500)
  })

  test('is never before its start', () => {
    expect(endTime('tool', fired({}, START_AT), startAt)).toBe(startAt)
  })
})

describe('a duration from the host', () => {
  test.each([
    ['api', { api_duration: 1.5 }, 1500],
    ['auxiliary', { api_duration: '0.25' }, 250],
    ['tool', { duration_ms: 35 }, 35],
    ['subagent', { duration_ms: 0 }, 0],
    ['tool', { duration_ms: -1 }, undefined],
    ['tool', { duration_ms: Number.NaN }, undefined],
    ['tool', { duration_ms: 1e300 }, undefined],
    ['api', { duration_ms: 35 }, undefined],
    ['tool', { api_duration: 1 }, undefined],
    ['tool', {}, undefined],
  ] as const)('converts %s %j to %s milliseconds', (kind, payload, millis) => {
    expect(reportedDuration(kind, payload)).toBe(millis)
  })
})

describe('the measured duration', () => {
  test("is the host's for the first attempt at a request", () => {
    expect(measuredDuration('api', { api_duration: 2 }, 0, 1900)).toBe(2000)
  })

  test("is that of its own span for a retry, because the host's duration covers earlier attempts", () => {
    expect(measuredDuration('api', { api_duration: 9 }, 1, 1900)).toBe(1900)
  })

  test("is that of its own span if the host's duration clearly exceeds it", () => {
    expect(measuredDuration('api', { api_duration: 22.643 }, 0, 96)).toBe(96)
    expect(measuredDuration('auxiliary', { api_duration: 22.643 }, 0, 96)).toBe(96)
    expect(measuredDuration('api', { api_duration: 0.346 }, 0, 96)).toBe(346)
    expect(measuredDuration('api', { api_duration: 0.347 }, 0, 96)).toBe(96)
  })

  test("is the host's if the start of a retry was not seen", () => {
    expect(measuredDuration('api', { api_duration: 2 }, 1, undefined)).toBe(2000)
  })

  test('is that of its span if the host sends no duration', () => {
    expect(measuredDuration('api', {}, 0, 1900)).toBe(1900)
    expect(measuredDuration('api', {}, 0, undefined)).toBeUndefined()
  })

  test('is that of its span for everything but requests', () => {
    expect(measuredDuration('tool', { api_duration: 2 }, 0, 1900)).toBe(1900)
  })
})

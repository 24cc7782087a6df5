import { INVALID_SPAN_CONTEXT } from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { TrackedSession, type TrackedSpan } from '../../src/tracker/turn.ts'
import { slot } from '../../src/tracker/turn-history.ts'
import { openSpan, turnOf } from '../support/core-parts.ts'
import fc from '../support/fast-check.ts'

const QUEUE = slot('tool', 'queue')
const turn = () => turnOf(new TrackedSession('s1', 'hermes', 's1'), 't1')

describe('a turn reports', () => {
  test('names the tool and the request open under an id', () => {
    const one = turn()
    const tool = openSpan('tool', one, { slot: slot('tool', 'x') })
    const request = openSpan('api', one, { slot: slot('api', 'x') })
    one.open.push(tool)
    one.open.push(request)
    expect(one.openSpan('tool', 'x')).toBe(tool)
    expect(one.openSpan('api', 'x')).toBe(request)
    one.open.remove(tool)
    expect(one.openSpan('tool', 'x')).toBeUndefined()
    expect(one.openSpan('tool', undefined)).toBeUndefined()
    expect(one.open.size).toBe(1)
  })

  test('names the request that has ended', () => {
    const one = turn()
    const mark = { context: INVALID_SPAN_CONTEXT, startAt: 1, endAt: 2, attempt: 0, byHost: true, failed: false }
    one.history.ended.set(slot('api', 'r1'), mark)
    expect(one.endedSpan('api', 'r1')).toBe(mark)
    expect(one.endedSpan('api', 'r2')).toBeUndefined()
  })
})

test('returns the span that started first of several in one slot', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant('start' as const), fc.nat(20)), { maxLength: 40 }), steps => {
      const one = turn()
      const model: TrackedSpan[] = []
      for (const step of steps) {
        if (step === 'start') {
          const open = openSpan('tool', one, { slot: QUEUE })
          one.open.push(open)
          model.push(open)
        } else if (model.length > 0) {
          const [ended] = model.splice(step % model.length, 1)
          one.open.remove(ended as TrackedSpan)
        }
        expect(one.open.find(QUEUE)).toBe(model[0])
        expect(one.open.size).toBe(model.length)
      }
    }),
  )
})

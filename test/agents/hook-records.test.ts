import { expect, test } from 'vitest'
import { hookRecordMachine, hookRecords } from '../../src/agents/hook-records.ts'
import fc from '../support/fast-check.ts'

const AT = 1_795_256_100_000

function recordsOf(body: unknown): unknown {
  return hookRecords
    .events({ body, headers: {}, at: AT })
    .map(event => JSON.parse(JSON.stringify(hookRecordMachine.accept(event)?.[0])))
}

test('passes on a record or a list of records', () => {
  const record = {
    hook: 'pre_tool_call',
    at: AT - 5,
    host: 'mine',
    delivery_id: 'd1',
    correlation: 'inferred',
    payload: { tool_name: 'ls' },
  }
  expect(recordsOf(record)).toEqual([record])
  expect(recordsOf([record, { ...record, delivery_id: 'd2' }])).toEqual([record, { ...record, delivery_id: 'd2' }])
})

test('dates a record without a time like its delivery', () => {
  expect(recordsOf({ hook: 'on_session_end', payload: {} })).toEqual([{ hook: 'on_session_end', at: AT, payload: {} }])
})

test('counts everything but records as ignored', () => {
  const unreadable = { hook: 'unreadable', at: AT }
  expect(recordsOf(['text', null, 7, { payload: {} }])).toEqual([
    unreadable,
    unreadable,
    unreadable,
    { ...unreadable, payload: {} },
  ])
})

test('never throws', () => {
  fc.assert(
    fc.property(fc.jsonValue(), body => {
      expect(recordsOf(body)).toHaveLength(Array.isArray(body) ? body.length : 1)
    }),
  )
})

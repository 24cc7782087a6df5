import { afterEach, expect, test, vi } from 'vitest'
import { LocalCalendar } from '../../../src/viewer/trace-index/local-calendar.ts'
import { slotOf } from '../../../src/viewer/trace-index/trace-facts.ts'

class EnglishFormat extends Intl.DateTimeFormat {
  constructor(_: unknown, options: Intl.DateTimeFormatOptions) {
    super('en-US', options)
  }
}

afterEach(() => vi.unstubAllGlobals())

test('reads the local day and hour where English is the only locale', () => {
  vi.stubGlobal('Intl', { DateTimeFormat: EnglishFormat })
  const calendar = new LocalCalendar('Asia/Kathmandu')
  // A Monday, a quarter to one.
  const time = calendar.timeOf(slotOf(Date.parse('2026-11-22T19:00:00Z')))
  expect(time).toEqual({ day: '2026-11-23', weekHour: 0 })
})

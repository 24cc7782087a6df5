import { SLOT_MILLIS } from './trace-facts.ts'

interface LocalTime {
  /** `2026-11-22`. `weekHour`: from 0 = Monday, 0 h, to 167. */
  readonly day: string
  readonly weekHour: number
}

export class LocalCalendar {
  readonly #format: Intl.DateTimeFormat
  readonly #known = new Map<number, LocalTime>()

  /** @throws {RangeError} if there is no such zone */
  constructor(timeZone: string | undefined) {
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit' } as const
    // English: some builds of Node.js have no other locale.
    this.#format = new Intl.DateTimeFormat('en-US', { ...parts, hourCycle: 'h23', timeZone })
  }

  timeOf(slot: number): LocalTime {
    const known = this.#known.get(slot)
    if (known !== undefined) return known
    const parts = this.#format.formatToParts(slot * SLOT_MILLIS)
    const part = (type: string): string => parts.find(each => each.type === type)?.value ?? ''
    const day = `${part('year')}-${part('month')}-${part('day')}`
    const weekday = (new Date(day).getUTCDay() + 6) % 7
    const time = { day, weekHour: weekday * 24 + Number(part('hour')) }
    this.#known.set(slot, time)
    return time
  }
}

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
    // Swedish times have the order of ISO: `2026-11-22 13`.
    this.#format = new Intl.DateTimeFormat('sv-SE', { ...parts, hourCycle: 'h23', timeZone })
  }

  timeOf(slot: number): LocalTime {
    const known = this.#known.get(slot)
    if (known !== undefined) return known
    const [year, month, date, hour] = this.#format.format(slot * SLOT_MILLIS).match(/\d+/g) ?? []
    const day = `${year}-${month}-${date}`
    const weekday = (new Date(day).getUTCDay() + 6) % 7
    const time = { day, weekHour: weekday * 24 + Number(hour) }
    this.#known.set(slot, time)
    return time
  }
}

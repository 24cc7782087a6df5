import { SLOT_MILLIS } from './trace-facts.ts'

interface LocalTime {
  /** `2026-11-22`. `weekHour`: from 0 = Monday, 0 h, to 167. */
  readonly day: string
  readonly weekHour: number
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const NEVER: LocalTime = { day: '', weekHour: -1 }

export class LocalCalendar {
  readonly #format: Intl.DateTimeFormat
  readonly #known = new Map<number, LocalTime>()

  /** @throws {RangeError} if there is no such zone */
  constructor(timeZone: string | undefined) {
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit', weekday: 'short', hour: '2-digit' } as const
    this.#format = new Intl.DateTimeFormat('en-US', { ...parts, hourCycle: 'h23', timeZone })
  }

  timeOf(slot: number): LocalTime {
    let time = this.#known.get(slot)
    if (time === undefined) {
      time = this.#read(new Date(slot * SLOT_MILLIS))
      this.#known.set(slot, time)
    }
    return time
  }

  #read(date: Date): LocalTime {
    if (Number.isNaN(date.getTime())) return NEVER
    const parts = new Map(this.#format.formatToParts(date).map(({ type, value }) => [type, value]))
    const [year, month, day] = [parts.get('year'), parts.get('month'), parts.get('day')]
    const weekday = WEEKDAYS.indexOf(parts.get('weekday') ?? '')
    return { day: `${year}-${month}-${day}`, weekHour: weekday * 24 + Number(parts.get('hour')) }
  }
}

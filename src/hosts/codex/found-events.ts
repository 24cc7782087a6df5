import type { HostEvent } from '../host-event.ts'

/** An event, when its line was written, and of which turn it is. */
export interface Found {
  readonly at: number
  readonly turn: string
  /** When that began. */
  readonly begunAt: number
  readonly event: HostEvent
}

/** What was found in a rollout, and not given to a hook yet. */
export class FoundEvents {
  #waiting: Found[] = []
  #isGiven = false

  add(found: Found): void {
    this.#waiting.push(found)
  }

  clear(): void {
    this.#waiting = []
  }

  /**
   * What was written before a hook fired: what was written later belongs to later hooks, which may be on their way.
   *
   * @param at when it fired, epoch milliseconds
   * @param isOfHook what belongs to this hook though it may be written behind it, with all before that
   */
  take(at: number, isOfHook: (found: Found) => boolean): HostEvent[] {
    const end = this.#waiting.findLastIndex(isOfHook)
    const isNow = (each: Found, index: number): boolean => each.at <= at || index <= end
    const now = this.#waiting.filter(isNow)
    this.#waiting = this.#waiting.filter((each, index) => !isNow(each, index))
    const given = this.#isGiven ? now : lastTurns(now)
    this.#isGiven = true
    return given.map(({ event }) => event)
  }
}

/** A rollout that is read for the first time has all turns there ever were. Of them the last two may be news. */
function lastTurns(found: readonly Found[]): readonly Found[] {
  const turns = [...new Set(found.map(({ turn }) => turn))].slice(-2)
  return found.filter(({ turn }) => turns.includes(turn))
}

import type { HostEvent } from '../host-event.ts'

/** An event with the turn and the time of its line. */
export interface Found {
  readonly at: number
  readonly turn: string
  readonly begunAt: number
  readonly event: HostEvent
}

/** Findings in a rollout that no hook has received yet. */
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
   * Takes the findings written before a hook fired. Later ones belong to later hooks, which may be on their way.
   *
   * @param at when the hook fired, epoch milliseconds
   * @param isOfHook selects findings that belong to this hook even if written later, together with all before them
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

/** Keeps the last two turns of a first read, which contains all turns ever recorded; only the last two may be new. */
function lastTurns(found: readonly Found[]): readonly Found[] {
  const turns = [...new Set(found.map(({ turn }) => turn))].slice(-2)
  return found.filter(({ turn }) => turns.includes(turn))
}

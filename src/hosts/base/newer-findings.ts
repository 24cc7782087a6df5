import type { HostEvent } from '../host-event.ts'

const LIMIT = 10_000

/**
 * What was found in an agent's files and is newer than the hook for which they were read. It is taken with the first hook that is
 * not older, so that a file that is read late leaves the order of a turn as it was.
 */
export class NewerFindings {
  #events: HostEvent[] = []

  /** @returns whether it is kept for a later hook */
  keep(event: HostEvent, hookAt: number): boolean {
    if (event.at === undefined || event.at <= hookAt || this.#events.length >= LIMIT) return false
    this.#events.push(event)
    return true
  }

  /** Removes those up to a time. @returns them, by their times */
  takeUntil(at: number): readonly HostEvent[] {
    if (this.#events.length === 0) return this.#events
    const due = this.#events.filter(event => (event.at ?? 0) <= at)
    if (due.length > 0) this.#events = this.#events.filter(event => (event.at ?? 0) > at)
    return due.sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
  }
}

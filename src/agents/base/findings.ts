import type { HostEvent } from '../host-event.ts'
import type { TimedEvent } from './event-machine.ts'

export interface FindingOwner {
  readonly session_id: string
  readonly agent_id?: string | undefined
}

/**
 * Findings from an agent's files that are newer than the hook for which the files were read. They are emitted with the first hook
 * that is not older, so that a late read preserves the order of a turn.
 */
export class NewerFindings {
  #events: TimedEvent[] = []
  #hookAt = Number.POSITIVE_INFINITY

  bufferIfNewer(event: HostEvent): boolean {
    if (event.at === undefined || event.at <= this.#hookAt || this.#events.length >= 10_000) return false
    this.#events.push(event as TimedEvent)
    return true
  }

  drainUntil(hookAt: number = this.#hookAt): readonly TimedEvent[] {
    this.#hookAt = hookAt
    if (this.#events.length === 0) return this.#events
    const due = this.#events.filter(({ at }) => at <= hookAt)
    if (due.length > 0) this.#events = this.#events.filter(({ at }) => at > hookAt)
    return due.sort((one, other) => one.at - other.at)
  }
}

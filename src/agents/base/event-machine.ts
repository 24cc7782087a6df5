import { numberOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { Records } from './records.ts'

/** An event with its time in epoch milliseconds. */
export type Moment = HostEvent & { readonly at: number }

export type Reading = (moment: Moment) => void
export type Events = ReadonlyMap<string, Reading>
/** Handles an event that adds nothing to the other events. */
const SAYS_NOTHING: Reading = () => undefined

/** @param quiet known events that yield no records and are not counted as ignored */
export function eventsOf(readings: Readonly<Record<string, Reading>>, quiet: Iterable<string> = []): Events {
  return new Map([...Array.from(quiet, name => [name, SAYS_NOTHING] as const), ...Object.entries(readings)])
}

/**
 * A machine that dispatches its events by a table. Handlers add to `records`, mostly through the turns, requests and tools of
 * this folder.
 */
export abstract class EventMachine implements HostMachine {
  protected readonly records: Records = new Records()
  protected abstract readonly events: Events
  /** Time of the current event, or of the previous one if it has none. */
  protected now = 0

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    this.now = numberOf(event.at) ?? this.now
    const read = this.readingOf(event.event)
    if (read === undefined) return this.isQuiet(event.event) ? [] : undefined
    // Avoids a copy for most events: a turn has thousands that carry little.
    read(event.at === this.now ? (event as Moment) : { ...event, at: this.now })
    return this.records.take()
  }

  end(at: number): readonly HookRecord[] {
    this.finish(at)
    return this.records.take()
  }

  /** Override for names that a table cannot list. */
  protected readingOf(event: string): Reading | undefined {
    return this.events.get(event)
  }

  isQuiet(event: string): boolean {
    return this.events.get(event) === SAYS_NOTHING
  }

  protected abstract finish(at: number): void
}

const DAY_MILLIS = 86_400_000

/** Returns a time reported by the agent if it is plausible: not after the event that reports it, and at most a day before. */
export function saidAt(said: unknown, at: number): number {
  const time = numberOf(said)
  return time !== undefined && time <= at && time > at - DAY_MILLIS ? time : at
}

import { numberOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { Records } from './records.ts'

/** An event, and when it came: epoch milliseconds. */
export type Moment = HostEvent & { readonly at: number }

export type Reading = (moment: Moment) => void
/** By the event's name: what it means; `undefined`: nothing that is not known from others. */
export type Events = ReadonlyMap<string, Reading | undefined>

export function eventsOf(readings: Readonly<Record<string, Reading>>, quiet: Iterable<string> = []): Events {
  return new Map([...Array.from(quiet, name => [name, undefined] as const), ...Object.entries(readings)])
}

/** A machine that reads its events by a table. What it reads, it tells to its `records`. */
export abstract class EventMachine implements HostMachine {
  protected readonly records: Records = new Records()
  protected abstract readonly events: Events
  /** Time of the event at hand, and of the last one where it has none. */
  protected now = 0

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    this.now = numberOf(event.at) ?? this.now
    const read = this.readingOf(event.event)
    if (read === undefined) return this.isQuiet(event.event) ? this.records.take() : undefined
    // Mostly the event itself is one: thousands of a turn say little.
    read(event.at === this.now ? (event as Moment) : { ...event, at: this.now })
    return this.records.take()
  }

  end(at: number): readonly HookRecord[] {
    this.finish(at)
    return this.records.take()
  }

  protected readingOf(event: string): Reading | undefined {
    return this.events.get(event)
  }

  /** Whether an event that nothing is read from is a known one. */
  isQuiet(event: string): boolean {
    return this.events.has(event)
  }

  /** Nothing more will come. */
  protected abstract finish(at: number): void
}

/** A time that an agent says itself, where it can be: not after the event that says it, nor by days before that. */
export function saidAt(said: unknown, at: number): number {
  const time = numberOf(said)
  return time !== undefined && time <= at && time > at - DAY_MILLIS ? time : at
}

const DAY_MILLIS = 86_400_000

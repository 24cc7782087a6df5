import { numberOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { Records } from './records.ts'

/** An event, and when it came: epoch milliseconds. */
export type Moment = HostEvent & { readonly at: number }

export type Reading = (moment: Moment) => void
/** By the event's name: what it means. */
export type Events = ReadonlyMap<string, Reading>
/** It means nothing that is not known from others. */
const SAYS_NOTHING: Reading = () => undefined

/** @param quiet events that are known, so that they are not counted as ignored, and say nothing */
export function eventsOf(readings: Readonly<Record<string, Reading>>, quiet: Iterable<string> = []): Events {
  return new Map([...Array.from(quiet, name => [name, SAYS_NOTHING] as const), ...Object.entries(readings)])
}

/**
 * A machine that reads its events by a table, and tells what they mean to its `records`: mostly by the turns, requests and
 * tools of this folder, which are made with them.
 */
export abstract class EventMachine implements HostMachine {
  protected readonly records: Records = new Records()
  protected abstract readonly events: Events
  /** Time of the event at hand, and of the last one where it has none. */
  protected now = 0

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    this.now = numberOf(event.at) ?? this.now
    const read = this.readingOf(event.event)
    if (read === undefined) return this.isQuiet(event.event) ? [] : undefined
    // Mostly the event itself is one: thousands of a turn say little.
    read(event.at === this.now ? (event as Moment) : { ...event, at: this.now })
    return this.records.take()
  }

  end(at: number): readonly HookRecord[] {
    this.finish(at)
    return this.records.take()
  }

  /** For names that no table can hold. */
  protected readingOf(event: string): Reading | undefined {
    return this.events.get(event)
  }

  isQuiet(event: string): boolean {
    return this.events.get(event) === SAYS_NOTHING
  }

  /** Nothing more will come. */
  protected abstract finish(at: number): void
}

const DAY_MILLIS = 86_400_000

/** A time that an agent says itself, where it can be: not after the event that says it, nor by days before that. */
export function saidAt(said: unknown, at: number): number {
  const time = numberOf(said)
  return time !== undefined && time <= at && time > at - DAY_MILLIS ? time : at
}

import { numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { Records } from './records.ts'

export type TimedEvent = HostEvent & { readonly at: number }

export type EventHandler = (moment: TimedEvent) => void
export type EventHandlers = ReadonlyMap<string, EventHandler>
type EventTable = Readonly<Record<string, EventHandler>>
const IGNORE_EVENT: EventHandler = () => undefined

/** @param quiet known events that yield no records and are not counted as ignored */
export function eventHandlers(readings: EventTable, quiet: Iterable<string> = []): EventHandlers {
  return new Map([...Array.from(quiet, name => [name, IGNORE_EVENT] as const), ...Object.entries(readings)])
}

/** The words of a text: a list of names that reads well in the code. */
export function namesIn(text: string): string[] {
  return text.trim().split(/\s+/)
}

export function handlersByName(names: Iterable<string>, handlerOf: (name: string) => EventHandler): EventTable {
  return Object.fromEntries(Array.from(names, name => [name, handlerOf(name)]))
}

/**
 * A machine that dispatches its events by a table. Handlers add to `records`, mostly through the turns, requests and tools of
 * this folder.
 */
export abstract class EventMachine implements HostMachine {
  protected readonly records: Records = new Records()
  protected abstract readonly events: EventHandlers
  /** Time of the current event, or of the previous one if it has none. */
  protected now = 0

  accept(event: HostEvent): readonly HookRecord[] | undefined {
    this.now = numberOf(event.at) ?? this.now
    const read = this.handlerOf(event.event)
    if (read === undefined) return this.isQuiet(event.event) ? [] : undefined
    // Avoids a copy for most events: a turn has thousands that carry little.
    read(event.at === this.now ? (event as TimedEvent) : { ...event, at: this.now })
    return this.records.drain()
  }

  end(at: number): readonly HookRecord[] {
    this.endSessions(at)
    return this.records.drain()
  }

  protected handlerOf(event: string): EventHandler | undefined {
    return this.events.get(event)
  }

  isQuiet(event: string): boolean {
    return this.events.get(event) === IGNORE_EVENT
  }

  protected abstract endSessions(at: number): void
}

const DAY_MILLIS = 86_400_000

/** Returns a time reported by the agent if it is plausible: not after the event that reports it, and at most a day before. */
export function plausibleTime(said: unknown, at: number): number {
  const time = numberOf(said)
  return time !== undefined && time <= at && time > at - DAY_MILLIS ? time : at
}

/** Returns the time in the `timestamp` field, ISO 8601, of a hook or a line of a file. */
export function timestampOf(value: unknown): number | undefined {
  const at = Date.parse(textOf(peek(value, 'timestamp')) ?? '')
  return Number.isNaN(at) ? undefined : at
}

import type { HostEvent, HostMachine } from '../agents/host-event.ts'
import { MACHINES } from '../agents/machines.ts'
import { numberOf, textOf } from '../contract/foreign.ts'
import type { HookMeta, HookRecord } from '../contract/index.ts'

/** A record as read from a file. Not validated: the core does that. */
export interface ReadRecord {
  readonly hook: string
  readonly payload: unknown
  readonly meta: HookMeta
}

/** The raw events of one run of a host, read by its translator. */
export class RawEvents {
  readonly host: string
  readonly #machine: HostMachine
  #lastAt = 0

  /** Undefined for a host without a translator. */
  static of(host: string): RawEvents | undefined {
    const create = Object.hasOwn(MACHINES, host) ? MACHINES[host] : undefined
    return create && new RawEvents(host, create())
  }

  private constructor(host: string, machine: HostMachine) {
    this.host = host
    this.#machine = machine
  }

  /** Translates an event. Events unknown to the translator become records that the core counts as ignored, as in a live run. */
  read(event: HostEvent): ReadRecord[] {
    this.#lastAt = numberOf(event.at) ?? this.#lastAt
    const records = this.#machine.accept({ ...event, at: this.#lastAt })
    return records?.map(record => this.#asRead(record)) ?? [this.#unknown(event)]
  }

  end(): ReadRecord[] {
    return this.#machine.end(this.#lastAt).map(record => this.#asRead(record))
  }

  #unknown({ event }: HostEvent): ReadRecord {
    return { hook: `${this.host}:${event}`, payload: {}, meta: { host: this.host, at: this.#lastAt } }
  }

  #asRead({ hook, payload, ...meta }: HookRecord): ReadRecord {
    return { hook, payload, meta: { ...(meta as HookMeta), host: this.host } }
  }
}

export function isRawEvent(value: unknown): value is HostEvent {
  return typeof value === 'object' && value !== null && textOf((value as { event?: unknown }).event) !== undefined
}

export function hostsWithAdapter(): readonly string[] {
  return Object.keys(MACHINES)
}

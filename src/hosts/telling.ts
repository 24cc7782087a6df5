import type { HookRecord } from '../contract/index.ts'
import type { Plugin } from '../index.ts'
import type { HostEvent, HostMachine } from './host-event.ts'

/** A function (host, event) that is shown every raw event: how a run is captured. Set by nobody but a developer. */
const TAP = Symbol.for('hookspan.tap')
/** Kinds of trouble that are told; beyond this only the count goes on. */
const MOST_TOLD = 100

type Tap = (host: string, event: HostEvent) => void

interface Shared {
  [TAP]?: Tap
}

const NOTHING: readonly HookRecord[] = []

/** A host's machine, and the plugin that is told what its events mean. Nothing in here throws. */
export class Telling {
  readonly #host: string
  readonly #machine: HostMachine
  readonly #plugin: Plugin
  readonly #say: (line: string) => void
  readonly #told = new Set<string>()

  /** @param say takes lines for the person */
  constructor(host: string, machine: HostMachine, plugin: Plugin, say: (line: string) => void) {
    this.#host = host
    this.#machine = machine
    this.#plugin = plugin
    this.#say = say
  }

  isForNobody(event: string): boolean {
    return (globalThis as Shared)[TAP] === undefined && this.#machine.isQuiet?.(event) === true
  }

  /** Returns what was told of it: nothing, where it says nothing, or cannot be read. */
  take(event: HostEvent): readonly HookRecord[] {
    try {
      ;(globalThis as Shared)[TAP]?.(this.#host, event)
      const records = this.#machine.accept(event)
      // The core counts a name that it does not know as ignored.
      if (records === undefined) this.#plugin.emitUntyped(`${this.#host}:${event.event}`)
      else this.#tellAll(records)
      return records ?? NOTHING
    } catch (error) {
      this.broke(event.event, error)
      return NOTHING
    }
  }

  /** Nothing more will come: what the machine has kept back, in case more came. */
  end(at: number): void {
    try {
      this.#tellAll(this.#machine.end(at))
    } catch (error) {
      this.broke('the end', error)
    }
  }

  /** Once for each kind of event: the thousandth time it is no news. The message itself could quote a user. */
  broke(what: string, error: unknown): void {
    this.#plugin.emitUntyped(`${this.#host}:unreadable`)
    if (this.#told.has(what) || this.#told.size >= MOST_TOLD) return
    this.#told.add(what)
    const kind = error instanceof Error ? error.name : typeof error
    this.#say(`hookspan: ${this.#host}: ${what} could not be read (${kind}); the trace lacks it`)
  }

  #tellAll(records: readonly HookRecord[]): void {
    for (const { hook, payload, at, host, delivery_id, correlation } of records)
      this.#plugin.emit(hook, payload, { at, host, delivery_id, correlation })
  }
}

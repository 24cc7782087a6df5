import { kindOf } from '../contract/foreign.ts'
import type { HookRecord } from '../contract/index.ts'
import type { Plugin } from '../index.ts'
import type { HostEvent, HostMachine } from './host-event.ts'

/** A function (host, event) that receives every raw event, to capture a run. Set by developers only. */
const TAP = Symbol.for('hookspan.tap')
const MAX_REPORTED_ERRORS = 100

const SHARED = globalThis as { [TAP]?: (host: string, event: HostEvent) => void }
const NOTHING: readonly HookRecord[] = []

/** Feeds a host's events to its machine and the resulting records to the plugin. No method throws. */
export class HostForwarder {
  readonly #host: string
  readonly #machine: HostMachine
  readonly #plugin: Plugin
  readonly #report: (line: string) => void
  readonly #reported = new Set<string>()

  constructor(host: string, machine: HostMachine, plugin: Plugin, report: (line: string) => void) {
    this.#host = host
    this.#machine = machine
    this.#plugin = plugin
    this.#report = report
  }

  isIgnored(event: string): boolean {
    return SHARED[TAP] === undefined && this.#machine.isQuiet?.(event) === true
  }

  /**
   * Returns the emitted records: an empty list if the event yields none or cannot be read. The core counts an unknown
   * name as ignored.
   */
  forwardEvent(event: HostEvent): readonly HookRecord[] {
    try {
      SHARED[TAP]?.(this.#host, event)
      const records = this.#machine.accept(event)
      if (records === undefined) this.#plugin.emitUntyped(`${this.#host}:${event.event}`)
      else this.#emitRecords(records)
      return records ?? NOTHING
    } catch (error) {
      this.#reportError(event.event, error)
      return NOTHING
    }
  }

  endRun(at: number): void {
    this.catchErrors('the end', () => this.#emitRecords(this.#machine.end(at)))
  }

  catchErrors<Result>(what: string, run: () => Result): Result | undefined {
    try {
      return run()
    } catch (error) {
      this.#reportError(what, error)
      return undefined
    }
  }

  /** Logs an error once for each kind of event. The error's message is left out: it could quote the user's data. */
  #reportError(what: string, error: unknown): void {
    this.#plugin.emitUntyped(`${this.#host}:unreadable`)
    if (this.#reported.has(what) || this.#reported.size >= MAX_REPORTED_ERRORS) return
    this.#reported.add(what)
    this.#report(`hookspan: ${this.#host}: ${what} could not be read (${kindOf(error)}); the trace lacks it`)
  }

  #emitRecords(records: readonly HookRecord[]): void {
    for (const { hook, payload, at, host, delivery_id, correlation } of records)
      this.#plugin.emit(hook, payload, { at, host, delivery_id, correlation })
  }
}

import type { Correlation, HookName, HookPayloads, HookRecord } from '../contract/index.ts'

/**
 * One raw event of a host as plain data: the arguments of its callback, and the time (`at`, epoch milliseconds; if absent, that
 * of the previous event). A capture is a file of these, one a line. `replay --host` and the tests read the same format.
 * `output`: the object that the callback may change, if the host passes it apart from the event.
 */
export interface HostEvent {
  readonly event: string
  readonly at?: number
  readonly data?: unknown
  readonly context?: unknown
  readonly output?: unknown
  readonly tool_use_id?: string
}

/**
 * Translates a host's events to hook records. It has no access to the plugin or a clock. The same events give the same records,
 * so a run can be replayed without its host.
 */
export interface HostMachine {
  /**
   * Returns the records that follow from one event, in order: an empty list if it adds nothing. Returns undefined if this version
   * does not know the event's name. Tolerates repeated events and any order.
   */
  accept(event: HostEvent): readonly HookRecord[] | undefined
  /** Returns true if an event of this name is known and yields no records, so that building it can be skipped. */
  isQuiet?(event: string): boolean
  /** Ends the run: emits the records that were waiting for a possible next event. */
  end(at: number): readonly HookRecord[]
}

/** Keys of the contract with unchecked values: the core validates each of them. */
export type LoosePayload<Name extends HookName> = { readonly [Key in keyof HookPayloads[Name]]?: unknown }

export function hookRecord<Name extends HookName>(
  hook: Name,
  at: number,
  payload: LoosePayload<Name>,
  correlation?: Correlation,
): HookRecord {
  const record = { hook, at, payload: payload as HookPayloads[Name] }
  return correlation === undefined ? record : { ...record, correlation }
}

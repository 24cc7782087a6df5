import type { Correlation, HookName, HookPayloads, HookRecord } from '../contract/index.ts'

/**
 * One thing that a host said, as plain data: what its callback was called with, and when. A capture is a file of these,
 * one a line; `replay --host` and the tests read the same.
 */
export interface HostEvent {
  /** The host's own name of the event or hook. */
  readonly event: string
  /** Epoch milliseconds. Absent = as old as the one before. */
  readonly at?: number
  /** First argument of the callback. */
  readonly data?: unknown
  /** What we read of the second one, where the host gives one to read from. */
  readonly context?: unknown
  /** What the callback may change, where the host hands that over apart from the event. */
  readonly output?: unknown
  readonly tool_use_id?: string
}

/**
 * What a host's events mean, as hook records. It knows no plugin and no clock: the same events give the same records, so
 * a run of a host can be read again without the host.
 */
export interface HostMachine {
  /**
   * Records that follow from one event, in order: none, where it says nothing new. Undefined for an event of a name that
   * this version of us does not know. Repeated events and events in any order are survived.
   */
  accept(event: HostEvent): readonly HookRecord[] | undefined
  /** Nothing more will come: what only waited for a possible next event is told now. */
  end(at: number): readonly HookRecord[]
}

/** Keys of the contract, values of a stranger: the core reads each of them as if it could be anything. */
export type LoosePayload<Name extends HookName> = { readonly [Key in keyof HookPayloads[Name]]?: unknown }

/** A hook record that an adapter makes. `at` is in epoch milliseconds. */
export function hookRecord<Name extends HookName>(
  hook: Name,
  at: number,
  payload: LoosePayload<Name>,
  correlation?: Correlation,
): HookRecord {
  const record = { hook, at, payload: payload as HookPayloads[Name] }
  return correlation === undefined ? record : { ...record, correlation }
}

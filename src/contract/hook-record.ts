import type { HookName, HookPayloads } from './payloads.ts'

/**
 * An adapter's certainty about the ids that it filled in.
 * `explicit`: sent by the host. `inferred`: derived from order or names. `ambiguous`: more than one reading was possible.
 */
export type Correlation = 'explicit' | 'inferred' | 'ambiguous'

/** Metadata that accompanies a payload. */
export interface HookMeta {
  /** Time at which the host fired the hook: epoch milliseconds, fractions allowed. Absent = now. */
  readonly at?: number | undefined
  /** The agent product: `hermes`, `pi`, `openclaw`, … Sessions of different hosts are always separate. */
  readonly host?: string | undefined
  /** The same id twice is the same event; the second is dropped and counted. */
  readonly delivery_id?: string | undefined
  /** Certainty of the ids that an adapter filled in. `inferred` and `ambiguous` mark the spans. Absent: `explicit`. */
  readonly correlation?: Correlation | undefined
}

/**
 * A hook that fired, as a host reports it. Files hold one such record per line; an optional first line
 * `{"fixture": {…}}` describes the file. Readers ignore fields that they do not know.
 *
 * @example
 * {"hook": "pre_tool_call", "at": 1795256104330, "payload": {"tool_name": "terminal", "session_id": "s1"}}
 */
export interface HookRecord<Name extends HookName = HookName> extends HookMeta {
  /** One of the names of `HOOKS` */
  readonly hook: Name
  /** Fields of the hook */
  readonly payload: HookPayloads[Name]
}

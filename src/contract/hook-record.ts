import type { HookName, HookPayloads } from './hooks.ts'

/**
 * How sure an adapter is of the ids that it filled in.
 * `explicit`: the host said them. `inferred`: derived from order or names. `ambiguous`: more than one reading was possible.
 */
export type Correlation = 'explicit' | 'inferred' | 'ambiguous'

/** What travels beside a payload. */
export interface HookMeta {
  /** When the host fired the hook: epoch milliseconds, fractions allowed. Absent = now. */
  readonly at?: number | undefined
  /** The agent product: `hermes`, `pi`, `openclaw`, … Sessions of different hosts never meet. */
  readonly host?: string | undefined
  /** The same id twice is the same event; the second is dropped and counted. */
  readonly delivery_id?: string | undefined
  /** How sure an adapter is of the ids that it filled in; the last two mark the spans. Absent: `explicit`. */
  readonly correlation?: Correlation | undefined
}

/**
 * What a host tells us: one hook that fired. Files hold one such record a line; an optional first line
 * `{"fixture": {…}}` describes the file. Readers ignore fields that they do not know.
 *
 * @example
 * {"hook": "pre_tool_call", "at": 1795256104330, "payload": {"tool_name": "terminal", "session_id": "s1"}}
 */
export interface HookRecord<Name extends HookName = HookName> extends HookMeta {
  /** One of the names of `HOOKS` */
  readonly hook: Name
  /** What the hook says */
  readonly payload: HookPayloads[Name]
}

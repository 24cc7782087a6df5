/**
 * The body of Hermes' outbound webhooks, and the standard input of its shell hooks (read in 0.22.2; 0.19 has only shell hooks).
 * Any field may be missing or of another type.
 */
export interface WireHook {
  readonly hook_event_name: string
  readonly tool_name: string | null
  readonly tool_input: object | null
  readonly session_id: string
  readonly cwd: string
  /** All other arguments of a Python plugin, except `parent_session_id`. */
  readonly extra: Readonly<Record<string, unknown>>
  /** Webhooks only, like `timestamp` (when the hook fired, ISO 8601). A repeated delivery has the same id. */
  readonly delivery_id?: string
  readonly timestamp?: string
}

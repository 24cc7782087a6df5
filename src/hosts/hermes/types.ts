/**
 * What Hermes sends to an outbound webhook, and writes to the standard input of a shell hook (read in 0.22.2; 0.19 has shell
 * hooks alone). Any of it may be missing or something else.
 */
export interface WireHook {
  readonly hook_event_name: string
  readonly tool_name: string | null
  /** The tool's arguments, when they are an object. */
  readonly tool_input: object | null
  /** Of a delegation, which has none of its own, that of the parent. */
  readonly session_id: string
  readonly cwd: string
  /** All else that a plugin in Python is called with, without `parent_session_id`. */
  readonly extra: Readonly<Record<string, unknown>>
  /** Of a webhook: the same again when it is sent again. */
  readonly delivery_id?: string
  /** Of a webhook: when the hook fired, ISO 8601. */
  readonly timestamp?: string
}

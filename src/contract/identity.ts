/**
 * The ids that hooks carry. All are opaque: never parsed, only compared. All are optional, because hosts differ and
 * versions of one host differ; an empty string or null is the same as absent.
 */
export interface Identity {
  /** The conversation. It can rotate during a turn (context compression). */
  readonly session_id?: string | null | undefined
  /** One user turn. */
  readonly turn_id?: string | null | undefined
  /** A task; a child agent has its own. Last resort of correlation. */
  readonly task_id?: string | null | undefined
  /** One logical model request; retries keep it. */
  readonly api_request_id?: string | null | undefined
  /** Ordinal of the request in its turn, from 1. Used if `api_request_id` is absent. On a tool: 0 if no request made the call. */
  readonly api_call_count?: number | null | undefined
  /** One tool call. */
  readonly tool_call_id?: string | null | undefined
}

/** The ids of a delegation: parent, child, and the call that made it. */
export interface DelegationIdentity {
  /** The session of the agent that delegates */
  readonly parent_session_id?: string | null | undefined
  /** The turn that delegates */
  readonly parent_turn_id?: string | null | undefined
  /** Id of the delegating agent, if it is a child itself */
  readonly parent_subagent_id?: string | null | undefined
  /** The session of the child agent. Its turns are nested by this id */
  readonly child_session_id?: string | null | undefined
  /** The child agent's id, if it has no session of its own */
  readonly child_subagent_id?: string | null | undefined
  /** The tool call that made the delegation */
  readonly tool_call_id?: string | null | undefined
}

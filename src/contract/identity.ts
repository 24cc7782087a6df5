/**
 * The ids that hooks carry. All are opaque: never parsed, only compared. All are optional, because hosts differ and
 * versions of one host differ; an empty string or null is the same as absent.
 */
export interface Identity {
  /** The conversation. It can rotate in the middle of a turn (context compression). */
  readonly session_id?: string | null | undefined
  /** One user turn. */
  readonly turn_id?: string | null | undefined
  /** A task; a child agent's own. Last resort of correlation. */
  readonly task_id?: string | null | undefined
  /** One logical model request; retries keep it. */
  readonly api_request_id?: string | null | undefined
  /** Ordinal of the request in its turn, from 1. Stands in where `api_request_id` is absent. Of a tool: 0 if no request has asked for it. */
  readonly api_call_count?: number | null | undefined
  /** One tool call. */
  readonly tool_call_id?: string | null | undefined
}

/** The ids of a delegation: parent, child, and the call that made it. */
export interface DelegationIdentity {
  /** The session of the agent that delegates */
  readonly parent_session_id?: string | null | undefined
  /** The turn in which it does */
  readonly parent_turn_id?: string | null | undefined
  /** Where that agent is a child itself: its own id as one */
  readonly parent_subagent_id?: string | null | undefined
  /** The session of the child agent: what is told of it finds its place by this */
  readonly child_session_id?: string | null | undefined
  /** The child agent's id, where it has no session of its own */
  readonly child_subagent_id?: string | null | undefined
  /** The tool call that made the delegation */
  readonly tool_call_id?: string | null | undefined
}

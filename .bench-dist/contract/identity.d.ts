/**
 * The ids that hooks carry. All are opaque: never parsed, only compared. All are optional, because hosts differ and
 * versions of one host differ; an empty string or null is the same as absent.
 */
export interface Identity {
    /** The conversation. It can rotate in the middle of a turn (context compression). */
    readonly session_id?: string | null;
    /** One user turn. */
    readonly turn_id?: string | null;
    /** A task; a child agent's own. Last resort of correlation. */
    readonly task_id?: string | null;
    /** One logical model request; retries keep it. */
    readonly api_request_id?: string | null;
    /** Ordinal of the request in its turn, from 1. Stands in where `api_request_id` is absent. */
    readonly api_call_count?: number | null;
    /** One tool call. */
    readonly tool_call_id?: string | null;
}
/** The ids of a delegation: parent, child, and the call that made it. */
export interface DelegationIdentity {
    readonly parent_session_id?: string | null;
    readonly parent_turn_id?: string | null;
    readonly parent_subagent_id?: string | null;
    readonly child_session_id?: string | null;
    readonly child_subagent_id?: string | null;
    readonly tool_call_id?: string | null;
}

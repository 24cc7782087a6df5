import type { Belongings } from './belongings.ts'
import type { DelegationIdentity, Identity } from './identity.ts'

/**
 * One interface a hook. The types say what hosts send; the code trusts none of them, because anything at all can
 * arrive in any field. Names are the wire names of `hermes.observer.v1`.
 */

export interface SessionStart extends Identity, Belongings {
  readonly model?: string
  readonly platform?: string
  readonly provider?: string
  readonly session_type?: string
  readonly origin?: string
  readonly run_type?: string
  readonly source?: string
  readonly trigger?: string
  readonly job_id?: string
  readonly cron_job_id?: string
  readonly agent_name?: string
  readonly profile?: string
  readonly sender_id?: string
  readonly correlation_id?: string
  readonly parent_session_id?: string | null
  /** W3C trace context of who asked for the turn that begins here; `parent` says what it becomes. */
  readonly traceparent?: string
}

export interface TurnStart extends Identity, Belongings {
  /** Text, or a list of content parts. */
  readonly user_message?: unknown
  readonly conversation_history?: readonly unknown[]
  readonly is_first_turn?: boolean
  readonly model?: string
  readonly platform?: string
  readonly sender_id?: string
  readonly parent_session_id?: string | null
  /** W3C trace context of who asked for the turn, where the session was told of before. */
  readonly traceparent?: string
}

export interface TurnAnswer extends Identity {
  readonly assistant_response?: unknown
  readonly model?: string
  readonly platform?: string
}

export interface SessionEnd extends Identity {
  readonly completed?: boolean
  readonly interrupted?: boolean
  readonly failed?: boolean
  readonly turn_exit_reason?: string
  readonly reason?: string
  readonly model?: string
  readonly platform?: string
}

export interface SessionFinalize {
  readonly session_id?: string | null
  readonly platform?: string
  readonly reason?: string
}

export interface SessionReset {
  readonly session_id?: string | null
  readonly old_session_id?: string | null
  readonly new_session_id?: string | null
  readonly reason?: string
}

/** Request parameters that are copied onto the span where the host sends them. */
export interface RequestParameters {
  readonly max_tokens?: number | null
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
  readonly frequency_penalty?: number
  readonly presence_penalty?: number
  readonly stream?: boolean
  readonly stop?: string | readonly string[]
  readonly n?: number
  readonly seed?: number
  readonly reasoning_effort?: string
}

export interface ApiStart extends Identity, RequestParameters {
  /** Attempt of the same `api_request_id`, from 0. */
  readonly retry_count?: number
  readonly model?: string
  readonly provider?: string
  readonly base_url?: string
  readonly api_mode?: string
  readonly message_count?: number
  readonly tool_count?: number
  readonly approx_input_tokens?: number
  readonly request_char_count?: number
  /** Epoch seconds. Hosts repeat the first attempt's on every retry, so it is never used as a start. */
  readonly started_at?: number
  /** Sanitised request: `{method, body: {model, messages, …}}`. */
  readonly request?: unknown
  readonly request_messages?: readonly unknown[]
  readonly messages?: readonly unknown[]
  readonly system_prompt?: unknown
}

export interface ApiEnd extends Identity {
  readonly retry_count?: number
  readonly model?: string
  readonly provider?: string
  readonly base_url?: string
  /** Seconds; covers failed attempts and back-off of the same logical request. */
  readonly api_duration?: number
  /** Epoch seconds. */
  readonly started_at?: number
  readonly ended_at?: number
  readonly first_chunk_at?: number | null
  readonly finish_reason?: string
  readonly response_model?: string
  readonly response_id?: string
  /** Any spelling; see `Usage`. */
  readonly usage?: unknown
  readonly response?: unknown
  readonly assistant_content_chars?: number
  /** Tokens that the model has room for. */
  readonly context_length?: number
  readonly assistant_tool_call_count?: number
  /** US dollars, as the host counts them: a number, or `{total}`. */
  readonly cost?: unknown
}

export interface ApiError extends Identity {
  readonly model?: string
  readonly provider?: string
  readonly base_url?: string
  readonly api_duration?: number
  readonly started_at?: number
  readonly ended_at?: number
  readonly status_code?: number | null
  readonly retry_count?: number
  readonly max_retries?: number | null
  readonly retryable?: boolean | null
  readonly reason?: string | null
  /** `{type, message}`; text and Error objects are read too. */
  readonly error?: unknown
}

export interface ToolStart extends Identity {
  readonly tool_name?: string
  readonly args?: unknown
}

export interface ToolEnd extends ToolStart {
  /** JSON text, or a value. */
  readonly result?: unknown
  /** Milliseconds; includes the wait for an approval. */
  readonly duration_ms?: number
  readonly status?: string
  readonly error_type?: string | null
  readonly error_message?: string | null
}

export interface SubagentStart extends DelegationIdentity, Belongings {
  readonly child_role?: string
  readonly child_goal?: unknown
}

export interface SubagentStop extends DelegationIdentity {
  readonly child_role?: string
  readonly child_summary?: unknown
  readonly child_status?: string
  readonly status?: string
  readonly duration_ms?: number
}

export interface ApprovalRequest extends Identity {
  readonly command?: unknown
  readonly description?: unknown
  readonly pattern_key?: string
  readonly pattern_keys?: readonly string[]
  readonly surface?: string
  readonly session_key?: string
  readonly request_id?: string
}

export interface ApprovalResponse extends ApprovalRequest {
  readonly choice?: string
  readonly decided_by?: string
}

/** A person is asked something: a question, a secret, an approval (which its own hooks tell, too). */
export interface HumanInputRequest extends Identity {
  /** `clarify`, `approval`, `secret`, … */
  readonly kind?: string
  readonly request_id?: string
  readonly prompt?: unknown
  readonly platform?: string
  readonly session_key?: string
}

export interface HumanInputResolved extends HumanInputRequest {
  readonly outcome?: string
}

/** Told by a thread of its own, so it may come a little late. */
export interface StreamStart extends Identity {
  /** The `api_call_count` of the request. */
  readonly iteration?: number
  readonly model?: string
  readonly provider?: string
  readonly surface?: string
}

export interface StreamEnd extends StreamStart {
  readonly final_text?: string
  readonly finished?: boolean
  readonly error?: string | null
}

export interface SkillLifecycle extends Identity {
  /** `used`, `created`, `patched`, … */
  readonly action?: string
  readonly skill_name?: string
  /** Where the skill comes from: `bundled`, `agent`, … */
  readonly provenance?: string
  readonly use_count?: number
  readonly reused?: boolean
  readonly reuse_after_patch?: boolean
}

export interface AuxiliaryStart extends ApiStart {
  readonly aux_task?: string
  readonly streaming?: boolean
}

export interface AuxiliaryEnd extends ApiEnd {
  readonly aux_task?: string
  readonly streaming?: boolean
  readonly error?: unknown
  readonly error_type?: string | null
}

export interface TransformToolResult extends Identity {
  readonly tool_name?: string
  readonly result?: unknown
}

export interface TransformLlmOutput extends Identity {
  readonly response_text?: unknown
}

import type { TurnMetadata } from './belongings.ts'
import type { DelegationIdentity, Identity } from './identity.ts'

/**
 * One interface per hook; those of requests to a model are in `request-payloads.ts`. The types describe what hosts
 * send. The code trusts none of them, because any field can hold any value. Names are the wire names of
 * `hermes.observer.v1`. `fields.ts` has the same fields for run time, and the compiler compares the two.
 */

/** `on_session_start` */
export interface SessionStart extends Identity, TurnMetadata {
  /** Name of the model */
  readonly model?: string | undefined
  /**
   * Platform that the user writes from. With `cron` in it, and without `session_type`, `origin` and `run_type`, the
   * kind is `cron`
   */
  readonly platform?: string | undefined
  /** Not read */
  readonly provider?: string | undefined
  /** Trigger of the turn. The first of `session_type`, `origin` and `run_type` counts */
  readonly session_type?: string | undefined
  /** Trigger of the turn, if there is no `session_type` */
  readonly origin?: string | undefined
  /** Trigger of the turn, if there is neither `session_type` nor `origin` */
  readonly run_type?: string | undefined
  /** With `cron` in it, and without the three above, the kind of the turn is `cron` */
  readonly source?: string | undefined
  /** Like `source` */
  readonly trigger?: string | undefined
  /** Id of a scheduled job; if set, the kind is `cron`, too */
  readonly job_id?: string | undefined
  /** Like `job_id` */
  readonly cron_job_id?: string | undefined
  /** Name of the agent. Without it, the option `agent_name` is used */
  readonly agent_name?: string | undefined
  /** The agent's active profile */
  readonly profile?: string | undefined
  /** The user who wrote to the agent. Only with `capture_sender_id` */
  readonly sender_id?: string | undefined
  /** The caller's own id, on every span of the session from then on */
  readonly correlation_id?: string | undefined
  /** Parent's session, for a child agent */
  readonly parent_session_id?: string | null | undefined
  /** W3C trace context of the caller that requested this turn; the option `parent` decides how it is used. */
  readonly traceparent?: string | undefined
}

/** `pre_llm_call` */
export interface TurnStart extends Identity, TurnMetadata {
  /** Text, or a list of content parts. */
  readonly user_message?: unknown
  /** Messages `{role, content}`, oldest first. Only with `capture_conversation_history` */
  readonly conversation_history?: readonly unknown[] | undefined
  /** Not read */
  readonly is_first_turn?: boolean | undefined
  /** Name of the model */
  readonly model?: string | undefined
  /** The model provider */
  readonly provider?: string | undefined
  /** Platform that the user writes from; prefixed to the sender's id */
  readonly platform?: string | undefined
  /** The user who wrote to the agent. Only with `capture_sender_id` */
  readonly sender_id?: string | undefined
  /** Parent's session, if this hook opens the turn of a child agent */
  readonly parent_session_id?: string | null | undefined
  /** W3C trace context of the caller that requested the turn, if the session was reported before. */
  readonly traceparent?: string | undefined
}

/** `post_llm_call` */
export interface TurnAnswer extends Identity {
  /** Text, or a list of content parts */
  readonly assistant_response?: unknown
  /** Name of the model that answered */
  readonly model?: string | undefined
  /** Not read */
  readonly platform?: string | undefined
}

/** `on_session_end` */
export interface SessionEnd extends Identity {
  /** The turn succeeded */
  readonly completed?: boolean | undefined
  /** The user stopped it; overrides `completed` */
  readonly interrupted?: boolean | undefined
  /** Overrides `interrupted`, which overrides `completed`; if none is set, the turn is `incomplete` */
  readonly failed?: boolean | undefined
  /** Reason of the turn's end, in a word */
  readonly turn_exit_reason?: string | undefined
  /** Describes a failure if `turn_exit_reason` does not */
  readonly reason?: string | undefined
  /** Name of the model, if it changed during the turn */
  readonly model?: string | undefined
  /** Not read */
  readonly platform?: string | undefined
}

/** `on_session_finalize` */
export interface SessionFinalize {
  /** Without it: the session of the only open turn */
  readonly session_id?: string | null | undefined
  /** Not read */
  readonly platform?: string | undefined
  /** Not read */
  readonly reason?: string | undefined
}

/** `on_session_reset` */
export interface SessionReset {
  /** The new session, if `new_session_id` is not given */
  readonly session_id?: string | null | undefined
  /** Without it: the session that was torn down last */
  readonly old_session_id?: string | null | undefined
  /** The session that replaces it */
  readonly new_session_id?: string | null | undefined
  /** Not read */
  readonly reason?: string | undefined
}

/** `pre_tool_call` */
export interface ToolStart extends Identity {
  /** Name of the tool. The prefix `mcp_` marks a tool of an MCP server */
  readonly tool_name?: string | undefined
  /** An object, or any value. `path`, `file_path`, `target`, `url`, `uri`, `command`, `cmd` are read from it */
  readonly args?: unknown
}

/** `post_tool_call` */
export interface ToolEnd extends ToolStart {
  /** JSON text, or a value. */
  readonly result?: unknown
  /** Milliseconds; includes the wait for an approval. */
  readonly duration_ms?: number | undefined
  /** `ok`, `error`, `blocked`, `cancelled`, `timeout`, …; without it, an error makes the call fail, else the result decides */
  readonly status?: string | undefined
  /** `{type, message}`, an Error object, or text */
  readonly error?: unknown
  /** Kind of the error, in a word */
  readonly error_type?: string | null | undefined
  /** Message of the error */
  readonly error_message?: string | null | undefined
}

/** `subagent_start` */
export interface SubagentStart extends DelegationIdentity, TurnMetadata {
  /** Purpose of the child agent, in a word */
  readonly child_role?: string | undefined
  /** Task of the child agent: text, or a value */
  readonly child_goal?: unknown
}

/** `subagent_stop` */
export interface SubagentStop extends DelegationIdentity {
  /** For metrics */
  readonly child_role?: string | undefined
  /** Answer of the child agent: text, or a value */
  readonly child_summary?: unknown
  /** `completed`, `failed`, `error`, `timeout`, …; an unknown status is not a failure */
  readonly child_status?: string | undefined
  /** Used if there is no `child_status` */
  readonly status?: string | undefined
  /** Milliseconds */
  readonly duration_ms?: number | undefined
}

/** `pre_approval_request` */
export interface ApprovalRequest extends Identity {
  /** The command that requires approval: text, or a list of words */
  readonly command?: unknown
  /** Description shown to the user */
  readonly description?: unknown
  /** The rule that requires approval */
  readonly pattern_key?: string | undefined
  /** All rules that require it */
  readonly pattern_keys?: readonly string[] | undefined
  /** Place of the question: `cli`, `gateway`, …; `smart` is a guardian model */
  readonly surface?: string | undefined
  /** Not read */
  readonly session_key?: string | undefined
  /** Pairs the answer with the question, if several are open */
  readonly request_id?: string | undefined
}

/** `post_approval_response` */
export interface ApprovalResponse extends ApprovalRequest {
  /** `once`, `session`, `always`, `smart_approve` grant; `deny`, `timeout`, … do not */
  readonly choice?: string | undefined
  /** `user`, a guardian's name, … */
  readonly decided_by?: string | undefined
}

/** `on_human_input_request`. The user is asked something: a question, a secret, an approval (which has its own hooks, too). */
export interface HumanInputRequest extends Identity {
  /** `clarify`, `secret`, …; an `approval` has its own hooks and gets no span here */
  readonly kind?: string | undefined
  /** Pairs the answer with the question */
  readonly request_id?: string | undefined
  /** The question: text, or a value */
  readonly prompt?: unknown
  /** Place of the question */
  readonly platform?: string | undefined
  /** Not read */
  readonly session_key?: string | undefined
}

/** `on_human_input_resolved` */
export interface HumanInputResolved extends HumanInputRequest {
  /** `submitted`, `timeout`, … */
  readonly outcome?: string | undefined
}

/** `on_skill_lifecycle` */
export interface SkillLifecycle extends Identity {
  /** `used`, `created`, `patched`, … */
  readonly action?: string | undefined
  /** Name of the skill */
  readonly skill_name?: string | undefined
  /** Origin of the skill: `bundled`, `agent`, … */
  readonly provenance?: string | undefined
  /** Number of uses until now */
  readonly use_count?: number | undefined
  /** Not read */
  readonly reused?: boolean | undefined
  /** Not read */
  readonly reuse_after_patch?: boolean | undefined
}

/** `on_iteration_start` */
export interface IterationStart extends Identity {
  /** Number of the iteration in the loop, as the host counts */
  readonly iteration?: number | undefined
  /** The agent's certainty about its work, mostly 0 to 1 */
  readonly confidence?: number | undefined
}

/** `on_turn_event` */
export interface TurnEvent extends Identity {
  /** The event, in a word: `command:stop`, `session:compress`, … */
  readonly name?: string | undefined
}

/** `transform_tool_result` */
export interface TransformToolResult extends Identity {
  /** Not read */
  readonly tool_name?: string | undefined
  /** Compared with the result at the tool's end: an event is written only if it was changed */
  readonly result?: unknown
}

/** `transform_llm_output` */
export interface TransformLlmOutput extends Identity {
  /** Compared with the answer: an event is written only if it was changed */
  readonly response_text?: unknown
}

import type { Belongings } from './belongings.ts'
import type { DelegationIdentity, Identity } from './identity.ts'

/**
 * One interface a hook; those of requests to a model are in `request-payloads.ts`. The types say what hosts send; the code
 * trusts none of them, because anything at all can arrive in any field. Names are the wire names of `hermes.observer.v1`.
 * `fields.ts` has the same fields for run time, and the compiler compares the two.
 */

/** `on_session_start` */
export interface SessionStart extends Identity, Belongings {
  /** Name of the model */
  readonly model?: string | undefined
  /** Where people write from. With `cron` in it, and without `session_type`, `origin` and `run_type`, the kind of the turn is `cron` */
  readonly platform?: string | undefined
  /** Not read */
  readonly provider?: string | undefined
  /** What set the turn off. The first of `session_type`, `origin` and `run_type` counts */
  readonly session_type?: string | undefined
  /** What set the turn off, where there is no `session_type` */
  readonly origin?: string | undefined
  /** What set the turn off, where there is neither `session_type` nor `origin` */
  readonly run_type?: string | undefined
  /** With `cron` in it, and without the three above, the kind of the turn is `cron` */
  readonly source?: string | undefined
  /** As `source` */
  readonly trigger?: string | undefined
  /** Id of a scheduled job; one that is set makes the kind `cron`, too */
  readonly job_id?: string | undefined
  /** As `job_id` */
  readonly cron_job_id?: string | undefined
  /** Name of the agent; the key `agent_name` stands in for it */
  readonly agent_name?: string | undefined
  /** Which of the agent's profiles is in use */
  readonly profile?: string | undefined
  /** Who wrote to the agent. Only with `capture_sender_id` */
  readonly sender_id?: string | undefined
  /** An id of the caller's own, on every span of the session from then on */
  readonly correlation_id?: string | undefined
  /** Of a child agent: its parent's session */
  readonly parent_session_id?: string | null | undefined
  /** W3C trace context of who asked for the turn that begins here; `parent` says what it becomes. */
  readonly traceparent?: string | undefined
}

/** `pre_llm_call` */
export interface TurnStart extends Identity, Belongings {
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
  /** Where people write from; stands before the sender's id */
  readonly platform?: string | undefined
  /** Who wrote to the agent. Only with `capture_sender_id` */
  readonly sender_id?: string | undefined
  /** Where this hook opens the turn of a child agent: its parent's session */
  readonly parent_session_id?: string | null | undefined
  /** W3C trace context of who asked for the turn, where the session was told of before. */
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
  /** The turn went well */
  readonly completed?: boolean | undefined
  /** A person stopped it; stronger than `completed` */
  readonly interrupted?: boolean | undefined
  /** Stronger than `interrupted`, and that than `completed`; none of them is `incomplete` */
  readonly failed?: boolean | undefined
  /** Why the turn ended, in a word */
  readonly turn_exit_reason?: string | undefined
  /** Describes a failure where `turn_exit_reason` does not */
  readonly reason?: string | undefined
  /** Name of the model, where it changed on the way */
  readonly model?: string | undefined
  /** Not read */
  readonly platform?: string | undefined
}

/** `on_session_finalize` */
export interface SessionFinalize {
  /** Without it: the only open turn's */
  readonly session_id?: string | null | undefined
  /** Not read */
  readonly platform?: string | undefined
  /** Not read */
  readonly reason?: string | undefined
}

/** `on_session_reset` */
export interface SessionReset {
  /** The new one, where `new_session_id` is not given */
  readonly session_id?: string | null | undefined
  /** Without it: the session that was torn down last */
  readonly old_session_id?: string | null | undefined
  /** The session that takes its place */
  readonly new_session_id?: string | null | undefined
  /** Not read */
  readonly reason?: string | undefined
}

/** `pre_tool_call` */
export interface ToolStart extends Identity {
  /** Name of the tool; what begins with `mcp_` is one of an MCP server */
  readonly tool_name?: string | undefined
  /** An object, or anything else. `path`, `file_path`, `target`, `url`, `uri`, `command`, `cmd` are looked for */
  readonly args?: unknown
}

/** `post_tool_call` */
export interface ToolEnd extends ToolStart {
  /** JSON text, or a value. */
  readonly result?: unknown
  /** Milliseconds; includes the wait for an approval. */
  readonly duration_ms?: number | undefined
  /** `ok`, `error`, `blocked`, `cancelled`, `timeout`, …; without it, an error makes the call a failed one, and else the result is asked */
  readonly status?: string | undefined
  /** `{type, message}`, an Error object, or text */
  readonly error?: unknown
  /** Kind of the error, in a word */
  readonly error_type?: string | null | undefined
  /** What the error says */
  readonly error_message?: string | null | undefined
}

/** `subagent_start` */
export interface SubagentStart extends DelegationIdentity, Belongings {
  /** What the child agent is for, in a word */
  readonly child_role?: string | undefined
  /** What it is asked to do: text, or a value */
  readonly child_goal?: unknown
}

/** `subagent_stop` */
export interface SubagentStop extends DelegationIdentity {
  /** For metrics */
  readonly child_role?: string | undefined
  /** What it answered: text, or a value */
  readonly child_summary?: unknown
  /** `completed`, `failed`, `error`, `timeout`, …; what is not known to be a failure is none */
  readonly child_status?: string | undefined
  /** Where there is no `child_status` */
  readonly status?: string | undefined
  /** Milliseconds */
  readonly duration_ms?: number | undefined
}

/** `pre_approval_request` */
export interface ApprovalRequest extends Identity {
  /** The command that wants approval: text, or a list of words */
  readonly command?: unknown
  /** What the person is told of it */
  readonly description?: unknown
  /** The rule that asks for approval */
  readonly pattern_key?: string | undefined
  /** All rules that do */
  readonly pattern_keys?: readonly string[] | undefined
  /** Where it is asked: `cli`, `gateway`, …; `smart` is a guardian model */
  readonly surface?: string | undefined
  /** Not read */
  readonly session_key?: string | undefined
  /** Pairs the answer with the question, where several are open */
  readonly request_id?: string | undefined
}

/** `post_approval_response` */
export interface ApprovalResponse extends ApprovalRequest {
  /** `once`, `session`, `always`, `smart_approve` grant; `deny`, `timeout`, … do not */
  readonly choice?: string | undefined
  /** `user`, a guardian's name, … */
  readonly decided_by?: string | undefined
}

/** `on_human_input_request`. A person is asked something: a question, a secret, an approval (which its own hooks tell, too). */
export interface HumanInputRequest extends Identity {
  /** `clarify`, `secret`, …; what is an `approval` has hooks of its own, and nothing is drawn of it here */
  readonly kind?: string | undefined
  /** Pairs the answer with the question */
  readonly request_id?: string | undefined
  /** What is asked: text, or a value */
  readonly prompt?: unknown
  /** Where it is asked */
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
  /** Where the skill comes from: `bundled`, `agent`, … */
  readonly provenance?: string | undefined
  /** How often it was used until now */
  readonly use_count?: number | undefined
  /** Not read */
  readonly reused?: boolean | undefined
  /** Not read */
  readonly reuse_after_patch?: boolean | undefined
}

/** `on_iteration_start` */
export interface IterationStart extends Identity {
  /** Which one of the loop it is, as the host counts */
  readonly iteration?: number | undefined
  /** How sure the agent is of its work, mostly 0 to 1 */
  readonly confidence?: number | undefined
}

/** `on_turn_event` */
export interface TurnEvent extends Identity {
  /** What happens, in a word: `command:stop`, `session:compress`, … */
  readonly name?: string | undefined
}

/** `transform_tool_result` */
export interface TransformToolResult extends Identity {
  /** Not read */
  readonly tool_name?: string | undefined
  /** Compared with what the tool's end says: an event only where it was changed */
  readonly result?: unknown
}

/** `transform_llm_output` */
export interface TransformLlmOutput extends Identity {
  /** Compared with the answer: an event only where it was changed */
  readonly response_text?: unknown
}

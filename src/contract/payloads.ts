/**
 * The payloads, one interface per hook. The types describe what hosts send. The code trusts none of them, because any field can
 * hold any value. Names are the wire names of `hermes.observer.v1`. The build derives the fields for run time from them.
 */

import type { ControlAction, ControlFailure, ControlPhase, ControlVerdict } from './vocabulary.ts'

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

/**
 * The metadata of a turn, from a hook that begins one. It is written on the turn's spans from then on, and on those of
 * its child agents. At most 32 entries each, at most 200 characters per text; masked like all content.
 */
export interface TurnMetadata {
  /** Tags to find turns by */
  readonly tags?: readonly string[] | undefined
  /** A flat map of text, numbers and booleans: facts about the turn beyond its tags */
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined
  /** User of the turn. With `content_capture: off` only if `capture_sender_id` is on */
  readonly user_id?: string | undefined
  /** A flat map like `metadata`, written under its own names. Names that hookspan writes itself are dropped and reported */
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Location of the agent's work. `workspace_capture` decides how much of it is recorded. */
export interface Workspace {
  /** The agent's working directory. Only its name is recorded, unless `workspace_capture` is `path` */
  readonly cwd?: string | undefined
  /** The repository: a name, `owner/name` or an address, of which only the name is recorded */
  readonly repository?: string | undefined
  /** Branch or tag that is checked out */
  readonly branch?: string | undefined
}

export interface SessionStart extends Identity, TurnMetadata, Workspace {
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

export interface TurnStart extends Identity, TurnMetadata, Workspace {
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

export interface TurnAnswer extends Identity {
  /** Text, or a list of content parts */
  readonly assistant_response?: unknown
  /** Name of the model that answered */
  readonly model?: string | undefined
  /** Not read */
  readonly platform?: string | undefined
}

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

export interface SessionFinalize {
  /** Without it: the session of the only open turn */
  readonly session_id?: string | null | undefined
  /** Not read */
  readonly platform?: string | undefined
  /** Not read */
  readonly reason?: string | undefined
}

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

export interface ToolStart extends Identity {
  /** Name of the tool. The prefix `mcp_` marks a tool of an MCP server */
  readonly tool_name?: string | undefined
  /** An object, or any value. `path`, `file_path`, `target`, `url`, `uri`, `command`, `cmd` are read from it */
  readonly args?: unknown
}

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

export interface SubagentStart extends DelegationIdentity, TurnMetadata {
  /** Purpose of the child agent, in a word */
  readonly child_role?: string | undefined
  /** Task of the child agent: text, or a value */
  readonly child_goal?: unknown
}

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

export interface HumanInputResolved extends HumanInputRequest {
  /** `submitted`, `timeout`, … */
  readonly outcome?: string | undefined
}

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

export interface IterationStart extends Identity {
  /** Number of the iteration in the loop, as the host counts */
  readonly iteration?: number | undefined
  /** The agent's certainty about its work, mostly 0 to 1 */
  readonly confidence?: number | undefined
}

export interface TurnEvent extends Identity {
  /** The event, in a word: `command:stop`, `session:compress`, … */
  readonly name?: string | undefined
}

export interface TransformToolResult extends Identity {
  /** Not read */
  readonly tool_name?: string | undefined
  /** Compared with the result at the tool's end: an event is written only if it was changed */
  readonly result?: unknown
}

export interface TransformLlmOutput extends Identity {
  /** Compared with the answer: an event is written only if it was changed */
  readonly response_text?: unknown
}

export interface ControlHookStart extends Identity {
  /** Pairs the end with the start; each run has its own. Without it no span is written */
  readonly hook_run_id?: string | null | undefined
  /** Name of the guard */
  readonly hook_name?: string | undefined
  /** Step that the hook inspects: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool` or `after_tool` */
  readonly hook_phase?: ControlPhase | undefined
  /** Its place in the chain, a whole number: lower ones run first in `before_…` phases, and last in `after_…` */
  readonly hook_priority?: number | undefined
  /** True if the hook decides about the step; false if it changes it, or only observes */
  readonly hook_judges?: boolean | undefined
}

export interface ControlHookEnd extends ControlHookStart {
  /** Its decision: `pass`, `block`, `rewrite`, `inject`, `retry`, `ask`; `failed` if it gave no valid one */
  readonly verdict?: ControlVerdict | undefined
  /** Effect in the host: `ran`, `blocked`, `rewritten`, `injected`, `retried`, `asked`; `none` if it supports no such effect */
  readonly action?: ControlAction | undefined
  /** Reason, in words for the model */
  readonly reason?: string | undefined
  /** Reason, in words for the user */
  readonly detail?: string | undefined
  /** Names of the rewritten fields, without their contents */
  readonly rewritten_fields?: readonly string[] | undefined
  /** All arguments that the tool then runs with, if this run has changed them */
  readonly rewritten_args?: unknown
  /** Kind of failure: `threw`, `timed_out`, or `nonsense` for an invalid answer */
  readonly failure?: ControlFailure | undefined
  /** Message of the failure */
  readonly failure_message?: string | undefined
  /** Milliseconds, fractions allowed */
  readonly duration_ms?: number | undefined
  /** Number of runs with the same verdict that this record stands for: they are counted and get no spans */
  readonly count?: number | undefined
}

/** Request parameters that are copied onto the span; read from `request.body` if they are not fields. */
export interface RequestParameters {
  /** Maximum number of tokens in the answer */
  readonly max_tokens?: number | null | undefined
  /** Range according to the model provider, mostly 0 to 2 */
  readonly temperature?: number | undefined
  /** 0 to 1 */
  readonly top_p?: number | undefined
  /** Number of most likely tokens to sample from */
  readonly top_k?: number | undefined
  /** Range according to the model provider, mostly -2 to 2 */
  readonly frequency_penalty?: number | undefined
  /** Range according to the model provider, mostly -2 to 2 */
  readonly presence_penalty?: number | undefined
  /** True if the answer is streamed */
  readonly stream?: boolean | undefined
  /** Stop sequences of the answer */
  readonly stop?: string | readonly string[] | undefined
  /** Number of requested answers; 1 is not written */
  readonly n?: number | undefined
  /** Makes the sampling repeatable, if the model provider supports it */
  readonly seed?: number | undefined
  /** `low`, `medium`, `high`, … */
  readonly reasoning_effort?: string | undefined
}

export interface ApiStart extends Identity, RequestParameters {
  /** Attempt of the same `api_request_id`, from 0. */
  readonly retry_count?: number | undefined
  /** The requested model; `request.body.model` wins */
  readonly model?: string | undefined
  /** The model provider; spellings of the well-known ones are mapped to the names of the conventions */
  readonly provider?: string | undefined
  /** Only host and port are written, without credentials and path */
  readonly base_url?: string | undefined
  /** Protocol of the provider's API */
  readonly api_mode?: string | undefined
  /** Number of messages in the request */
  readonly message_count?: number | undefined
  /** Number of tools in the request; without it, `request.body.tools` is counted */
  readonly tool_count?: number | undefined
  /** Tokens of the input, as the host estimates them */
  readonly approx_input_tokens?: number | undefined
  /** Number of characters in the request */
  readonly request_char_count?: number | undefined
  /** Epoch seconds. Hosts repeat the first attempt's on every retry, so it is never used as a start. */
  readonly started_at?: number | undefined
  /** Sanitised request: `{method, body: {model, messages, …}}`. */
  readonly request?: unknown
  /** Messages sent: the first of this, `messages` and `request.body.messages`; `content_capture: full` only */
  readonly request_messages?: readonly unknown[] | undefined
  /** Used if there are no `request_messages` */
  readonly messages?: readonly unknown[] | undefined
  /** Text, or a list of content parts; `content_capture: full` only */
  readonly system_prompt?: unknown
}

/** The end of an attempt at a model request. */
export interface RequestEnd {
  /** Attempt that ended, from 0; the end of another attempt does not end this one */
  readonly retry_count?: number | undefined
  /** For metrics, and if the start was never seen */
  readonly model?: string | undefined
  /** For metrics, and if the start was never seen */
  readonly provider?: string | undefined
  /** Used if the start was never seen */
  readonly base_url?: string | undefined
  /** Seconds; covers failed attempts and back-off of the same logical request. Gives the start time if the start was not seen. */
  readonly api_duration?: number | undefined
  /** Not read */
  readonly started_at?: number | undefined
  /** Epoch seconds; the span's end, if plausible */
  readonly ended_at?: number | undefined
}

export interface ApiEnd extends Identity, RequestEnd {
  /** Epoch seconds */
  readonly first_chunk_at?: number | null | undefined
  /** Reason of the answer's end: `stop`, `tool_calls`, `length`, … */
  readonly finish_reason?: string | undefined
  /** Name of the model that answered */
  readonly response_model?: string | undefined
  /** The model provider's id of the answer */
  readonly response_id?: string | undefined
  /** Tokens, as the provider or the agent spells them: see [Usage](#usage) */
  readonly usage?: unknown
  /** `{assistant_message: {content, tool_calls}, upstream_provider}`; the message with `content_capture: full` only */
  readonly response?: unknown
  /** Number of characters in the answer */
  readonly assistant_content_chars?: number | undefined
  /** Size of the model's context in tokens. */
  readonly context_length?: number | undefined
  /** Number of tool calls in the answer */
  readonly assistant_tool_call_count?: number | undefined
  /** US dollars, as the host counts them: a number, or `{total}`. */
  readonly cost?: unknown
  /** The billed tier, as the provider names it: `default`, `batch`, `priority` */
  readonly service_tier?: string | undefined
}

export interface ApiError extends Identity, RequestEnd {
  /** HTTP status; none means that there was no response */
  readonly status_code?: number | null | undefined
  /** Number of retries after which the host gives up */
  readonly max_retries?: number | null | undefined
  /** True if the request may be retried: another attempt follows, if one is left */
  readonly retryable?: boolean | null | undefined
  /** The host's classification of the error, in a word */
  readonly reason?: string | null | undefined
  /** `{type, message}`; text and Error objects are read too. */
  readonly error?: unknown
}

export interface AuxiliaryStart extends ApiStart {
  /** Purpose of the call: `title`, `compression`, `vision`, … */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
}

export interface AuxiliaryEnd extends ApiEnd {
  /** Purpose of the call */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
  /** Same as in [api_request_error](#api_request_error) */
  readonly error?: unknown
  /** Kind of the error, in a word; if set, the call counts as failed */
  readonly error_type?: string | null | undefined
}

/** `on_stream_start`. Emitted by a separate thread, so it may arrive a little late. */
export interface StreamStart extends Identity {
  /** The request's `api_call_count` in the turn */
  readonly iteration?: number | undefined
  /** Not read */
  readonly model?: string | undefined
  /** Not read */
  readonly provider?: string | undefined
  /** Not read */
  readonly surface?: string | undefined
}

export interface StreamEnd extends StreamStart {
  /** Not read */
  readonly final_text?: string | undefined
  /** Not read */
  readonly finished?: boolean | undefined
  /** Reason of a broken stream; the request's own end overrides it */
  readonly error?: string | null | undefined
}

/** Hook name → its payload. */
export interface HookPayloads {
  // `HOOKS` has the meaning of each. The build inserts it here and above each payload, for editors.
  on_session_start: SessionStart
  pre_llm_call: TurnStart
  pre_api_request: ApiStart
  post_api_request: ApiEnd
  api_request_error: ApiError
  pre_tool_call: ToolStart
  post_tool_call: ToolEnd
  post_llm_call: TurnAnswer
  on_session_end: SessionEnd
  on_session_finalize: SessionFinalize
  on_session_reset: SessionReset
  subagent_start: SubagentStart
  subagent_stop: SubagentStop
  pre_approval_request: ApprovalRequest
  post_approval_response: ApprovalResponse
  on_human_input_request: HumanInputRequest
  on_human_input_resolved: HumanInputResolved
  pre_control_hook: ControlHookStart
  post_control_hook: ControlHookEnd
  pre_auxiliary_call: AuxiliaryStart
  post_auxiliary_call: AuxiliaryEnd
  on_stream_start: StreamStart
  on_stream_end: StreamEnd
  on_skill_lifecycle: SkillLifecycle
  on_iteration_start: IterationStart
  on_turn_event: TurnEvent
  transform_tool_result: TransformToolResult
  transform_llm_output: TransformLlmOutput
}

/** The name of a hook. */
export type HookName = keyof HookPayloads

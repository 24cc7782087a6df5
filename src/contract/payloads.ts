/**
 * The payloads, one type per hook. The types describe what hosts send. The code trusts none of them, because any field can hold
 * any value. Names are the wire names of `hermes.observer.v1`.
 */

import type { ControlAction, ControlFailure, ControlPhase, ControlVerdict } from './vocabulary.ts'

/**
 * The own fields of each type: a name of `ValueOf`, and the description. The build derives from them the interfaces of the
 * published declarations, the fields for the payload lint, and `docs/hooks.md`. @public
 */
export const PAYLOAD_FIELDS = {
  Identity: {
    session_id: 'text or null: The conversation. It can rotate during a turn (context compression).',
    turn_id: 'text or null: One user turn.',
    task_id: 'text or null: A task; a child agent has its own. Last resort of correlation.',
    api_request_id: 'text or null: One logical model request; retries keep it.',
    api_call_count:
      'number or null: Ordinal of the request in its turn, from 1. Used if `api_request_id` is absent. On a tool: 0 if no request made the call.',
    tool_call_id: 'text or null: One tool call.',
  },
  DelegationIdentity: {
    parent_session_id: 'text or null: The session of the agent that delegates',
    parent_turn_id: 'text or null: The turn that delegates',
    parent_subagent_id: 'text or null: Id of the delegating agent, if it is a child itself',
    child_session_id: 'text or null: The session of the child agent. Its turns are nested by this id',
    child_subagent_id: "text or null: The child agent's id, if it has no session of its own",
    tool_call_id: 'text or null: The tool call that made the delegation',
  },
  TurnMetadata: {
    tags: 'texts: Tags to find turns by',
    metadata: 'flat: A flat map of text, numbers and booleans: facts about the turn beyond its tags',
    user_id: 'text: User of the turn. With `content_capture: off` only if `capture_sender_id` is on',
    attributes:
      'flat: A flat map like `metadata`, written under its own names. Names that hookspan writes itself are dropped and reported',
  },
  Workspace: {
    cwd: "text: The agent's working directory. Only its name is recorded, unless `workspace_capture` is `path`",
    repository: 'text: The repository: a name, `owner/name` or an address, of which only the name is recorded',
    branch: 'text: Branch or tag that is checked out',
  },
  SessionStart: {
    model: 'text: Name of the model',
    platform:
      'text: Platform that the user writes from. With `cron` in it, and without `session_type`, `origin` and `run_type`, the kind is `cron`',
    provider: 'text: Not read',
    session_type: 'text: Trigger of the turn. The first of `session_type`, `origin` and `run_type` counts',
    origin: 'text: Trigger of the turn, if there is no `session_type`',
    run_type: 'text: Trigger of the turn, if there is neither `session_type` nor `origin`',
    source: 'text: With `cron` in it, and without the three above, the kind of the turn is `cron`',
    trigger: 'text: Like `source`',
    job_id: 'text: Id of a scheduled job; if set, the kind is `cron`, too',
    cron_job_id: 'text: Like `job_id`',
    agent_name: 'text: Name of the agent. Without it, the option `agent_name` is used',
    profile: "text: The agent's active profile",
    sender_id: 'text: The user who wrote to the agent. Only with `capture_sender_id`',
    correlation_id: "text: The caller's own id, on every span of the session from then on",
    parent_session_id: "text or null: Parent's session, for a child agent",
    traceparent:
      'text: W3C trace context of the caller that requested this turn; the option `parent` decides how it is used.',
  },
  TurnStart: {
    user_message: 'any: Text, or a list of content parts.',
    conversation_history: 'list: Messages `{role, content}`, oldest first. Only with `capture_conversation_history`',
    is_first_turn: 'boolean: Not read',
    model: 'text: Name of the model',
    provider: 'text: The model provider',
    platform: "text: Platform that the user writes from; prefixed to the sender's id",
    sender_id: 'text: The user who wrote to the agent. Only with `capture_sender_id`',
    parent_session_id: "text or null: Parent's session, if this hook opens the turn of a child agent",
    traceparent: 'text: W3C trace context of the caller that requested the turn, if the session was reported before.',
  },
  TurnAnswer: {
    assistant_response: 'any: Text, or a list of content parts',
    model: 'text: Name of the model that answered',
    platform: 'text: Not read',
  },
  SessionEnd: {
    completed: 'boolean: The turn succeeded',
    interrupted: 'boolean: The user stopped it; overrides `completed`',
    failed: 'boolean: Overrides `interrupted`, which overrides `completed`; if none is set, the turn is `incomplete`',
    turn_exit_reason: "text: Reason of the turn's end, in a word",
    reason: 'text: Describes a failure if `turn_exit_reason` does not',
    model: 'text: Name of the model, if it changed during the turn',
    platform: 'text: Not read',
  },
  SessionFinalize: {
    session_id: 'text or null: Without it: the session of the only open turn',
    platform: 'text: Not read',
    reason: 'text: Not read',
  },
  SessionReset: {
    session_id: 'text or null: The new session, if `new_session_id` is not given',
    old_session_id: 'text or null: Without it: the session that was torn down last',
    new_session_id: 'text or null: The session that replaces it',
    reason: 'text: Not read',
  },
  ToolStart: {
    tool_name: 'text: Name of the tool. The prefix `mcp_` marks a tool of an MCP server',
    args: 'any: An object, or any value. `path`, `file_path`, `target`, `url`, `uri`, `command`, `cmd` are read from it',
  },
  ToolEnd: {
    result: 'any: JSON text, or a value.',
    duration_ms: 'number: Milliseconds; includes the wait for an approval.',
    status:
      'text: `ok`, `error`, `blocked`, `cancelled`, `timeout`, …; without it, an error makes the call fail, else the result decides',
    error: 'any: `{type, message}`, an Error object, or text',
    error_type: 'text or null: Kind of the error, in a word',
    error_message: 'text or null: Message of the error',
  },
  SubagentStart: {
    child_role: 'text: Purpose of the child agent, in a word',
    child_goal: 'any: Task of the child agent: text, or a value',
  },
  SubagentStop: {
    child_role: 'text: For metrics',
    child_summary: 'any: Answer of the child agent: text, or a value',
    child_status: 'text: `completed`, `failed`, `error`, `timeout`, …; an unknown status is not a failure',
    status: 'text: Used if there is no `child_status`',
    duration_ms: 'number: Milliseconds',
  },
  ApprovalRequest: {
    command: 'any: The command that requires approval: text, or a list of words',
    description: 'any: Description shown to the user',
    pattern_key: 'text: The rule that requires approval',
    pattern_keys: 'texts: All rules that require it',
    surface: 'text: Place of the question: `cli`, `gateway`, …; `smart` is a guardian model',
    session_key: 'text: Not read',
    request_id: 'text: Pairs the answer with the question, if several are open',
  },
  ApprovalResponse: {
    choice: 'text: `once`, `session`, `always`, `smart_approve` grant; `deny`, `timeout`, … do not',
    decided_by: "text: `user`, a guardian's name, …",
  },
  HumanInputRequest: {
    kind: 'text: `clarify`, `secret`, …; an `approval` has its own hooks and gets no span here',
    request_id: 'text: Pairs the answer with the question',
    prompt: 'any: The question: text, or a value',
    platform: 'text: Place of the question',
    session_key: 'text: Not read',
  },
  HumanInputResolved: {
    outcome: 'text: `submitted`, `timeout`, …',
  },
  SkillLifecycle: {
    action: 'text: `used`, `created`, `patched`, …',
    skill_name: 'text: Name of the skill',
    provenance: 'text: Origin of the skill: `bundled`, `agent`, …',
    use_count: 'number: Number of uses until now',
    reused: 'boolean: Not read',
    reuse_after_patch: 'boolean: Not read',
  },
  IterationStart: {
    iteration: 'number: Number of the iteration in the loop, as the host counts',
    confidence: "number: The agent's certainty about its work, mostly 0 to 1",
  },
  TurnEvent: {
    name: 'text: The event, in a word: `command:stop`, `session:compress`, …',
  },
  TransformToolResult: {
    tool_name: 'text: Not read',
    result: "any: Compared with the result at the tool's end: an event is written only if it was changed",
  },
  TransformLlmOutput: {
    response_text: 'any: Compared with the answer: an event is written only if it was changed',
  },
  ControlHookStart: {
    hook_run_id: 'text or null: Pairs the end with the start; each run has its own. Without it no span is written',
    hook_name: 'text: Name of the guard',
    hook_phase:
      'phase: Step that the hook inspects: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool` or `after_tool`',
    hook_priority:
      'number: Its place in the chain, a whole number: lower ones run first in `before_…` phases, and last in `after_…`',
    hook_judges: 'boolean: True if the hook decides about the step; false if it changes it, or only observes',
  },
  ControlHookEnd: {
    verdict:
      'verdict: Its decision: `pass`, `block`, `rewrite`, `inject`, `retry`, `ask`; `failed` if it gave no valid one',
    action:
      'action: Effect in the host: `ran`, `blocked`, `rewritten`, `injected`, `retried`, `asked`; `none` if it supports no such effect',
    reason: 'text: Reason, in words for the model',
    detail: 'text: Reason, in words for the user',
    rewritten_fields: 'texts: Names of the rewritten fields, without their contents',
    rewritten_args: 'any: All arguments that the tool then runs with, if this run has changed them',
    failure: 'failure: Kind of failure: `threw`, `timed_out`, or `nonsense` for an invalid answer',
    failure_message: 'text: Message of the failure',
    duration_ms: 'number: Milliseconds, fractions allowed',
    count:
      'number: Number of runs with the same verdict that this record stands for: they are counted and get no spans',
  },
  RequestParameters: {
    max_tokens: 'number or null: Maximum number of tokens in the answer',
    temperature: 'number: Range according to the model provider, mostly 0 to 2',
    top_p: 'number: 0 to 1',
    top_k: 'number: Number of most likely tokens to sample from',
    frequency_penalty: 'number: Range according to the model provider, mostly -2 to 2',
    presence_penalty: 'number: Range according to the model provider, mostly -2 to 2',
    stream: 'boolean: True if the answer is streamed',
    stop: 'text or texts: Stop sequences of the answer',
    n: 'number: Number of requested answers; 1 is not written',
    seed: 'number: Makes the sampling repeatable, if the model provider supports it',
    reasoning_effort: 'text: `low`, `medium`, `high`, …',
  },
  ApiStart: {
    retry_count: 'number: Attempt of the same `api_request_id`, from 0.',
    model: 'text: The requested model; `request.body.model` wins',
    provider: 'text: The model provider; spellings of the well-known ones are mapped to the names of the conventions',
    base_url: 'text: Only host and port are written, without credentials and path',
    api_mode: "text: Protocol of the provider's API",
    message_count: 'number: Number of messages in the request',
    tool_count: 'number: Number of tools in the request; without it, `request.body.tools` is counted',
    approx_input_tokens: 'number: Tokens of the input, as the host estimates them',
    request_char_count: 'number: Number of characters in the request',
    started_at:
      "number: Epoch seconds. Hosts repeat the first attempt's on every retry, so it is never used as a start.",
    request: 'any: Sanitised request: `{method, body: {model, messages, …}}`.',
    request_messages:
      'list: Messages sent: the first of this, `messages` and `request.body.messages`; `content_capture: full` only',
    messages: 'list: Used if there are no `request_messages`',
    system_prompt: 'any: Text, or a list of content parts; `content_capture: full` only',
  },
  ApiEnd: {
    retry_count: 'number: Attempt that ended; the end of another attempt does not end this one',
    model: 'text: For metrics, and if the start was never seen',
    provider: 'text: For metrics, and if the start was never seen',
    base_url: 'text: Used if the start was never seen',
    api_duration:
      'number: Seconds; covers failed attempts and back-off of the same logical request. Gives the start time if the start was not seen.',
    started_at: 'number: Not read',
    ended_at: "number: Epoch seconds; the span's end, if plausible",
    first_chunk_at: 'number or null: Epoch seconds',
    finish_reason: "text: Reason of the answer's end: `stop`, `tool_calls`, `length`, …",
    response_model: 'text: Name of the model that answered',
    response_id: "text: The model provider's id of the answer",
    usage: 'any: Tokens, as the provider or the agent spells them: see [Usage](#usage)',
    response:
      'any: `{assistant_message: {content, tool_calls}, upstream_provider}`; the message with `content_capture: full` only',
    assistant_content_chars: 'number: Number of characters in the answer',
    context_length: "number: Size of the model's context in tokens.",
    assistant_tool_call_count: 'number: Number of tool calls in the answer',
    cost: 'any: US dollars, as the host counts them: a number, or `{total}`.',
    service_tier: 'text: The billed tier, as the provider names it: `default`, `batch`, `priority`',
  },
  ApiError: {
    model: 'text: For metrics, and if the start was never seen',
    provider: 'text: For metrics, and if the start was never seen',
    base_url: 'text: Used if the start was never seen',
    api_duration: 'number: Seconds',
    started_at: 'number: Not read',
    ended_at: "number: Epoch seconds; the span's end, if plausible",
    status_code: 'number or null: HTTP status; none means that there was no response',
    retry_count: 'number: Attempt that failed, from 0',
    max_retries: 'number or null: Number of retries after which the host gives up',
    retryable: 'boolean or null: True if the request may be retried: another attempt follows, if one is left',
    reason: "text or null: The host's classification of the error, in a word",
    error: 'any: `{type, message}`; text and Error objects are read too.',
  },
  AuxiliaryStart: {
    aux_task: 'text: Purpose of the call: `title`, `compression`, `vision`, …',
    streaming: 'boolean: Not read',
  },
  AuxiliaryEnd: {
    aux_task: 'text: Purpose of the call',
    streaming: 'boolean: Not read',
    error: 'any: Same as in [api_request_error](#api_request_error)',
    error_type: 'text or null: Kind of the error, in a word; if set, the call counts as failed',
  },
  StreamStart: {
    iteration: "number: The request's `api_call_count` in the turn",
    model: 'text: Not read',
    provider: 'text: Not read',
    surface: 'text: Not read',
  },
  StreamEnd: {
    final_text: 'text: Not read',
    finished: 'boolean: Not read',
    error: "text or null: Reason of a broken stream; the request's own end overrides it",
  },
} as const

interface ValueOf {
  text: string
  number: number
  boolean: boolean
  list: readonly unknown[]
  texts: readonly string[]
  'text or texts': string | readonly string[]
  flat: Readonly<Record<string, string | number | boolean>>
  any: unknown
  phase: ControlPhase
  verdict: ControlVerdict
  action: ControlAction
  failure: ControlFailure
}

type Value<Kind> = Kind extends `${infer Other} or null`
  ? Value<Other> | null
  : Kind extends keyof ValueOf
    ? ValueOf[Kind]
    : never

type Own<Name extends keyof typeof PAYLOAD_FIELDS> = {
  readonly [Field in keyof (typeof PAYLOAD_FIELDS)[Name]]?:
    | ((typeof PAYLOAD_FIELDS)[Name][Field] extends `${infer Kind}: ${string}` ? Value<Kind> : never)
    | undefined
}

/**
 * The ids that hooks carry. All are opaque: never parsed, only compared. All are optional, because hosts differ and
 * versions of one host differ; an empty string or null is the same as absent.
 */
export type Identity = Own<'Identity'>

/** The ids of a delegation: parent, child, and the call that made it. */
export type DelegationIdentity = Own<'DelegationIdentity'>

/**
 * The metadata of a turn, from a hook that begins one. It is written on the turn's spans from then on, and on those of
 * its child agents. At most 32 entries each, at most 200 characters per text; masked like all content.
 */
export type TurnMetadata = Own<'TurnMetadata'>

/** Location of the agent's work. `workspace_capture` decides how much of it is recorded. */
export type Workspace = Own<'Workspace'>
export type SessionStart = Own<'SessionStart'> & Identity & TurnMetadata & Workspace
export type TurnStart = Own<'TurnStart'> & Identity & TurnMetadata & Workspace
export type TurnAnswer = Own<'TurnAnswer'> & Identity
export type SessionEnd = Own<'SessionEnd'> & Identity
export type SessionFinalize = Own<'SessionFinalize'>
export type SessionReset = Own<'SessionReset'>
export type ToolStart = Own<'ToolStart'> & Identity
export type ToolEnd = Own<'ToolEnd'> & ToolStart
export type SubagentStart = Own<'SubagentStart'> & DelegationIdentity & TurnMetadata
export type SubagentStop = Own<'SubagentStop'> & DelegationIdentity
export type ApprovalRequest = Own<'ApprovalRequest'> & Identity
export type ApprovalResponse = Own<'ApprovalResponse'> & ApprovalRequest

/** `on_human_input_request`. The user is asked something: a question, a secret, an approval (which has its own hooks, too). */
export type HumanInputRequest = Own<'HumanInputRequest'> & Identity
export type HumanInputResolved = Own<'HumanInputResolved'> & HumanInputRequest
export type SkillLifecycle = Own<'SkillLifecycle'> & Identity
export type IterationStart = Own<'IterationStart'> & Identity
export type TurnEvent = Own<'TurnEvent'> & Identity
export type TransformToolResult = Own<'TransformToolResult'> & Identity
export type TransformLlmOutput = Own<'TransformLlmOutput'> & Identity
export type ControlHookStart = Own<'ControlHookStart'> & Identity
export type ControlHookEnd = Own<'ControlHookEnd'> & ControlHookStart

/** Request parameters that are copied onto the span; read from `request.body` if they are not fields. */
export type RequestParameters = Own<'RequestParameters'>
export type ApiStart = Own<'ApiStart'> & Identity & RequestParameters
export type ApiEnd = Own<'ApiEnd'> & Identity
export type ApiError = Own<'ApiError'> & Identity
export type AuxiliaryStart = Own<'AuxiliaryStart'> & ApiStart
export type AuxiliaryEnd = Own<'AuxiliaryEnd'> & ApiEnd

/** `on_stream_start`. Emitted by a separate thread, so it may arrive a little late. */
export type StreamStart = Own<'StreamStart'> & Identity
export type StreamEnd = Own<'StreamEnd'> & StreamStart

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

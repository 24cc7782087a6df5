import type { HookName, HookPayloads } from './payloads.ts'

/**
 * The fields of the payloads for run time, for the payload lint. The interfaces of `payloads.ts` describe them, and the
 * compiler checks that both have the same fields.
 */

/** The type that a field must have to be readable; `any` accepts every value. */
export type FieldKind = 'text' | 'number' | 'boolean' | 'list' | 'any'

type KindOf<Value> = [Value] extends [string]
  ? 'text'
  : [Value] extends [number]
    ? 'number'
    : [Value] extends [boolean]
      ? 'boolean'
      : [Value] extends [readonly unknown[]]
        ? 'list'
        : 'any'

type FieldKinds<Payload> = { readonly [Field in keyof Payload]-?: KindOf<NonNullable<Payload[Field]>> }

const IDENTITY = {
  session_id: 'text',
  turn_id: 'text',
  task_id: 'text',
  api_request_id: 'text',
  api_call_count: 'number',
  tool_call_id: 'text',
} as const

const DELEGATION = {
  parent_session_id: 'text',
  parent_turn_id: 'text',
  parent_subagent_id: 'text',
  child_session_id: 'text',
  child_subagent_id: 'text',
  tool_call_id: 'text',
} as const

const TURN_METADATA = { tags: 'list', metadata: 'any', user_id: 'text', attributes: 'any' } as const

const WORKSPACE = { cwd: 'text', repository: 'text', branch: 'text' } as const

const TOOL_START = { ...IDENTITY, tool_name: 'text', args: 'any' } as const

const APPROVAL_REQUEST = {
  ...IDENTITY,
  command: 'any',
  description: 'any',
  pattern_key: 'text',
  pattern_keys: 'list',
  surface: 'text',
  session_key: 'text',
  request_id: 'text',
} as const

const HUMAN_INPUT_REQUEST = {
  ...IDENTITY,
  kind: 'text',
  request_id: 'text',
  prompt: 'any',
  platform: 'text',
  session_key: 'text',
} as const

const CONTROL_START = {
  ...IDENTITY,
  hook_run_id: 'text',
  hook_name: 'text',
  hook_phase: 'text',
  hook_priority: 'number',
  hook_judges: 'boolean',
} as const

const PARAMETERS = {
  max_tokens: 'number',
  temperature: 'number',
  top_p: 'number',
  top_k: 'number',
  frequency_penalty: 'number',
  presence_penalty: 'number',
  stream: 'boolean',
  stop: 'any',
  n: 'number',
  seed: 'number',
  reasoning_effort: 'text',
} as const

const API_START = {
  ...IDENTITY,
  ...PARAMETERS,
  retry_count: 'number',
  model: 'text',
  provider: 'text',
  base_url: 'text',
  api_mode: 'text',
  message_count: 'number',
  tool_count: 'number',
  approx_input_tokens: 'number',
  request_char_count: 'number',
  started_at: 'number',
  request: 'any',
  request_messages: 'list',
  messages: 'list',
  system_prompt: 'any',
} as const

const API_END = {
  ...IDENTITY,
  retry_count: 'number',
  model: 'text',
  provider: 'text',
  base_url: 'text',
  api_duration: 'number',
  started_at: 'number',
  ended_at: 'number',
  first_chunk_at: 'number',
  finish_reason: 'text',
  response_model: 'text',
  response_id: 'text',
  usage: 'any',
  response: 'any',
  assistant_content_chars: 'number',
  context_length: 'number',
  assistant_tool_call_count: 'number',
  cost: 'any',
  service_tier: 'text',
} as const

const STREAM_START = { ...IDENTITY, iteration: 'number', model: 'text', provider: 'text', surface: 'text' } as const

export const FIELDS: { readonly [Name in HookName]: FieldKinds<HookPayloads[Name]> } = {
  on_session_start: {
    ...IDENTITY,
    ...TURN_METADATA,
    ...WORKSPACE,
    model: 'text',
    platform: 'text',
    provider: 'text',
    session_type: 'text',
    origin: 'text',
    run_type: 'text',
    source: 'text',
    trigger: 'text',
    job_id: 'text',
    cron_job_id: 'text',
    agent_name: 'text',
    profile: 'text',
    sender_id: 'text',
    correlation_id: 'text',
    parent_session_id: 'text',
    traceparent: 'text',
  },
  pre_llm_call: {
    ...IDENTITY,
    ...TURN_METADATA,
    ...WORKSPACE,
    traceparent: 'text',
    user_message: 'any',
    conversation_history: 'list',
    is_first_turn: 'boolean',
    model: 'text',
    provider: 'text',
    platform: 'text',
    sender_id: 'text',
    parent_session_id: 'text',
  },
  pre_api_request: API_START,
  post_api_request: API_END,
  api_request_error: {
    ...IDENTITY,
    model: 'text',
    provider: 'text',
    base_url: 'text',
    api_duration: 'number',
    started_at: 'number',
    ended_at: 'number',
    status_code: 'number',
    retry_count: 'number',
    max_retries: 'number',
    retryable: 'boolean',
    reason: 'text',
    error: 'any',
  },
  pre_tool_call: TOOL_START,
  post_tool_call: {
    ...TOOL_START,
    result: 'any',
    duration_ms: 'number',
    status: 'text',
    error: 'any',
    error_type: 'text',
    error_message: 'text',
  },
  post_llm_call: { ...IDENTITY, assistant_response: 'any', model: 'text', platform: 'text' },
  on_session_end: {
    ...IDENTITY,
    completed: 'boolean',
    interrupted: 'boolean',
    failed: 'boolean',
    turn_exit_reason: 'text',
    reason: 'text',
    model: 'text',
    platform: 'text',
  },
  on_session_finalize: { session_id: 'text', platform: 'text', reason: 'text' },
  on_session_reset: { session_id: 'text', old_session_id: 'text', new_session_id: 'text', reason: 'text' },
  subagent_start: { ...DELEGATION, ...TURN_METADATA, child_role: 'text', child_goal: 'any' },
  subagent_stop: {
    ...DELEGATION,
    child_role: 'text',
    child_summary: 'any',
    child_status: 'text',
    status: 'text',
    duration_ms: 'number',
  },
  pre_approval_request: APPROVAL_REQUEST,
  post_approval_response: { ...APPROVAL_REQUEST, choice: 'text', decided_by: 'text' },
  on_human_input_request: HUMAN_INPUT_REQUEST,
  on_human_input_resolved: { ...HUMAN_INPUT_REQUEST, outcome: 'text' },
  pre_control_hook: CONTROL_START,
  post_control_hook: {
    ...CONTROL_START,
    verdict: 'text',
    action: 'text',
    reason: 'text',
    detail: 'text',
    rewritten_fields: 'list',
    rewritten_args: 'any',
    failure: 'text',
    failure_message: 'text',
    duration_ms: 'number',
    count: 'number',
  },
  pre_auxiliary_call: { ...API_START, aux_task: 'text', streaming: 'boolean' },
  post_auxiliary_call: { ...API_END, aux_task: 'text', streaming: 'boolean', error: 'any', error_type: 'text' },
  on_stream_start: STREAM_START,
  on_stream_end: { ...STREAM_START, final_text: 'text', finished: 'boolean', error: 'text' },
  on_skill_lifecycle: {
    ...IDENTITY,
    action: 'text',
    skill_name: 'text',
    provenance: 'text',
    use_count: 'number',
    reused: 'boolean',
    reuse_after_patch: 'boolean',
  },
  on_iteration_start: { ...IDENTITY, iteration: 'number', confidence: 'number' },
  on_turn_event: { ...IDENTITY, name: 'text' },
  transform_tool_result: { ...IDENTITY, tool_name: 'text', result: 'any' },
  transform_llm_output: { ...IDENTITY, response_text: 'any' },
}

import type { HookName } from './payloads.ts'

/** Every supported hook and its meaning. `docs/hooks.md` is generated from this. */
export const HOOKS: { readonly [Name in HookName]: string } = {
  on_session_start: 'a session (or, on some hosts, a turn) begins',
  pre_llm_call: 'a turn begins: once per user turn, before the tool loop',
  pre_api_request: 'one attempt at a model request begins',
  post_api_request: 'the attempt succeeded',
  api_request_error: 'the attempt failed',
  pre_tool_call: 'a tool is about to run',
  post_tool_call: 'the tool ended: ok, error, blocked or cancelled',
  post_llm_call: 'the turn has its final answer (absent on failure, interrupt, iteration limit)',
  on_session_end: 'the turn ended, with any outcome',
  on_session_finalize: 'the session is closed',
  on_session_reset: 'a new session replaces an old one',
  subagent_start: 'a task is delegated to a child agent',
  subagent_stop: 'the child agent returned or failed',
  pre_approval_request: 'the user (or a guardian model) is asked for approval',
  post_approval_response: 'the user answered, or the prompt timed out',
  on_human_input_request: 'the user is asked something other than an approval',
  on_human_input_resolved: 'the user answered, or the question timed out',
  pre_control_hook: 'a guard starts to inspect a step',
  post_control_hook: 'the guard returned a decision or failed',
  pre_auxiliary_call: 'a side call of the host begins (title, compression, vision, guardian)',
  post_auxiliary_call: 'the side call ended',
  on_stream_start: 'a streamed request was sent; its first chunk is pending',
  on_stream_end: 'the stream ended; ends the request if no other hook does',
  on_skill_lifecycle: 'a skill is used, created or changed',
  on_iteration_start: "the agent's loop begins another iteration",
  on_turn_event: 'an event of a turn that has no hook of its own, such as a command of the user',
  transform_tool_result:
    'a tool result is passed to other plugins, which may change it, before the tool ends (Hermes 0.19 emits it later, so it has no effect)',
  transform_llm_output: 'the answer is passed to other plugins, which may change it',
}

/** The names of all hooks that are read. */
export const HOOK_NAMES: readonly HookName[] = Object.keys(HOOKS) as HookName[]

/** Returns true if a hook of this name is supported. */
export function isHookName(value: unknown): value is HookName {
  return typeof value === 'string' && Object.hasOwn(HOOKS, value)
}

const IGNORED_HOOKS: ReadonlySet<string> = new Set([
  'agent_loop_stopped',
  'gateway_platform_event',
  'on_interim_message',
  'on_room_member_activity',
  'on_stream_delta',
  'pre_command',
  'pre_gateway_dispatch',
  'pre_transcription',
  'pre_tts_synthesis',
  'pre_verify',
  'transform_api_error_classification',
  'transform_terminal_output',
])

/** Returns true for a hook of Hermes that traces do not need. It is ignored like an unknown one, but is no typo. */
export function isIgnoredHook(name: string): boolean {
  return IGNORED_HOOKS.has(name) || /^(on_)?kanban_/.test(name)
}

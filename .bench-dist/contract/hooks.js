/** Every hook that we listen to, and what it means. `docs/hooks.md` is generated from this. */
export const HOOKS = {
    on_session_start: 'a session (or, on some hosts, a turn) begins',
    pre_llm_call: 'a turn begins: once per user turn, before the tool loop',
    pre_api_request: 'one attempt at a model request begins',
    post_api_request: 'the attempt succeeded',
    api_request_error: 'the attempt failed',
    pre_tool_call: 'a tool is about to run',
    post_tool_call: 'the tool ended: ok, error, blocked or cancelled',
    post_llm_call: 'the turn has its final answer (absent on failure, interrupt, iteration limit)',
    on_session_end: 'the turn is over, whatever the outcome',
    on_session_finalize: 'the session identity is torn down',
    on_session_reset: 'one session identity replaces another',
    subagent_start: 'a child agent is delegated to',
    subagent_stop: 'the child agent returned or failed',
    pre_approval_request: 'a human (or a guardian model) is asked',
    post_approval_response: 'the human has answered, or the prompt timed out',
    pre_auxiliary_call: 'a side call of the host begins (title, compression, vision, guardian)',
    post_auxiliary_call: 'the side call ended',
    transform_tool_result: 'a tool result is about to be replaced by another plugin (observed only)',
    transform_llm_output: 'the answer is about to be replaced by another plugin (observed only)',
};
export const HOOK_NAMES = Object.keys(HOOKS);
export function isHookName(value) {
    return typeof value === 'string' && Object.hasOwn(HOOKS, value);
}

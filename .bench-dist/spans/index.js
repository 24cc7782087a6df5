import { api } from './api.js';
import { approval } from './approval.js';
import { auxiliary } from './auxiliary.js';
import { llm } from './llm.js';
import { session } from './session.js';
import { subagent } from './subagent.js';
import { tool } from './tool.js';
/** The whole plugin on one screen: which hook draws which span, and which end of it. */
export const HOOK_PLAN = {
    on_session_start: { definition: session, phase: 'start' },
    pre_llm_call: { definition: llm, phase: 'start' },
    pre_api_request: { definition: api, phase: 'start' },
    post_api_request: { definition: api, phase: 'end' },
    api_request_error: { definition: api, phase: 'end' },
    pre_tool_call: { definition: tool, phase: 'start' },
    post_tool_call: { definition: tool, phase: 'end' },
    post_llm_call: { definition: llm, phase: 'end' },
    on_session_end: { definition: session, phase: 'end' },
    on_session_finalize: { definition: session, phase: 'identity' },
    on_session_reset: { definition: session, phase: 'identity' },
    subagent_start: { definition: subagent, phase: 'start' },
    subagent_stop: { definition: subagent, phase: 'end' },
    pre_approval_request: { definition: approval, phase: 'start' },
    post_approval_response: { definition: approval, phase: 'end' },
    pre_auxiliary_call: { definition: auxiliary, phase: 'start' },
    post_auxiliary_call: { definition: auxiliary, phase: 'end' },
    transform_tool_result: { definition: tool, phase: 'event' },
    transform_llm_output: { definition: session, phase: 'event' },
};

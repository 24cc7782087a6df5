import type { ApiEnd, ApiError, ApiStart, ApprovalRequest, ApprovalResponse, AuxiliaryEnd, AuxiliaryStart, SessionEnd, SessionFinalize, SessionReset, SessionStart, SubagentStart, SubagentStop, ToolEnd, ToolStart, TransformLlmOutput, TransformToolResult, TurnAnswer, TurnStart } from './payloads.ts';
/** Hook name → its payload. */
export interface HookPayloads {
    on_session_start: SessionStart;
    pre_llm_call: TurnStart;
    pre_api_request: ApiStart;
    post_api_request: ApiEnd;
    api_request_error: ApiError;
    pre_tool_call: ToolStart;
    post_tool_call: ToolEnd;
    post_llm_call: TurnAnswer;
    on_session_end: SessionEnd;
    on_session_finalize: SessionFinalize;
    on_session_reset: SessionReset;
    subagent_start: SubagentStart;
    subagent_stop: SubagentStop;
    pre_approval_request: ApprovalRequest;
    post_approval_response: ApprovalResponse;
    pre_auxiliary_call: AuxiliaryStart;
    post_auxiliary_call: AuxiliaryEnd;
    transform_tool_result: TransformToolResult;
    transform_llm_output: TransformLlmOutput;
}
export type HookName = keyof HookPayloads;
/** Every hook that we listen to, and what it means. `docs/hooks.md` is generated from this. */
export declare const HOOKS: {
    readonly [Name in HookName]: string;
};
export declare const HOOK_NAMES: readonly HookName[];
export declare function isHookName(value: unknown): value is HookName;

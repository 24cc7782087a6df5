import { idOf } from '../spans/foreign.js';
/** A delegation is told in the parent's terms: its ids are the parent's. */
export function idsOf(hook, payload) {
    const isDelegation = hook === 'subagent_start' || hook === 'subagent_stop';
    return {
        sessionId: (isDelegation ? idOf(payload['parent_session_id']) : undefined) ?? idOf(payload['session_id']),
        turnId: (isDelegation ? idOf(payload['parent_turn_id']) : undefined) ?? idOf(payload['turn_id']),
        taskId: idOf(payload['task_id']),
        apiRequestId: idOf(payload['api_request_id']),
        toolCallId: idOf(payload['tool_call_id']),
    };
}

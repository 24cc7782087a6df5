import { SpanKind } from '@opentelemetry/api';
import { FAILED_SUBAGENT_STATUSES } from '../contract/index.js';
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../semconv/index.js';
import { literal } from './capture.js';
import { idOf, numberOf, textOf } from './foreign.js';
const NO_ROLE = 'none';
function statusOf(payload) {
    return textOf(payload.child_status) ?? textOf(payload.status);
}
function isFailure(payload) {
    return FAILED_SUBAGENT_STATUSES.has(statusOf(payload)?.trim().toLowerCase() ?? '');
}
/** A delegation as the parent sees it; the child's own turn nests below. It may outlive the parent's turn. */
export const subagent = {
    kind: 'subagent',
    spanKind: SpanKind.INTERNAL,
    parents: ['api', 'llm'],
    key: payload => idOf(payload.child_session_id) ?? idOf(payload.child_subagent_id),
    name(payload, draw) {
        const role = draw.capture.id(payload.child_role);
        const [word, joint] = draw.spanNames === 'semconv' ? ['invoke_agent', ' '] : ['subagent', '.'];
        return literal(role === undefined ? word : `${word}${joint}${role}`);
    },
    start({ payload }, draw) {
        const { own, genAi, inference } = draw.names;
        const { id, content, snippet } = draw.capture;
        const role = id(payload.child_role);
        const goal = content(payload.child_goal, 'llm_input');
        return {
            [inference.spanKind]: literal(OPENINFERENCE_KIND.agent),
            [genAi.operationName]: literal(OPERATION.invokeAgent),
            [genAi.agentName]: role,
            [own.subagentRole]: role,
            [own.subagentChildSessionId]: id(payload.child_session_id),
            [own.subagentParentSessionId]: id(payload.parent_session_id),
            [own.subagentParentTurnId]: id(payload.parent_turn_id),
            [own.subagentChildId]: id(payload.child_subagent_id),
            [own.subagentParentId]: id(payload.parent_subagent_id),
            [own.subagentGoal]: snippet(payload.child_goal),
            [inference.inputValue]: goal?.text,
            [inference.inputMimeType]: goal?.mimeType,
            [own.contentTruncated]: goal?.truncated || undefined,
        };
    },
    end({ payload }, draw) {
        const { own, inference } = draw.names;
        const { id, content, snippet, errorText } = draw.capture;
        const status = id(statusOf(payload));
        const summary = content(payload.child_summary, 'llm_output');
        return {
            attributes: {
                [own.subagentStatus]: status,
                [own.subagentDurationMs]: numberOf(payload.duration_ms),
                [own.subagentSummary]: snippet(payload.child_summary),
                [inference.outputValue]: summary?.text,
                [inference.outputMimeType]: summary?.mimeType,
                [own.contentTruncated]: summary?.truncated || undefined,
            },
            error: isFailure(payload) && status !== undefined
                ? { type: status, message: errorText(payload.child_summary) ?? status }
                : undefined,
        };
    },
    measure({ payload }, draw, ended) {
        const role = draw.capture.id(payload.child_role) ?? draw.capture.id(ended.start?.child_role) ?? NO_ROLE;
        const durationMillis = numberOf(payload.duration_ms) ?? ended.durationMillis;
        const labels = { [LABEL.role]: role, [LABEL.status]: isFailure(payload) ? 'error' : 'ok' };
        return [
            { instrument: 'subagentCount', value: 1, labels },
            ...(durationMillis === undefined
                ? []
                : [{ instrument: 'subagentDuration', value: durationMillis, labels: { [LABEL.role]: role } }]),
        ];
    },
};

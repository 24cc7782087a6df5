import { SpanKind } from '@opentelemetry/api';
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../semconv/index.js';
import { literal } from './capture.js';
import { booleanOf, textOf } from './foreign.js';
import { oneMessage } from './messages.js';
import { addSummary, rootUsageAttributes } from './turn-summary-attributes.js';
const CRON = 'cron';
function saysCron(value) {
    return typeof value === 'string' && value.toLowerCase().includes(CRON);
}
function isGiven(id) {
    return textOf(id) !== undefined || typeof id === 'number';
}
/** What set the session off; low-cardinality, because it is a metric label too. */
export function sessionKind(payload) {
    const said = textOf(payload.session_type) ?? textOf(payload.origin) ?? textOf(payload.run_type);
    if (said !== undefined)
        return said;
    const cron = saysCron(payload.platform) ||
        saysCron(payload.source) ||
        saysCron(payload.trigger) ||
        isGiven(payload.job_id) ||
        isGiven(payload.cron_job_id);
    return cron ? CRON : 'session';
}
/** `failed` is stronger than `completed`, and so on: hosts set more than one. */
export function finalStatusOf(payload) {
    if (payload.failed === true)
        return 'failed';
    if (payload.completed === true)
        return 'completed';
    return payload.interrupted === true ? 'interrupted' : 'incomplete';
}
function errorOf(end, draw) {
    if (end.finalStatus !== 'failed' && end.finalStatus !== 'incomplete')
        return undefined;
    const reason = draw.capture.id(end.turn_exit_reason) ?? draw.capture.id(end.reason);
    return {
        type: end.totals.lastErrorType ?? literal(end.finalStatus),
        message: reason ?? literal(`turn ${end.finalStatus}`),
    };
}
/** Attributes of the start that a repeated `on_session_start` may still supply. */
export function sessionStartAttributes(payload, draw) {
    const { own, genAi, inference } = draw.names;
    const { id } = draw.capture;
    const model = id(payload.model);
    return {
        [own.sessionKind]: id(sessionKind(payload)),
        [own.platform]: id(payload.platform),
        [own.profile]: id(payload.profile),
        [own.cronJobId]: id(payload.job_id) ?? id(payload.cron_job_id),
        [genAi.agentName]: id(payload.agent_name) ?? draw.agentName,
        [genAi.requestModel]: model,
        [inference.modelName]: model,
    };
}
/** The root: one turn of the agent, in every way out of it. */
export const session = {
    kind: 'session',
    spanKind: SpanKind.INTERNAL,
    parents: [],
    key: () => 'root',
    name(payload, draw) {
        if (draw.spanNames === 'hermes')
            return literal(sessionKind(payload) === CRON ? CRON : 'agent');
        const agent = draw.capture.id(payload.agent_name) ?? draw.agentName;
        return literal(agent === undefined ? OPERATION.invokeAgent : `${OPERATION.invokeAgent} ${agent}`);
    },
    start({ payload }, draw) {
        return {
            [draw.names.inference.spanKind]: literal(OPENINFERENCE_KIND.agent),
            [draw.names.inference.projectName]: draw.projectName,
            [draw.names.genAi.operationName]: literal(OPERATION.invokeAgent),
            ...sessionStartAttributes(payload, draw),
        };
    },
    end({ payload }, draw) {
        const { general, own, genAi, inference } = draw.names;
        const { id } = draw.capture;
        const { totals } = payload;
        const model = id(payload.model);
        const error = errorOf(payload, draw);
        const attributes = {
            [genAi.requestModel]: model,
            [inference.modelName]: model,
            [genAi.providerName]: totals.modelProvider,
            [inference.provider]: totals.modelProvider,
            [genAi.responseModel]: totals.responseModel,
            [own.sessionCompleted]: booleanOf(payload.completed),
            [own.sessionInterrupted]: booleanOf(payload.interrupted),
            [own.sessionFailed]: booleanOf(payload.failed),
            [own.turnExitReason]: id(payload.turn_exit_reason),
            [inference.inputValue]: totals.input?.text,
            [inference.inputMimeType]: totals.input?.mimeType,
            [inference.outputValue]: totals.output?.text,
            [inference.outputMimeType]: totals.output?.mimeType,
            [genAi.inputMessages]: oneMessage('user', totals.input),
            [genAi.outputMessages]: oneMessage('assistant', totals.output),
            [own.contentTruncated]: totals.input?.truncated || totals.output?.truncated || undefined,
            [own.turnDurationMs]: payload.durationMillis || undefined,
            [own.turnFinalStatus]: literal(payload.finalStatus),
            [general.errorType]: error === undefined ? undefined : totals.lastErrorType,
        };
        addSummary(attributes, totals, draw);
        if (draw.usageOnRoot)
            Object.assign(attributes, rootUsageAttributes(totals, draw));
        return { attributes, error };
    },
    measure({ payload }, draw, { start, durationMillis }) {
        const labels = {
            [LABEL.kind]: draw.capture.id(sessionKind(start ?? {})) ?? 'session',
            [LABEL.finalStatus]: payload.finalStatus,
        };
        const seconds = (durationMillis ?? 0) / 1000;
        const error = errorOf(payload, draw);
        const agent = {
            ...(payload.agentName === undefined ? {} : { 'gen_ai.agent.name': payload.agentName }),
            ...(error === undefined ? {} : { 'error.type': error.type }),
        };
        return [
            { instrument: 'sessions', value: 1, labels },
            { instrument: 'turnDuration', value: seconds, labels },
            { instrument: 'genAiInvokeAgentDuration', value: seconds, labels: agent },
        ];
    },
};

import { SpanKind } from '@opentelemetry/api';
import { LABEL, OPENINFERENCE_KIND, OPERATION } from '../semconv/index.js';
import { literal } from './capture.js';
import { errorFacts } from './error-facts.js';
import { idOf, numberOf, peek, textOf } from './foreign.js';
import { perRecord } from './per-record.js';
import { skillOf } from './skill-evidence.js';
import { toolOutcomeOf } from './tool-outcome.js';
const TARGET_KEYS = ['path', 'file_path', 'target', 'url', 'uri'];
const COMMAND_KEYS = ['command', 'cmd'];
const UNNAMED = 'unknown';
const TOOL_ERROR = 'tool_error';
/** Tools without an id pair first in, first out, per name and task; the prefix tells the tracker so. */
export const QUEUED_KEY_PREFIX = '\u0000queued ';
function firstText(args, keys) {
    for (const key of keys) {
        const text = textOf(peek(args, key));
        if (text !== undefined)
            return text;
    }
    return undefined;
}
/** What the tool works on: the span's and the turn summary's. */
export const toolTarget = perRecord('toolTarget', ({ payload }, draw) => draw.capture.snippet(firstText(payload.args, TARGET_KEYS)));
export const toolCommand = perRecord('toolCommand', ({ payload }, draw) => draw.capture.snippet(firstText(payload.args, COMMAND_KEYS)));
export function toolName(payload, draw) {
    return draw.capture.id(payload.tool_name) ?? literal(UNNAMED);
}
function isMcp(name) {
    return name.startsWith('mcp_');
}
function errorOf(fired, draw) {
    const { outcome, resultError } = toolOutcomeOf(fired, draw);
    if (outcome !== 'error')
        return undefined;
    const inResult = errorFacts(resultError);
    return {
        type: draw.capture.id(fired.payload.error_type ?? inResult.type) ?? literal(TOOL_ERROR),
        message: draw.capture.errorText(fired.payload.error_message ?? inResult.message),
    };
}
/** The host's own figure is worth an attribute only where it says something that the span does not. */
function ownDuration(fired, opened) {
    const said = numberOf(fired.payload.duration_ms);
    return said === undefined || said === fired.at - opened.startAt ? undefined : said;
}
function points(fired, draw, ended) {
    const name = toolName(fired.payload.tool_name === undefined ? (ended.start ?? fired.payload) : fired.payload, draw);
    const labels = {
        [LABEL.toolName]: name,
        [LABEL.outcome]: draw.capture.id(toolOutcomeOf(fired, draw).outcome) ?? UNNAMED,
    };
    const found = [{ instrument: 'toolCalls', value: 1, labels }];
    const durationMillis = numberOf(fired.payload.duration_ms) ?? ended.durationMillis;
    if (durationMillis !== undefined && durationMillis >= 0) {
        const error = errorOf(fired, draw);
        const genAi = { 'gen_ai.tool.name': name, ...(error === undefined ? {} : { 'error.type': error.type }) };
        found.push({ instrument: 'toolDuration', value: durationMillis, labels });
        found.push({ instrument: 'genAiExecuteToolDuration', value: durationMillis / 1000, labels: genAi });
    }
    const skill = skillOf(ended.start ?? fired.payload);
    if (skill !== undefined) {
        const name = draw.capture.id(skill.name) ?? UNNAMED;
        found.push({
            instrument: 'skillInferred',
            value: 1,
            labels: { [LABEL.skillName]: name, [LABEL.source]: skill.source },
        });
    }
    return found;
}
/** One tool call. */
export const tool = {
    kind: 'tool',
    spanKind: SpanKind.INTERNAL,
    parents: ['api', 'llm'],
    key(payload) {
        const call = idOf(payload.tool_call_id);
        if (call !== undefined)
            return call;
        return `${QUEUED_KEY_PREFIX}${textOf(payload.tool_name) ?? ''} ${idOf(payload.task_id) ?? ''}`;
    },
    name(payload, draw) {
        const name = toolName(payload, draw);
        return literal(draw.spanNames === 'semconv' ? `execute_tool ${name}` : `tool.${name}`);
    },
    start(fired, draw) {
        const { payload } = fired;
        const { own, genAi, inference } = draw.names;
        const { id, content } = draw.capture;
        const name = toolName(payload, draw);
        const callId = id(payload.tool_call_id);
        const input = content(payload.args, 'tool_input');
        const skill = skillOf(payload);
        return {
            [inference.spanKind]: literal(OPENINFERENCE_KIND.tool),
            [inference.toolName]: name,
            [inference.toolId]: callId,
            [inference.inputValue]: input?.text,
            [inference.inputMimeType]: input?.mimeType,
            [inference.toolParameters]: input?.text,
            [genAi.operationName]: literal(OPERATION.executeTool),
            [genAi.toolName]: name,
            [genAi.toolCallId]: callId,
            [genAi.toolType]: literal(isMcp(name) ? 'extension' : 'function'),
            [genAi.toolCallArguments]: input?.text,
            [own.toolTarget]: toolTarget(fired, draw),
            [own.toolCommand]: toolCommand(fired, draw),
            [own.skillName]: id(skill?.name),
            [own.skillSource]: id(skill?.source),
            [own.contentTruncated]: input?.truncated || undefined,
        };
    },
    end(fired, draw, opened) {
        const { general, own, genAi, inference } = draw.names;
        const output = draw.capture.content(fired.payload.result, 'tool_output');
        const error = errorOf(fired, draw);
        return {
            attributes: {
                [inference.outputValue]: output?.text,
                [inference.outputMimeType]: output?.mimeType,
                [genAi.toolCallResult]: output?.text,
                [own.toolOutcome]: draw.capture.id(toolOutcomeOf(fired, draw).outcome),
                [own.toolDurationMs]: ownDuration(fired, opened),
                [general.errorType]: error?.type,
                [own.errorMessage]: error?.message,
                [own.contentTruncated]: output?.truncated || undefined,
            },
            error,
        };
    },
    measure: points,
};

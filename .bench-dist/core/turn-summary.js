import { apiErrorType } from '../spans/api-facts.js';
import { modelProvider } from '../spans/model-provider.js';
import { skillOf } from '../spans/skill-evidence.js';
import { toolCommand, toolName, toolTarget } from '../spans/tool.js';
import { toolOutcomeOf } from '../spans/tool-outcome.js';
import { usageOf } from '../spans/usage.js';
/** Lists are capped while they grow: joined they are clipped to 500 characters anyway. */
const DISTINCT_LIMIT = 200;
function addDistinct(list, value) {
    if (value !== undefined && list.length < DISTINCT_LIMIT && !list.includes(value))
        list.push(value);
}
function toolStarted(totals, fired, draw) {
    totals.toolCalls += 1;
    addDistinct(totals.tools, toolName(fired.payload, draw));
    addDistinct(totals.targets, toolTarget(fired, draw));
    addDistinct(totals.commands, toolCommand(fired, draw));
}
function toolEnded(totals, fired, start, draw) {
    const { outcome } = toolOutcomeOf(fired, draw);
    addDistinct(totals.outcomes, draw.capture.id(outcome));
    if (outcome === 'error')
        totals.toolErrors += 1;
    if (outcome !== 'completed')
        return;
    addDistinct(totals.skills, draw.capture.id(skillOf((start ?? fired.payload))?.name));
}
function apiEnded(totals, fired, start, draw) {
    const provider = fired.payload.provider ?? start?.provider;
    totals.modelProvider = draw.capture.id(modelProvider(provider)) ?? totals.modelProvider;
    totals.responseModel = draw.capture.id(fired.payload.response_model) ?? totals.responseModel;
    const usage = usageOf(fired, draw);
    if (usage === undefined)
        return;
    totals.tokensInput += usage.promptTokens;
    totals.tokensOutput += usage.outputTokens;
    totals.tokensCacheRead += usage.cacheReadTokens;
    totals.tokensCacheWrite += usage.cacheWriteTokens;
    totals.tokensReasoning += usage.reasoningTokens;
}
function apiFailed(totals, fired, draw) {
    totals.apiErrors += 1;
    if (fired.payload.retryable === true)
        totals.retries += 1;
    totals.lastErrorType = apiErrorType(fired.payload, draw);
    totals.modelProvider = draw.capture.id(modelProvider(fired.payload.provider)) ?? totals.modelProvider;
}
/** Folds a record that started a span into its turn's sums; `isDrawn`: the root is recorded, so content is wanted. */
export function foldStart(totals, fired, draw, isDrawn) {
    switch (fired.hook) {
        case 'pre_llm_call':
            if (isDrawn)
                totals.input ??= draw.capture.content(fired.payload.user_message, 'llm_input');
            return;
        case 'pre_api_request':
            totals.apiCalls += 1;
            return;
        case 'pre_tool_call':
            toolStarted(totals, fired, draw);
            return;
        case 'subagent_start':
            totals.subagents += 1;
            return;
        case 'pre_approval_request':
            totals.approvals += 1;
    }
}
/** Folds a record that ended a span; `startSeen` is false for a span that is made up afterwards. */
export function foldEnd(totals, fired, draw, ended) {
    switch (fired.hook) {
        case 'post_llm_call':
            totals.output = draw.capture.content(fired.payload.assistant_response, 'llm_output');
            return;
        case 'post_api_request':
            if (!ended.startSeen)
                totals.apiCalls += 1;
            apiEnded(totals, fired, ended.start, draw);
            return;
        case 'api_request_error':
            if (!ended.startSeen)
                totals.apiCalls += 1;
            apiFailed(totals, fired, draw);
            return;
        case 'post_tool_call':
            if (!ended.startSeen)
                toolStarted(totals, fired, draw);
            toolEnded(totals, fired, ended.start, draw);
            return;
        case 'post_approval_response':
            totals.approvalWaitMillis += ended.durationMillis ?? 0;
    }
}

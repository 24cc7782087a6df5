import { SpanKind } from '@opentelemetry/api';
import { OPENINFERENCE_KIND, OPERATION } from '../semconv/index.js';
import { requestContent, responseContent } from './api-content.js';
import { apiErrorType, millis, timeToFirstChunk } from './api-facts.js';
import { apiErrorPoints, apiPoints } from './api-points.js';
import { literal } from './capture.js';
import { errorFacts } from './error-facts.js';
import { booleanOf, idOf, numberOf } from './foreign.js';
import { modelProvider } from './model-provider.js';
import { addRequestParameters, requestModel } from './request-parameters.js';
import { serverAddress } from './server-address.js';
import { usageOf } from './usage.js';
export function requestAttributes(fired, draw) {
    const { general, own, genAi, inference } = draw.names;
    const { payload } = fired;
    const { id } = draw.capture;
    const model = id(requestModel(payload));
    const provider = id(modelProvider(payload.provider));
    const server = serverAddress(payload.base_url);
    const attributes = {
        [inference.spanKind]: literal(OPENINFERENCE_KIND.llm),
        [genAi.operationName]: literal(OPERATION.chat),
        [genAi.providerName]: provider,
        [inference.provider]: provider,
        [inference.system]: provider,
        [genAi.requestModel]: model,
        [inference.modelName]: model,
        [general.serverAddress]: id(server.address),
        [general.serverPort]: server.port,
        [own.apiMode]: id(payload.api_mode),
        [own.apiCallCount]: numberOf(payload.api_call_count),
        [own.requestMessageCount]: numberOf(payload.message_count),
        [own.requestToolCount]: numberOf(payload.tool_count),
        [own.requestApproxInputTokens]: numberOf(payload.approx_input_tokens),
        [own.requestCharCount]: numberOf(payload.request_char_count),
    };
    addRequestParameters(attributes, fired, draw);
    return draw.capture.mode === 'full' ? Object.assign(attributes, requestContent(payload, draw)) : attributes;
}
function addUsage(attributes, fired, draw) {
    const usage = usageOf(fired, draw);
    if (usage === undefined)
        return;
    const { genAi, inference } = draw.names;
    attributes[genAi.usageInputTokens] = usage.promptTokens;
    attributes[genAi.usageOutputTokens] = usage.outputTokens;
    attributes[genAi.usageCacheRead] = usage.cacheReadTokens || undefined;
    attributes[genAi.usageCacheCreation] = usage.cacheWriteTokens || undefined;
    attributes[genAi.usageReasoning] = usage.reasoningTokens || undefined;
    attributes[inference.tokensPrompt] = usage.promptTokens;
    attributes[inference.tokensCompletion] = usage.outputTokens;
    attributes[inference.tokensTotal] = usage.totalTokens;
    attributes[inference.tokensCacheRead] = usage.cacheReadTokens || undefined;
    attributes[inference.tokensCacheWrite] = usage.cacheWriteTokens || undefined;
    attributes[inference.tokensReasoning] = usage.reasoningTokens || undefined;
}
export function responseAttributes(fired, draw, opened) {
    const { own, genAi, inference } = draw.names;
    const { payload } = fired;
    const { id } = draw.capture;
    const finishReason = id(payload.finish_reason);
    const duration = millis(payload.api_duration);
    const attributes = {
        [own.httpDurationMs]: duration,
        [own.llmResponseDurationMs]: duration,
        [genAi.responseId]: id(payload.response_id),
        [genAi.responseModel]: id(payload.response_model),
        [genAi.responseFinishReasons]: finishReason === undefined ? undefined : [finishReason],
        [own.responseFinishReason]: finishReason,
        [inference.finishReason]: finishReason,
        [genAi.responseTimeToFirstChunk]: timeToFirstChunk(payload, opened),
        [own.responseContentChars]: numberOf(payload.assistant_content_chars),
        [own.responseToolCalls]: numberOf(payload.assistant_tool_call_count),
    };
    addUsage(attributes, fired, draw);
    return draw.capture.mode === 'full' ? Object.assign(attributes, responseContent(payload, draw)) : attributes;
}
function failed(fired, draw) {
    const { general, own } = draw.names;
    const { payload } = fired;
    const type = apiErrorType(payload, draw);
    const status = numberOf(payload.status_code);
    const duration = millis(payload.api_duration);
    return {
        attributes: {
            [own.httpDurationMs]: duration,
            [own.llmResponseDurationMs]: duration,
            [general.httpStatusCode]: status,
            [own.responseStatusCode]: status,
            [own.retryCount]: numberOf(payload.retry_count),
            [own.maxRetries]: numberOf(payload.max_retries),
            [own.retryable]: booleanOf(payload.retryable),
            [own.errorReason]: draw.capture.id(payload.reason),
        },
        error: {
            type,
            message: draw.capture.errorText(errorFacts(payload.error).message) ?? draw.capture.id(payload.reason) ?? type,
        },
        exception: true,
    };
}
/** One attempt at a model request; a retry is a span of its own. */
export const api = {
    kind: 'api',
    spanKind: SpanKind.CLIENT,
    parents: ['llm'],
    key(payload) {
        const request = idOf(payload.api_request_id);
        if (request !== undefined)
            return request;
        const call = numberOf(payload.api_call_count);
        return call === undefined ? `task ${idOf(payload.task_id) ?? ''}` : `call ${call}`;
    },
    name(payload, draw) {
        const model = draw.capture.id(requestModel(payload));
        const word = draw.spanNames === 'semconv' ? 'chat' : 'api';
        if (model === undefined)
            return literal(draw.spanNames === 'semconv' ? word : 'api.error');
        return literal(draw.spanNames === 'semconv' ? `${word} ${model}` : `${word}.${model}`);
    },
    start: requestAttributes,
    end(fired, draw, opened) {
        if (fired.hook === 'api_request_error')
            return failed(fired, draw);
        return { attributes: responseAttributes(fired, draw, opened) };
    },
    measure(fired, draw, ended) {
        return fired.hook === 'api_request_error' ? apiErrorPoints(fired, draw, ended) : apiPoints(fired, draw, ended);
    },
};

import { SpanKind } from '@opentelemetry/api'
import { literal, phrase } from '../../content/capture.ts'
import { booleanOf, idOf, peek, wholeOf } from '../../contract/foreign.ts'
import type { ApiEnd, ApiError, ApiStart } from '../../contract/index.ts'
import { OPENINFERENCE_KIND, OPERATION } from '../../contract/semconv/index.ts'
import { requestContent, responseContent } from './api-content.ts'
import { apiErrorType, timeToFirstChunk } from './api-facts.ts'
import { apiErrorPoints, apiPoints } from './api-points.ts'
import { AttributeList } from './attribute-list.ts'
import { addCost, requestCost } from './cost.ts'
import { errorFacts } from './error-facts.ts'
import { inferenceProvider, inferenceSystem, modelProvider } from './model-provider.ts'
import { addRequestParameters, requestModel, serverAddress, toolCount } from './request-parameters.ts'
import type { AttributeOptions, EndedSpan, HookEvent, SpanDefinition, SpanEnd } from './span-definition.ts'
import { contextFill, usageOf } from './usage.ts'

type End = ApiEnd & ApiError

export function requestAttributes(event: HookEvent<ApiStart>, options: AttributeOptions): AttributeList {
  const { general, own, genAi, inference } = options.names
  const { payload } = event
  const { id } = options.capture
  const model = id(requestModel(payload))
  const provider = id(modelProvider(payload.provider))
  const server = serverAddress(payload.base_url)
  const attributes: AttributeList = new AttributeList()
    .set(inference.spanKind, literal(OPENINFERENCE_KIND.llm))
    .set(genAi.operationName, literal(OPERATION.chat))
    .set(genAi.providerName, provider)
    .set(inference.provider, inferenceProvider(provider))
    .set(inference.system, inferenceSystem(provider))
    .set(genAi.requestModel, model)
    .set(inference.modelName, model)
    .set(general.serverAddress, id(server.address))
    .set(general.serverPort, server.port)
    .set(own.apiMode, id(payload.api_mode))
    .set(own.apiCallCount, wholeOf(payload.api_call_count))
    .set(own.requestMessageCount, wholeOf(payload.message_count))
    .set(own.requestToolCount, toolCount(payload))
    .set(own.requestApproxInputTokens, wholeOf(payload.approx_input_tokens))
    .set(own.requestCharCount, wholeOf(payload.request_char_count))
  addRequestParameters(attributes, event, options)
  return options.capture.mode === 'full' ? attributes.addAll(requestContent(payload, options)) : attributes
}

function addUsage(attributes: AttributeList, event: HookEvent<ApiEnd>, options: AttributeOptions): void {
  const usage = usageOf(event, options)
  if (usage === undefined) return
  const { genAi, genAiNext, inference } = options.names
  attributes.set(genAi.usageInputTokens, usage.promptTokens)
  attributes.set(genAi.usageOutputTokens, usage.outputTokens)
  attributes.set(genAi.usageCacheRead, usage.cacheReadTokens || undefined)
  attributes.set(genAi.usageCacheCreation, usage.cacheWriteTokens || undefined)
  attributes.set(genAiNext.usageCacheWrite, usage.cacheWriteTokens || undefined)
  attributes.set(genAi.usageReasoning, usage.reasoningTokens || undefined)
  attributes.set(inference.tokensPrompt, usage.promptTokens)
  attributes.set(inference.tokensCompletion, usage.outputTokens)
  attributes.set(inference.tokensTotal, usage.totalTokens)
  attributes.set(inference.tokensCacheRead, usage.cacheReadTokens || undefined)
  attributes.set(inference.tokensCacheWrite, usage.cacheWriteTokens || undefined)
  attributes.set(inference.tokensReasoning, usage.reasoningTokens || undefined)
}

export function responseAttributes(
  event: HookEvent<End>,
  options: AttributeOptions,
  ended: EndedSpan<ApiStart>,
): AttributeList {
  const { own, genAi, inference } = options.names
  const { payload } = event
  const { id } = options.capture
  const finishReason = id(payload.finish_reason)
  const context = contextFill(event, options)
  const attributes: AttributeList = new AttributeList()
    .set(own.httpDurationMs, ended.durationMillis)
    .set(own.llmResponseDurationMs, ended.durationMillis)
    .set(genAi.responseId, id(payload.response_id))
    .set(genAi.responseModel, id(payload.response_model))
    .set(genAi.responseFinishReasons, finishReason === undefined ? undefined : [finishReason])
    .set(own.responseFinishReason, finishReason)
    .set(inference.finishReason, finishReason)
    .set(genAi.responseTimeToFirstChunk, timeToFirstChunk(payload, ended))
    .set(own.contextMaxTokens, context?.length)
    .set(own.contextUsedRatio, context?.used)
    .set(own.responseUpstreamProvider, id(peek(payload.response, 'upstream_provider')))
    .set(own.responseContentChars, wholeOf(payload.assistant_content_chars))
    .set(own.responseToolCalls, wholeOf(payload.assistant_tool_call_count))
  addCost(attributes, requestCost(event, options, ended), options)
  addUsage(attributes, event, options)
  return options.capture.mode === 'full' ? attributes.addAll(responseContent(payload, options)) : attributes
}

function failed(event: HookEvent<End>, options: AttributeOptions, ended: EndedSpan<ApiStart>): SpanEnd {
  const { general, own } = options.names
  const { payload } = event
  const type = apiErrorType(payload, options)
  const status = wholeOf(payload.status_code)
  return {
    attributes: new AttributeList()
      .set(own.httpDurationMs, ended.durationMillis)
      .set(own.llmResponseDurationMs, ended.durationMillis)
      .set(general.httpStatusCode, status)
      .set(own.responseStatusCode, status)
      .set(own.retryCount, wholeOf(payload.retry_count))
      .set(own.maxRetries, wholeOf(payload.max_retries))
      .set(own.retryable, booleanOf(payload.retryable))
      .set(own.errorReason, options.capture.id(payload.reason)),
    error: {
      type,
      message:
        options.capture.errorText(errorFacts(payload.error).message) ?? options.capture.id(payload.reason) ?? type,
    },
    exception: true,
  }
}

/** One attempt at a model request; a retry is a span of its own. */
export const api: SpanDefinition<ApiStart, End> = {
  kind: 'api',
  spanKind: SpanKind.CLIENT,
  parents: ['llm'],
  key(payload) {
    const request = idOf(payload.api_request_id)
    if (request !== undefined) return request
    const call = wholeOf(payload.api_call_count)
    return call === undefined ? `task ${idOf(payload.task_id) ?? ''}` : `call ${call}`
  },
  name(payload, options) {
    const model = options.capture.id(requestModel(payload))
    if (model === undefined) return literal(options.spanNames === 'semconv' ? 'chat' : 'api.error')
    return options.spanNames === 'semconv' ? phrase`chat ${model}` : phrase`api.${model}`
  },
  start: requestAttributes,
  end(event, options, ended) {
    if (event.hook === 'api_request_error') return failed(event, options, ended)
    return { attributes: responseAttributes(event, options, ended) }
  },
  measure(event, options, ended) {
    return event.hook === 'api_request_error' ? apiErrorPoints(event, options, ended) : apiPoints(event, options, ended)
  },
  logEvent(event, options, { start }) {
    const { hook, payload } = event
    if (hook !== 'api_request_error' || payload.retryable !== true) return undefined
    const { general, own, genAi } = options.names
    const { id, errorText } = options.capture
    return {
      event: 'requestRetried',
      attributes: new AttributeList()
        .set(genAi.providerName, id(modelProvider(payload.provider ?? start?.provider)))
        .set(genAi.requestModel, id(requestModel(start ?? payload)))
        .set(general.errorType, apiErrorType(payload, options))
        .set(general.httpStatusCode, wholeOf(payload.status_code))
        .set(own.retryCount, wholeOf(payload.retry_count))
        .set(own.errorMessage, errorText(errorFacts(payload.error).message)),
    }
  },
}

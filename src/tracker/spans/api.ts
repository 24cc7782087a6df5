import { SpanKind } from '@opentelemetry/api'
import { literal, phrase, type SafeText } from '../../content/safe-text.ts'
import { booleanOf, elementsOf, idOf, isArray, peek, positive, textOf, wholeOf } from '../../contract/foreign.ts'
import type { ApiEnd, ApiError, ApiStart } from '../../contract/index.ts'
import { LABEL, OPENINFERENCE_KIND, OPERATION, TOKEN_MODALITY } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import { addCost, requestCost } from './cost.ts'
import { errorFacts, OTHER_ERROR, statusClass } from './error-facts.ts'
import type { CapturedMessage } from './messages.ts'
import { captureMessages, contentOf, genAiMessages, indexedMessages, MESSAGES_LIMIT } from './messages.ts'
import {
  addRequestParameters,
  inferenceProvider,
  inferenceSystem,
  modelProvider,
  requestBody,
  requestModel,
  serverAddress,
  toolCount,
  toolDefinitions,
} from './request-parameters.ts'
import type {
  AttributeOptions,
  EndedSpan,
  HookEvent,
  MetricPoint,
  SpanDefinition,
  SpanEnd,
  TokenUsage,
} from './span-definition.ts'
import { contextFill, usageOf } from './usage.ts'

/** Bodies, in `full` mode only: each request repeats the conversation, an agent's largest and most private data. */
function requestContent(payload: ApiStart, options: AttributeOptions): AttributeList {
  const { capture, facts } = options
  const body = requestBody(payload)
  const given = payload.request_messages ?? payload.messages ?? peek(body, 'messages') ?? peek(body, 'input')
  const messages = captureMessages(given, options, 'llm_input')
  const leading = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? messages[0].content : undefined
  const system = payload.system_prompt ?? peek(body, 'system') ?? peek(body, 'instructions')
  const apart = capture.content(contentOf(system), 'llm_input')?.text
  const instructions = apart ?? leading
  const last = messages.at(-1)
  const whole = isArray(given) ? elementsOf(given, MESSAGES_LIMIT, 'last') : given
  const input = isArray(whole) && whole.length === 0 ? undefined : capture.content(whole, 'llm_input')
  return new AttributeList()
    .addAll(indexedMessages(facts.indexedInput, withSystem(leading === undefined ? apart : undefined, messages)))
    .set(facts.inputMessages, genAiMessages(messages, options))
    .set(facts.toolDefinitions, toolDefinitions(payload, options))
    .set(
      facts.systemInstructions,
      instructions === undefined ? undefined : capture.json([{ type: 'text', content: instructions }]),
    )
    .set(facts.input, input?.text ?? last?.content)
    .set(facts.inputType, input?.mimeType)
    .set(facts.contentTruncated, input?.truncated || undefined)
}

/** Some providers accept the system prompt outside the messages. OpenInference can hold it only as a message. */
function withSystem(content: SafeText | undefined, messages: readonly CapturedMessage[]): readonly CapturedMessage[] {
  if (content === undefined) return messages
  const system = { role: literal('system'), content, name: undefined, toolCallId: undefined, toolCalls: [] }
  return [system, ...messages]
}

function responseContent(payload: ApiEnd, options: AttributeOptions): AttributeList {
  const { capture, facts } = options
  const message = peek(payload.response, 'assistant_message') ?? peek(payload.response, 'message')
  if (message === undefined) return new AttributeList()
  const messages = captureMessages([message], options, 'llm_output')
  const text = textOf(peek(message, 'content'))
  const output = capture.content(text ?? peek(message, 'tool_calls'), 'llm_output')
  return new AttributeList()
    .addAll(indexedMessages(facts.indexedOutput, messages))
    .set(facts.outputMessages, genAiMessages(messages, options, capture.id(payload.finish_reason) ?? 'stop'))
    .setContent(facts.output, facts.outputType, facts.contentTruncated, output)
}

/** Epoch seconds of the host → milliseconds. */
export function millis(seconds: unknown): number | undefined {
  const value = positive(seconds)
  return value === undefined ? undefined : value * 1000
}

/** Seconds from this attempt's own start to its first chunk. A negative value belongs to another attempt and is dropped. */
function timeToFirstChunk(payload: ApiEnd, opened: EndedSpan<unknown>): number | undefined {
  const firstChunkAt = millis(payload.first_chunk_at)
  if (firstChunkAt === undefined || opened.start === undefined || firstChunkAt < opened.startAt) return undefined
  return (firstChunkAt - opened.startAt) / 1000
}

export function apiErrorType(payload: ApiError, options: AttributeOptions): SafeText {
  const { id } = options.capture
  return id(errorFacts(payload.error).type) ?? id(textOf(payload.reason)) ?? literal(OTHER_ERROR)
}

type End = ApiEnd & ApiError
type Ended = EndedSpan<ApiStart>
type Labels = MetricPoint['labels']

/** Stands for a name that neither end nor start has. A label must have a value, and an empty one looks like a defect. */
const UNKNOWN = 'unknown'

interface ApiLabels {
  readonly own: Labels
  readonly genAi: Labels
}

function labelsOf(payload: ApiEnd, options: AttributeOptions, ended: Ended): ApiLabels {
  const { id } = options.capture
  const model = id(requestModel(ended.start ?? payload)) ?? id(payload.model) ?? UNKNOWN
  const provider = id(modelProvider(payload.provider ?? ended.start?.provider)) ?? UNKNOWN
  return {
    own: { [LABEL.model]: model, [LABEL.provider]: provider },
    genAi: {
      'gen_ai.operation.name': OPERATION.chat,
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'gen_ai.response.model': id(payload.response_model) ?? model,
    },
  }
}

export function tokenPoints(
  event: HookEvent<ApiEnd>,
  options: AttributeOptions,
  ended: Ended,
  labels: ApiLabels = labelsOf(event.payload, options, ended),
): MetricPoint[] {
  const cost = requestCost(event, options, ended)
  const points: MetricPoint[] = []
  if (cost !== undefined) {
    const whose = { ...labels.own, [LABEL.agent]: ended.agentName ?? UNKNOWN }
    points.push({ instrument: 'cost', value: cost.dollars, labels: whose })
  }
  const usage = usageOf(event)
  if (usage !== undefined) {
    const part = ended.isSubagent ? 'subagent' : event.hook === 'post_auxiliary_call' ? 'auxiliary' : 'own'
    points.push(...countsOf(usage, { ...labels.own, [LABEL.part]: part }, labels))
    if (options.nextMetrics) points.push(...nextCountsOf(usage, labels))
  }
  return points.filter(({ value }) => value !== undefined && value > 0)
}

function countsOf(usage: TokenUsage, own: Labels, { genAi }: ApiLabels): MetricPoint[] {
  return [
    { instrument: 'tokensInput', value: usage.promptTokens, labels: own },
    { instrument: 'tokensOutput', value: usage.outputTokens, labels: own },
    { instrument: 'tokensCacheRead', value: usage.cacheReadTokens, labels: own },
    { instrument: 'tokensCacheWrite', value: usage.cacheWriteTokens, labels: own },
    { instrument: 'tokensReasoning', value: usage.reasoningTokens, labels: own },
    { instrument: 'genAiTokenUsage', value: usage.promptTokens, labels: { ...genAi, [LABEL.tokenType]: 'input' } },
    { instrument: 'genAiTokenUsage', value: usage.outputTokens, labels: { ...genAi, [LABEL.tokenType]: 'output' } },
  ]
}

function nextCountsOf(usage: TokenUsage, { genAi }: ApiLabels): MetricPoint[] {
  const labels = { ...genAi, [TOKEN_MODALITY]: UNKNOWN }
  return [
    { instrument: 'nextUsageInput', value: usage.promptTokens, labels },
    { instrument: 'nextUsageOutput', value: usage.outputTokens, labels },
    { instrument: 'nextUsageCacheRead', value: usage.cacheReadTokens, labels },
    { instrument: 'nextUsageCacheWrite', value: usage.cacheWriteTokens, labels },
    { instrument: 'nextUsageReasoning', value: usage.reasoningTokens, labels },
    { instrument: 'nextOperationInput', value: usage.promptTokens, labels: genAi },
    { instrument: 'nextOperationOutput', value: usage.outputTokens, labels: genAi },
  ]
}

function durationPoints(millis: number | undefined, labels: Labels, options: AttributeOptions): MetricPoint[] {
  const value = millis && millis / 1000
  const points: MetricPoint[] = [{ instrument: 'genAiOperationDuration', value, labels }]
  if (options.nextMetrics) points.push({ instrument: 'nextInferenceDuration', value, labels })
  return points
}

export function apiPoints(event: HookEvent<ApiEnd>, options: AttributeOptions, ended: Ended): MetricPoint[] {
  const labels = labelsOf(event.payload, options, ended)
  const points = tokenPoints(event, options, ended, labels)
  const { durationMillis } = ended
  points.push({ instrument: 'apiDuration', value: durationMillis, labels: labels.own })
  points.push(...durationPoints(durationMillis, labels.genAi, options))
  const firstChunk = timeToFirstChunk(event.payload, ended)
  if (firstChunk !== undefined) {
    points.push({ instrument: 'genAiTimeToFirstChunk', value: firstChunk, labels: labels.genAi })
    if (options.nextMetrics)
      points.push({ instrument: 'nextTimeToFirstChunk', value: firstChunk, labels: labels.genAi })
  }
  return points
}

export function apiErrorPoints(event: HookEvent<End>, options: AttributeOptions, ended: Ended): MetricPoint[] {
  const { payload } = event
  const labels = labelsOf(payload, options, ended)
  const errorType = apiErrorType(payload, options)
  const retryable = typeof payload.retryable === 'boolean' ? String(payload.retryable) : UNKNOWN
  const status = statusClass(payload.status_code)
  const failure = { [LABEL.errorType]: errorType, [LABEL.statusClass]: status, [LABEL.retryable]: retryable }
  const points: MetricPoint[] = [{ instrument: 'apiErrorCount', value: 1, labels: failure }]
  if (payload.retryable === true) points.push({ instrument: 'retryCount', value: 1, labels: labels.own })
  points.push(...durationPoints(ended.durationMillis, { ...labels.genAi, 'error.type': errorType }, options))
  return points
}

export function requestAttributes(event: HookEvent<ApiStart>, options: AttributeOptions): AttributeList {
  const { facts } = options
  const { payload } = event
  const { id } = options.capture
  const model = id(requestModel(payload))
  const provider = id(modelProvider(payload.provider))
  const server = serverAddress(payload.base_url)
  const attributes: AttributeList = new AttributeList()
    .set(facts.inferenceKind, literal(OPENINFERENCE_KIND.llm))
    .set(facts.operationName, literal(OPERATION.chat))
    .set(facts.providerName, provider)
    .set(facts.inferenceProvider, inferenceProvider(provider))
    .set(facts.inferenceSystem, inferenceSystem(provider))
    .set(facts.model, model)
    .set(facts.serverAddress, id(server.address))
    .set(facts.serverPort, server.port)
    .set(facts.apiMode, id(payload.api_mode))
    .set(facts.apiCallCount, wholeOf(payload.api_call_count))
    .set(facts.requestMessageCount, wholeOf(payload.message_count))
    .set(facts.requestToolCount, toolCount(payload))
    .set(facts.requestApproxInputTokens, wholeOf(payload.approx_input_tokens))
    .set(facts.requestCharCount, wholeOf(payload.request_char_count))
  addRequestParameters(attributes, payload, options)
  return options.capture.mode === 'full' ? attributes.addAll(requestContent(payload, options)) : attributes
}

export function responseAttributes(event: HookEvent<End>, options: AttributeOptions, ended: Ended): AttributeList {
  const { facts } = options
  const { payload } = event
  const { id } = options.capture
  const finishReason = id(payload.finish_reason)
  const context = contextFill(event)
  const attributes: AttributeList = new AttributeList()
    .set(facts.httpDurationMs, ended.durationMillis)
    .set(facts.llmResponseDurationMs, ended.durationMillis)
    .set(facts.responseId, id(payload.response_id))
    .set(facts.responseModel, id(payload.response_model))
    .set(facts.responseFinishReasons, finishReason === undefined ? undefined : [finishReason])
    .set(facts.finishReason, finishReason)
    .set(facts.responseTimeToFirstChunk, timeToFirstChunk(payload, ended))
    .set(facts.contextMaxTokens, context?.length)
    .set(facts.contextUsedRatio, context?.used)
    .set(facts.responseUpstreamProvider, id(peek(payload.response, 'upstream_provider')))
    .set(facts.responseContentChars, wholeOf(payload.assistant_content_chars))
    .set(facts.responseToolCalls, wholeOf(payload.assistant_tool_call_count))
  addCost(attributes, requestCost(event, options, ended), options)
  const usage = usageOf(event)
  if (usage !== undefined) {
    attributes.set(facts.inputTokens, usage.promptTokens)
    attributes.set(facts.outputTokens, usage.outputTokens)
    attributes.set(facts.totalTokens, usage.totalTokens)
    attributes.set(facts.cacheReadTokens, usage.cacheReadTokens || undefined)
    attributes.set(facts.cacheWriteTokens, usage.cacheWriteTokens || undefined)
    attributes.set(facts.reasoningTokens, usage.reasoningTokens || undefined)
  }
  return options.capture.mode === 'full' ? attributes.addAll(responseContent(payload, options)) : attributes
}

function failed(event: HookEvent<End>, options: AttributeOptions, ended: Ended): SpanEnd {
  const { facts } = options
  const { payload } = event
  const { id, errorText } = options.capture
  const type = apiErrorType(payload, options)
  return {
    attributes: new AttributeList()
      .set(facts.httpDurationMs, ended.durationMillis)
      .set(facts.llmResponseDurationMs, ended.durationMillis)
      .set(facts.httpStatusCode, wholeOf(payload.status_code))
      .set(facts.responseStatusCode, wholeOf(payload.status_code))
      .set(facts.retryCount, wholeOf(payload.retry_count))
      .set(facts.maxRetries, wholeOf(payload.max_retries))
      .set(facts.retryable, booleanOf(payload.retryable))
      .set(facts.errorReason, id(payload.reason)),
    error: { type, message: errorText(errorFacts(payload.error).message) ?? id(payload.reason) ?? type },
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
    const { facts } = options
    const { id, errorText } = options.capture
    return {
      event: 'requestRetried',
      attributes: new AttributeList()
        .set(facts.providerName, id(modelProvider(payload.provider ?? start?.provider)))
        .set(facts.requestModel, id(requestModel(start ?? payload)))
        .set(facts.errorType, apiErrorType(payload, options))
        .set(facts.httpStatusCode, wholeOf(payload.status_code))
        .set(facts.retryCount, wholeOf(payload.retry_count))
        .set(facts.errorMessage, errorText(errorFacts(payload.error).message)),
    }
  },
}

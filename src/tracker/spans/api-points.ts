import type { ApiEnd, ApiError, ApiStart } from '../../contract/index.ts'
import { LABEL, OPERATION, TOKEN_MODALITY } from '../../contract/semconv/index.ts'
import { apiErrorType, timeToFirstChunk } from './api-facts.ts'
import { requestCost } from './cost.ts'
import { statusClass } from './error-facts.ts'
import { modelProvider } from './model-provider.ts'
import type { TokenUsage } from './pricing.ts'
import { requestModel } from './request-parameters.ts'
import type { AttributeOptions, EndedSpan, HookEvent, MetricPoint } from './span-definition.ts'
import { usageOf } from './usage.ts'

type Labels = Readonly<Record<string, string>>

/** Stands for a name that neither end nor start has. A label must have a value, and an empty one looks like a defect. */
const UNKNOWN = 'unknown'

interface ApiLabels {
  readonly own: Labels
  readonly genAi: Labels
}

function labelsOf(payload: ApiEnd, options: AttributeOptions, ended: EndedSpan<ApiStart>): ApiLabels {
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

/** The part of the turn's total that a request belongs to: `own`, `auxiliary` or `subagent`. */
function partOf({ hook }: HookEvent<ApiEnd>, { isSubagent }: EndedSpan<ApiStart>): string {
  if (isSubagent) return 'subagent'
  return hook === 'post_auxiliary_call' ? 'auxiliary' : 'own'
}

export function tokenPoints(
  event: HookEvent<ApiEnd>,
  options: AttributeOptions,
  ended: EndedSpan<ApiStart>,
  labels: ApiLabels = labelsOf(event.payload, options, ended),
): MetricPoint[] {
  const cost = requestCost(event, options, ended)
  const points: MetricPoint[] = []
  if (cost !== undefined) {
    const whose = { ...labels.own, [LABEL.agent]: ended.agentName ?? UNKNOWN }
    points.push({ instrument: 'cost', value: cost.dollars, labels: whose })
  }
  const usage = usageOf(event, options)
  if (usage !== undefined) {
    points.push(...countsOf(usage, { ...labels.own, [LABEL.part]: partOf(event, ended) }, labels))
    if (options.nextMetrics) points.push(...nextCountsOf(usage, labels))
  }
  return points.filter(point => point.value > 0)
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

function durationPoints(millis: number, labels: Labels, options: AttributeOptions): MetricPoint[] {
  const points: MetricPoint[] = [{ instrument: 'genAiOperationDuration', value: millis / 1000, labels }]
  if (options.nextMetrics) points.push({ instrument: 'nextInferenceDuration', value: millis / 1000, labels })
  return points
}

export function apiPoints(
  event: HookEvent<ApiEnd>,
  options: AttributeOptions,
  ended: EndedSpan<ApiStart>,
): MetricPoint[] {
  const labels = labelsOf(event.payload, options, ended)
  const points = tokenPoints(event, options, ended, labels)
  const { durationMillis } = ended
  if (durationMillis !== undefined) {
    points.push({ instrument: 'apiDuration', value: durationMillis, labels: labels.own })
    points.push(...durationPoints(durationMillis, labels.genAi, options))
  }
  const firstChunk = timeToFirstChunk(event.payload, ended)
  if (firstChunk !== undefined) {
    points.push({ instrument: 'genAiTimeToFirstChunk', value: firstChunk, labels: labels.genAi })
    if (options.nextMetrics)
      points.push({ instrument: 'nextTimeToFirstChunk', value: firstChunk, labels: labels.genAi })
  }
  return points
}

export function apiErrorPoints(
  event: HookEvent<ApiEnd & ApiError>,
  options: AttributeOptions,
  ended: EndedSpan<ApiStart>,
): MetricPoint[] {
  const { payload } = event
  const labels = labelsOf(payload, options, ended)
  const errorType = apiErrorType(payload, options)
  const retryable = typeof payload.retryable === 'boolean' ? String(payload.retryable) : UNKNOWN
  const points: MetricPoint[] = [
    {
      instrument: 'apiErrorCount',
      value: 1,
      labels: {
        [LABEL.errorType]: errorType,
        [LABEL.statusClass]: statusClass(payload.status_code),
        [LABEL.retryable]: retryable,
      },
    },
  ]
  if (payload.retryable === true) points.push({ instrument: 'retryCount', value: 1, labels: labels.own })
  if (ended.durationMillis !== undefined) {
    points.push(...durationPoints(ended.durationMillis, { ...labels.genAi, 'error.type': errorType }, options))
  }
  return points
}

/**
 * Names of v0.1.0, the first release of the GenAI conventions from a separate repository, that v1.41 does not have.
 * They are written beside those of v1.41. All have the status Development.
 */
export const GEN_AI_NEXT = {
  reasoningEffort: 'gen_ai.request.reasoning.level',
  requestPreviousResponseId: 'gen_ai.request.previous_response.id',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  /** The agent that uses a tool. In v1.41 only agents have the name. */
  toolAgentName: 'gen_ai.agent.name',
} as const

export const GEN_AI_NEXT_METRIC = {
  nextInferenceDuration: 'gen_ai.client.inference.duration',
  nextTimeToFirstChunk: 'gen_ai.client.inference.time_to_first_chunk',
  nextUsageInput: 'gen_ai.client.inference.usage.input_tokens',
  nextUsageOutput: 'gen_ai.client.inference.usage.output_tokens',
  nextUsageCacheRead: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  nextUsageCacheWrite: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  nextUsageReasoning: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  nextOperationInput: 'gen_ai.client.inference.operation.input_tokens',
  nextOperationOutput: 'gen_ai.client.inference.operation.output_tokens',
  nextInferenceCalls: 'gen_ai.invoke_agent.inference_calls',
  nextToolCalls: 'gen_ai.invoke_agent.tool_calls',
} as const

/** A label of the usage counters. No agent reports tokens by modality, so the value is `unknown`. */
export const TOKEN_MODALITY = 'gen_ai.token.modality'

export type NextMetricKey = keyof typeof GEN_AI_NEXT_METRIC

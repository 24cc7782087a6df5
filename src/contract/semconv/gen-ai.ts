/** OpenTelemetry GenAI names as of v1.41, the version that backends read today. All have the status Development. */
export const GEN_AI = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  sessionId: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  model: 'gen_ai.request.model',
  /** Like `model`, for records that need no name of OpenInference. */
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestTopK: 'gen_ai.request.top_k',
  requestFrequencyPenalty: 'gen_ai.request.frequency_penalty',
  requestPresencePenalty: 'gen_ai.request.presence_penalty',
  requestStopSequences: 'gen_ai.request.stop_sequences',
  requestChoiceCount: 'gen_ai.request.choice.count',
  requestStream: 'gen_ai.request.stream',
  requestSeed: 'gen_ai.request.seed',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  responseFinishReasons: 'gen_ai.response.finish_reasons',
  responseTimeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** The tool of a tool span. Other records name a tool or a call in `calledTool` and `callId`. */
  toolName: 'gen_ai.tool.name',
  calledTool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolDefinitions: 'gen_ai.tool.definitions',
  toolCallId: 'gen_ai.tool.call.id',
  callId: 'gen_ai.tool.call.id',
  toolInput: 'gen_ai.tool.call.arguments',
  toolOutput: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
} as const

/** Values of `gen_ai.operation.name` that we write. */
export const OPERATION = { chat: 'chat', executeTool: 'execute_tool', invokeAgent: 'invoke_agent' } as const

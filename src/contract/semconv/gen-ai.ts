/** OpenTelemetry GenAI names as of v1.41, the version that backends read today. All have the status Development. */
export const GEN_AI = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  conversationId: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
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
  usageInputTokens: 'gen_ai.usage.input_tokens',
  usageOutputTokens: 'gen_ai.usage.output_tokens',
  usageCacheRead: 'gen_ai.usage.cache_read.input_tokens',
  usageCacheCreation: 'gen_ai.usage.cache_creation.input_tokens',
  usageReasoning: 'gen_ai.usage.reasoning.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolDefinitions: 'gen_ai.tool.definitions',
  toolCallId: 'gen_ai.tool.call.id',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
} as const

export type GenAiNames = { readonly [Key in keyof typeof GEN_AI]: string }

/** Values of `gen_ai.operation.name` that we write. */
export const OPERATION = { chat: 'chat', executeTool: 'execute_tool', invokeAgent: 'invoke_agent' } as const

/**
 * Host spelling → well-known value of `gen_ai.provider.name`. Unlisted names are passed through: the convention allows
 * custom values, and a guess would be worse.
 */
export const WELL_KNOWN_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['aws.bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['aws_bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['azure-openai', 'azure.ai.openai'],
  ['azure_openai', 'azure.ai.openai'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['az.ai.inference', 'azure.ai.inference'],
  ['cohere', 'cohere'],
  ['deepseek', 'deepseek'],
  ['gemini', 'gcp.gemini'],
  ['google', 'gcp.gemini'],
  ['google-gemini', 'gcp.gemini'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google-vertex', 'gcp.vertex_ai'],
  ['groq', 'groq'],
  ['watsonx', 'ibm.watsonx.ai'],
  ['mistral', 'mistral_ai'],
  ['mistralai', 'mistral_ai'],
  ['moonshot', 'moonshot_ai'],
  ['moonshotai', 'moonshot_ai'],
  ['openai', 'openai'],
  ['openai-codex', 'openai'],
  ['perplexity', 'perplexity'],
  ['xai', 'x_ai'],
  ['x-ai', 'x_ai'],
  ['grok', 'x_ai'],
])

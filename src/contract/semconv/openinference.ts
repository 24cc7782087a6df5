/** OpenInference names, which Phoenix and Arize read (and Langfuse prefers). */
export const OPENINFERENCE = {
  spanKind: 'openinference.span.kind',
  projectName: 'openinference.project.name',
  tags: 'tag.tags',
  metadata: 'metadata',
  inputValue: 'input.value',
  inputMimeType: 'input.mime_type',
  outputValue: 'output.value',
  outputMimeType: 'output.mime_type',
  modelName: 'llm.model_name',
  provider: 'llm.provider',
  system: 'llm.system',
  invocationParameters: 'llm.invocation_parameters',
  finishReason: 'llm.finish_reason',
  inputMessages: 'llm.input_messages',
  outputMessages: 'llm.output_messages',
  tokensPrompt: 'llm.token_count.prompt',
  tokensCompletion: 'llm.token_count.completion',
  tokensTotal: 'llm.token_count.total',
  tokensCacheRead: 'llm.token_count.prompt_details.cache_read',
  tokensCacheWrite: 'llm.token_count.prompt_details.cache_write',
  tokensReasoning: 'llm.token_count.completion_details.reasoning',
  costTotal: 'llm.cost.total',
  toolName: 'tool.name',
  toolId: 'tool.id',
  toolParameters: 'tool.parameters',
} as const

/** Values of `openinference.span.kind` that we write. */
export const OPENINFERENCE_KIND = {
  agent: 'AGENT',
  chain: 'CHAIN',
  llm: 'LLM',
  tool: 'TOOL',
  guardrail: 'GUARDRAIL',
} as const

/** `gen_ai.provider.name` -> `llm.provider`, if OpenInference uses another word. */
export const OPENINFERENCE_PROVIDER = {
  'aws.bedrock': 'aws',
  'azure.ai.inference': 'azure',
  'azure.ai.openai': 'azure',
  'gcp.gemini': 'google',
  'gcp.gen_ai': 'google',
  'gcp.vertex_ai': 'google',
  mistral_ai: 'mistralai',
  moonshot_ai: 'moonshot',
  x_ai: 'xai',
} as const

/** `gen_ai.provider.name` -> `llm.system`. A provider that hosts the models of several makers has no row. */
export const OPENINFERENCE_SYSTEM = {
  anthropic: 'anthropic',
  'azure.ai.openai': 'openai',
  cohere: 'cohere',
  deepseek: 'deepseek',
  'gcp.gemini': 'google',
  'gcp.gen_ai': 'google',
  'gcp.vertex_ai': 'vertexai',
  mistral_ai: 'mistralai',
  moonshot_ai: 'moonshot',
  openai: 'openai',
  x_ai: 'xai',
} as const

/** Keys of one message, below `llm.input_messages.N.` or `llm.output_messages.N.`. */
export const MESSAGE = {
  role: 'message.role',
  content: 'message.content',
  name: 'message.name',
  toolCallId: 'message.tool_call_id',
  toolCalls: 'message.tool_calls',
  toolCallIdOfCall: 'tool_call.id',
  toolCallName: 'tool_call.function.name',
  toolCallArguments: 'tool_call.function.arguments',
} as const

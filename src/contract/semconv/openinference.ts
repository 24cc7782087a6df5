/** OpenInference names, which Phoenix and Arize read (and Langfuse prefers). */
export const OPENINFERENCE = {
  inferenceKind: 'openinference.span.kind',
  projectName: 'openinference.project.name',
  tags: 'tag.tags',
  metadata: 'metadata',
  input: 'input.value',
  toolInput: 'input.value',
  inputType: 'input.mime_type',
  output: 'output.value',
  answer: 'output.value',
  toolOutput: 'output.value',
  outputType: 'output.mime_type',
  model: 'llm.model_name',
  inferenceModel: 'llm.model_name',
  inferenceProvider: 'llm.provider',
  inferenceSystem: 'llm.system',
  invocationParameters: 'llm.invocation_parameters',
  finishReason: 'llm.finish_reason',
  indexedInput: 'llm.input_messages',
  indexedOutput: 'llm.output_messages',
  inputTokens: 'llm.token_count.prompt',
  outputTokens: 'llm.token_count.completion',
  totalTokens: 'llm.token_count.total',
  cacheReadTokens: 'llm.token_count.prompt_details.cache_read',
  cacheWriteTokens: 'llm.token_count.prompt_details.cache_write',
  reasoningTokens: 'llm.token_count.completion_details.reasoning',
  cost: 'llm.cost.total',
  toolName: 'tool.name',
  toolCallId: 'tool.id',
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

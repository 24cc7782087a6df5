/** OpenTelemetry GenAI names as of v1.41, the version that backends read today. All have the status Development. */
export declare const GEN_AI: {
    readonly operationName: 'gen_ai.operation.name';
    readonly providerName: 'gen_ai.provider.name';
    readonly conversationId: 'gen_ai.conversation.id';
    readonly agentName: 'gen_ai.agent.name';
    readonly requestModel: 'gen_ai.request.model';
    readonly requestMaxTokens: 'gen_ai.request.max_tokens';
    readonly requestTemperature: 'gen_ai.request.temperature';
    readonly requestTopP: 'gen_ai.request.top_p';
    readonly requestTopK: 'gen_ai.request.top_k';
    readonly requestFrequencyPenalty: 'gen_ai.request.frequency_penalty';
    readonly requestPresencePenalty: 'gen_ai.request.presence_penalty';
    readonly requestStopSequences: 'gen_ai.request.stop_sequences';
    readonly requestChoiceCount: 'gen_ai.request.choice.count';
    readonly requestStream: 'gen_ai.request.stream';
    readonly requestSeed: 'gen_ai.request.seed';
    readonly responseId: 'gen_ai.response.id';
    readonly responseModel: 'gen_ai.response.model';
    readonly responseFinishReasons: 'gen_ai.response.finish_reasons';
    readonly responseTimeToFirstChunk: 'gen_ai.response.time_to_first_chunk';
    readonly usageInputTokens: 'gen_ai.usage.input_tokens';
    readonly usageOutputTokens: 'gen_ai.usage.output_tokens';
    readonly usageCacheRead: 'gen_ai.usage.cache_read.input_tokens';
    readonly usageCacheCreation: 'gen_ai.usage.cache_creation.input_tokens';
    readonly usageReasoning: 'gen_ai.usage.reasoning.output_tokens';
    readonly toolName: 'gen_ai.tool.name';
    readonly toolType: 'gen_ai.tool.type';
    readonly toolCallId: 'gen_ai.tool.call.id';
    readonly toolCallArguments: 'gen_ai.tool.call.arguments';
    readonly toolCallResult: 'gen_ai.tool.call.result';
    readonly inputMessages: 'gen_ai.input.messages';
    readonly outputMessages: 'gen_ai.output.messages';
    readonly systemInstructions: 'gen_ai.system_instructions';
};
export type GenAiNames = {
    readonly [Key in keyof typeof GEN_AI]: string;
};
/** Values of `gen_ai.operation.name` that we write. */
export declare const OPERATION: {
    readonly chat: 'chat';
    readonly executeTool: 'execute_tool';
    readonly invokeAgent: 'invoke_agent';
};
/**
 * Host spelling → well-known value of `gen_ai.provider.name`. What is not listed is passed on as it is:
 * the convention allows custom values, and a guess would be worse.
 */
export declare const WELL_KNOWN_PROVIDERS: ReadonlyMap<string, string>;

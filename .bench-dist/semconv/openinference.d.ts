/** OpenInference names, which Phoenix and Arize read (and Langfuse prefers). */
export declare const OPENINFERENCE: {
    readonly spanKind: 'openinference.span.kind';
    readonly projectName: 'openinference.project.name';
    readonly inputValue: 'input.value';
    readonly inputMimeType: 'input.mime_type';
    readonly outputValue: 'output.value';
    readonly outputMimeType: 'output.mime_type';
    readonly modelName: 'llm.model_name';
    readonly provider: 'llm.provider';
    readonly system: 'llm.system';
    readonly invocationParameters: 'llm.invocation_parameters';
    readonly finishReason: 'llm.finish_reason';
    readonly inputMessages: 'llm.input_messages';
    readonly outputMessages: 'llm.output_messages';
    readonly tokensPrompt: 'llm.token_count.prompt';
    readonly tokensCompletion: 'llm.token_count.completion';
    readonly tokensTotal: 'llm.token_count.total';
    readonly tokensCacheRead: 'llm.token_count.prompt_details.cache_read';
    readonly tokensCacheWrite: 'llm.token_count.prompt_details.cache_write';
    readonly tokensReasoning: 'llm.token_count.completion_details.reasoning';
    readonly toolName: 'tool.name';
    readonly toolId: 'tool.id';
    readonly toolParameters: 'tool.parameters';
};
export type OpenInferenceNames = {
    readonly [Key in keyof typeof OPENINFERENCE]: string;
};
/** Values of `openinference.span.kind` that we write. */
export declare const OPENINFERENCE_KIND: {
    readonly agent: 'AGENT';
    readonly chain: 'CHAIN';
    readonly llm: 'LLM';
    readonly tool: 'TOOL';
};
/** Keys of one message, below `llm.input_messages.N.` or `llm.output_messages.N.`. */
export declare const MESSAGE: {
    readonly role: 'message.role';
    readonly content: 'message.content';
    readonly name: 'message.name';
    readonly toolCallId: 'message.tool_call_id';
    readonly toolCalls: 'message.tool_calls';
    readonly toolCallIdOfCall: 'tool_call.id';
    readonly toolCallName: 'tool_call.function.name';
    readonly toolCallArguments: 'tool_call.function.arguments';
};

import type { CapturedContent, ContentCategory, SafeText } from './capture.ts';
import type { Draw, SpanAttributes } from './span-definition.ts';
/** A span has a limit of 1024 attributes, and each message takes several: of a longer conversation the end is kept. */
export declare const MESSAGES_LIMIT = 100;
interface CapturedCall {
    readonly id: SafeText | undefined;
    readonly name: SafeText | undefined;
    readonly arguments: SafeText | undefined;
}
/** One message of a conversation whose strings have been through the capture policy. */
export interface CapturedMessage {
    readonly role: SafeText | undefined;
    readonly content: SafeText | undefined;
    readonly name: SafeText | undefined;
    readonly toolCallId: SafeText | undefined;
    readonly toolCalls: readonly CapturedCall[];
}
export declare function captureMessages(messages: unknown, draw: Draw, category: ContentCategory): CapturedMessage[];
/** `llm.input_messages.0.message.role`, …: the indexed form that OpenInference reads. */
export declare function indexedMessages(prefix: string, messages: readonly CapturedMessage[]): SpanAttributes;
/** The JSON form of `gen_ai.input.messages` and `gen_ai.output.messages`. */
export declare function genAiMessages(messages: readonly CapturedMessage[], draw: Draw, finishReason?: string): SafeText | undefined;
/** One captured text as a one-message conversation. */
export declare function oneMessage(role: 'user' | 'assistant', content: CapturedContent | undefined): SafeText | undefined;
/** JSON of a small structure of ours whose texts are captured already. */
export declare function captured(structure: unknown): SafeText;
export {};

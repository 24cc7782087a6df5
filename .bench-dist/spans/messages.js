import { MESSAGE } from '../semconv/index.js';
import { elementsOf, peek, textOf } from './foreign.js';
/** A span has a limit of 1024 attributes, and each message takes several: of a longer conversation the end is kept. */
export const MESSAGES_LIMIT = 100;
const CALLS_LIMIT = 32;
function captureCall(call, draw, category) {
    const described = peek(call, 'function') ?? call;
    return {
        id: draw.capture.id(peek(call, 'id')),
        name: draw.capture.id(peek(described, 'name')),
        arguments: draw.capture.content(peek(described, 'arguments'), category)?.text,
    };
}
/** Text parts joined; other parts (images, audio) as JSON, so that nothing of a message is lost. */
function contentOf(content) {
    if (!Array.isArray(content))
        return content;
    const texts = content.slice(0, MESSAGES_LIMIT).map(part => textOf(peek(part, 'text')) ?? textOf(part));
    return texts.every(text => text !== undefined) ? texts.join('\n') : content;
}
function captureMessage(message, draw, category) {
    return {
        role: draw.capture.id(peek(message, 'role')),
        content: draw.capture.content(contentOf(peek(message, 'content')), category)?.text,
        name: draw.capture.id(peek(message, 'name')),
        toolCallId: draw.capture.id(peek(message, 'tool_call_id')),
        toolCalls: elementsOf(peek(message, 'tool_calls'), CALLS_LIMIT).map(call => captureCall(call, draw, category)),
    };
}
export function captureMessages(messages, draw, category) {
    if (!Array.isArray(messages))
        return [];
    return messages.slice(-MESSAGES_LIMIT).map(message => captureMessage(message, draw, category));
}
/** `llm.input_messages.0.message.role`, …: the indexed form that OpenInference reads. */
export function indexedMessages(prefix, messages) {
    const attributes = {};
    if (prefix === '')
        return attributes;
    messages.forEach((message, index) => {
        const at = `${prefix}.${index}.`;
        attributes[`${at}${MESSAGE.role}`] = message.role;
        attributes[`${at}${MESSAGE.content}`] = message.content;
        attributes[`${at}${MESSAGE.name}`] = message.name;
        attributes[`${at}${MESSAGE.toolCallId}`] = message.toolCallId;
        message.toolCalls.forEach((call, order) => {
            const below = `${at}${MESSAGE.toolCalls}.${order}.`;
            attributes[`${below}${MESSAGE.toolCallIdOfCall}`] = call.id;
            attributes[`${below}${MESSAGE.toolCallName}`] = call.name;
            attributes[`${below}${MESSAGE.toolCallArguments}`] = call.arguments;
        });
    });
    return attributes;
}
function genAiParts(message) {
    if (message.toolCallId !== undefined) {
        return [{ type: 'tool_call_response', id: message.toolCallId, response: message.content ?? '' }];
    }
    const text = message.content === undefined ? [] : [{ type: 'text', content: message.content }];
    const calls = message.toolCalls.map(call => ({ type: 'tool_call', ...call }));
    return [...text, ...calls];
}
/** The JSON form of `gen_ai.input.messages` and `gen_ai.output.messages`. */
export function genAiMessages(messages, draw, finishReason) {
    if (messages.length === 0)
        return undefined;
    return draw.capture.json(messages.map(message => ({
        role: message.role ?? 'unknown',
        parts: genAiParts(message),
        ...(finishReason === undefined ? {} : { finish_reason: finishReason }),
    })));
}
/** The loop's span and the root say the same message: the JSON of the last one is kept for the second. */
const lastMessage = new Map();
/** One captured text as a one-message conversation. */
export function oneMessage(role, content) {
    if (content === undefined)
        return undefined;
    const last = lastMessage.get(role);
    if (last?.content === content)
        return last.text;
    const parts = [{ type: 'text', content: content.text }];
    const text = captured([role === 'user' ? { role, parts } : { role, parts, finish_reason: 'stop' }]);
    lastMessage.set(role, { content, text });
    return text;
}
/** JSON of a small structure of ours whose texts are captured already. */
export function captured(structure) {
    return JSON.stringify(structure);
}

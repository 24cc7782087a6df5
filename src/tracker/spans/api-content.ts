import { literal, type SafeText } from '../../content/capture.ts'
import { elementsOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import type { ApiEnd, ApiStart } from '../../contract/index.ts'
import { AttributeList } from './attribute-list.ts'
import {
  type CapturedMessage,
  captureMessages,
  contentOf,
  genAiMessages,
  indexedMessages,
  MESSAGES_LIMIT,
} from './messages.ts'
import { requestBody, toolDefinitions } from './request-parameters.ts'
import type { AttributeOptions } from './span-definition.ts'

/**
 * Whole requests and responses are written in `full` mode only. Each request repeats the conversation so far, which is
 * an agent's largest and most private data.
 */
export function requestContent(payload: ApiStart, options: AttributeOptions): AttributeList {
  const { capture, names } = options
  if (capture.mode !== 'full') return new AttributeList()
  const body = requestBody(payload)
  const given = payload.request_messages ?? payload.messages ?? peek(body, 'messages') ?? peek(body, 'input')
  const messages = captureMessages(given, options, 'llm_input')
  const leading = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? messages[0].content : undefined
  const system = payload.system_prompt ?? peek(body, 'system') ?? peek(body, 'instructions')
  const apart = capture.content(contentOf(system), 'llm_input')?.text
  const instructions = apart ?? leading
  const last = messages.at(-1)
  const whole = isArray(given) ? elementsOf(given, MESSAGES_LIMIT, 'last') : given
  const input = isArray(whole) && whole.length === 0 ? undefined : capture.content(whole, 'llm_input')
  return new AttributeList()
    .addAll(
      indexedMessages(names.inference.inputMessages, withSystem(leading === undefined ? apart : undefined, messages)),
    )
    .set(names.genAi.inputMessages, genAiMessages(messages, options))
    .set(names.genAi.toolDefinitions, toolDefinitions(payload, options))
    .set(
      names.genAi.systemInstructions,
      instructions === undefined ? undefined : capture.json([{ type: 'text', content: instructions }]),
    )
    .set(names.inference.inputValue, input?.text ?? last?.content)
    .set(names.inference.inputMimeType, input?.mimeType)
    .set(names.own.contentTruncated, input?.truncated || undefined)
}

/** Some providers accept the system prompt outside the messages. OpenInference can hold it only as a message. */
function withSystem(content: SafeText | undefined, messages: readonly CapturedMessage[]): readonly CapturedMessage[] {
  if (content === undefined) return messages
  const system = { role: literal('system'), content, name: undefined, toolCallId: undefined, toolCalls: [] }
  return [system, ...messages]
}

export function responseContent(payload: ApiEnd, options: AttributeOptions): AttributeList {
  const { capture, names } = options
  if (capture.mode !== 'full') return new AttributeList()
  const message = peek(payload.response, 'assistant_message') ?? peek(payload.response, 'message')
  if (message === undefined) return new AttributeList()
  const messages = captureMessages([message], options, 'llm_output')
  const text = textOf(peek(message, 'content'))
  const output = capture.content(text ?? peek(message, 'tool_calls'), 'llm_output')
  return new AttributeList()
    .addAll(indexedMessages(names.inference.outputMessages, messages))
    .set(names.genAi.outputMessages, genAiMessages(messages, options, capture.id(payload.finish_reason) ?? 'stop'))
    .set(names.inference.outputValue, output?.text)
    .set(names.inference.outputMimeType, output?.mimeType)
    .set(names.own.contentTruncated, output?.truncated || undefined)
}

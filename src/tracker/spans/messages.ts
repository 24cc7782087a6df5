import {
  type CapturedContent,
  type ContentCategory,
  literal,
  type SafeText,
  safeJson,
} from '../../content/safe-text.ts'
import { elementsOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { MESSAGE, nameOf, type SpanFact } from '../../contract/semconv/index.ts'
import { AttributeList } from './attribute-list.ts'
import type { AttributeOptions } from './span-definition.ts'

/** A span has a limit of 1024 attributes, and each message needs several. The end of a longer conversation is kept. */
export const MESSAGES_LIMIT = 100
const CALLS_LIMIT = 32

interface CapturedCall {
  readonly id: SafeText | undefined
  readonly name: SafeText | undefined
  readonly arguments: SafeText | undefined
}

export interface CapturedMessage {
  readonly role: SafeText | undefined
  readonly content: SafeText | undefined
  readonly name: SafeText | undefined
  readonly toolCallId: SafeText | undefined
  readonly toolCalls: readonly CapturedCall[]
}

function captureCall(call: unknown, options: AttributeOptions, category: ContentCategory): CapturedCall {
  const described = peek(call, 'function') ?? call
  return {
    id: options.capture.id(peek(call, 'id')),
    name: options.capture.id(peek(described, 'name')),
    arguments: options.capture.content(peek(described, 'arguments') ?? peek(described, 'input'), category)?.text,
  }
}

/** Joins text parts. If there are other parts (images, audio), returns the whole content, so that nothing is lost. */
export function contentOf(content: unknown): unknown {
  if (!isArray(content)) return content
  const texts = elementsOf(content, MESSAGES_LIMIT).map(part => textOf(peek(part, 'text')) ?? textOf(part))
  return texts.every(text => text !== undefined) ? texts.join('\n') : content
}

function captureMessage(message: unknown, options: AttributeOptions, category: ContentCategory): CapturedMessage {
  return {
    role: options.capture.id(peek(message, 'role')),
    content: options.capture.content(contentOf(peek(message, 'content')), category)?.text,
    name: options.capture.id(peek(message, 'name')),
    toolCallId: options.capture.id(peek(message, 'tool_call_id')),
    toolCalls: elementsOf(peek(message, 'tool_calls'), CALLS_LIMIT).map(call => captureCall(call, options, category)),
  }
}

const TOOL_PARTS = new Set<unknown>(['tool_use', 'tool_result'])

/** Anthropic sends calls and results as parts of the content, while others use fields and separate messages. */
function captureParts(message: unknown, options: AttributeOptions, category: ContentCategory): CapturedMessage[] {
  const content = elementsOf(peek(message, 'content'), MESSAGES_LIMIT)
  const ofTools = content.filter(part => TOOL_PARTS.has(peek(part, 'type')))
  if (ofTools.length === 0) return [captureMessage(message, options, category)]
  const calls = ofTools.filter(part => peek(part, 'type') === 'tool_use')
  const results = ofTools.filter(part => peek(part, 'type') === 'tool_result')
  const rest = content.filter(part => !ofTools.includes(part))
  const reported = { role: peek(message, 'role'), content: rest.length === 0 ? undefined : rest, tool_calls: calls }
  return [
    ...results.map(part => {
      const result = { role: 'tool', tool_call_id: peek(part, 'tool_use_id'), content: peek(part, 'content') }
      return captureMessage(result, options, category)
    }),
    ...(rest.length === 0 && calls.length === 0 ? [] : [captureMessage(reported, options, category)]),
  ]
}

export function captureMessages(
  messages: unknown,
  options: AttributeOptions,
  category: ContentCategory,
): readonly CapturedMessage[] {
  const given = elementsOf(messages, MESSAGES_LIMIT, 'last')
  return given.flatMap(message => captureParts(message, options, category)).slice(-MESSAGES_LIMIT)
}

/** `llm.input_messages.0.message.role`, …: the indexed form that OpenInference reads. */
export function indexedMessages(fact: SpanFact, messages: readonly CapturedMessage[]): AttributeList {
  const attributes = new AttributeList()
  const prefix = nameOf(fact)
  if (prefix === '') return attributes
  messages.forEach((message, index) => {
    const at = `${prefix}.${index}.`
    attributes.setNamed(`${at}${MESSAGE.role}`, message.role)
    attributes.setNamed(`${at}${MESSAGE.content}`, message.content)
    attributes.setNamed(`${at}${MESSAGE.name}`, message.name)
    attributes.setNamed(`${at}${MESSAGE.toolCallId}`, message.toolCallId)
    message.toolCalls.forEach((call, order) => {
      const below = `${at}${MESSAGE.toolCalls}.${order}.`
      attributes.setNamed(`${below}${MESSAGE.toolCallIdOfCall}`, call.id)
      attributes.setNamed(`${below}${MESSAGE.toolCallName}`, call.name)
      attributes.setNamed(`${below}${MESSAGE.toolCallArguments}`, call.arguments)
    })
  })
  return attributes
}

function genAiParts(message: CapturedMessage): object[] {
  if (message.toolCallId !== undefined) {
    return [{ type: 'tool_call_response', id: message.toolCallId, response: message.content ?? '' }]
  }
  const text = message.content === undefined ? [] : [{ type: 'text', content: message.content }]
  const calls = message.toolCalls.map(call => ({ type: 'tool_call', ...call }))
  return [...text, ...calls]
}

/** The JSON form of `gen_ai.input.messages` and `gen_ai.output.messages`. */
export function genAiMessages(
  messages: readonly CapturedMessage[],
  options: AttributeOptions,
  finishReason?: string,
): SafeText | undefined {
  if (messages.length === 0) return undefined
  return options.capture.json(
    messages.map(message => ({
      role: message.role ?? 'unknown',
      parts: genAiParts(message),
      ...(finishReason === undefined ? {} : { finish_reason: finishReason }),
    })),
  )
}

/** Caches the JSON of the last message by role, because the loop's span and the root contain the same one. */
const lastMessage = new Map<string, { readonly content: CapturedContent; readonly text: SafeText }>()

export function oneMessage(
  role: 'user' | 'assistant',
  content: CapturedContent | undefined,
  { capture }: AttributeOptions,
): SafeText | undefined {
  if (content === undefined) return undefined
  const last = lastMessage.get(role)
  if (last?.content === content) return last.text
  const reported = { role: literal(role), parts: [{ type: literal('text'), content: content.text }] }
  const message = [role === 'user' ? reported : { ...reported, finish_reason: literal('stop') }]
  // A text may have the maximum length in `full` mode, and escaping makes it longer. `capture.json` truncates it.
  const text = capture.mode === 'full' ? capture.json(message) : safeJson(message)
  if (text === undefined) return undefined
  lastMessage.set(role, { content, text })
  return text
}

import { elementsOf, idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { joinTexts } from '../base/messages.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'

const PARTS_LIMIT = 100
const MESSAGES_LIMIT = 100
/** Searched from the end: the last user message is near it. */
const SEARCH_LIMIT = 50

export interface ModelToolCall {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
}

export function partsOf(content: unknown, type: string): readonly unknown[] {
  return elementsOf(content, PARTS_LIMIT).filter(part => peek(part, 'type') === type)
}

function textIn(content: unknown): string | undefined {
  return typeof content === 'string'
    ? textOf(content)
    : joinTexts(partsOf(content, 'text').map(part => textOf(peek(part, 'text'))))
}

export function modelToolCallOf(part: unknown): ModelToolCall | undefined {
  const id = idOf(peek(part, 'toolCallId'))
  return id === undefined ? undefined : { id, name: peek(part, 'toolName'), args: peek(part, 'input') }
}

/** The last user message, or the prompt. Parts that are not all text are returned unchanged. */
export function promptOf(data: unknown): unknown {
  const asked = elementsOf(peek(data, 'messages'), SEARCH_LIMIT, 'last').findLast(
    message => peek(message, 'role') === 'user',
  )
  const content = asked === undefined ? peek(data, 'prompt') : peek(asked, 'content')
  const isText = elementsOf(content, PARTS_LIMIT).every(part => peek(part, 'type') === 'text')
  return isText ? (textIn(content) ?? content) : content
}

/**
 * A request as messages. The SDK's tool calls and results are content parts; they are converted only when attributes
 * are built.
 */
export class AiSdkConversation {
  readonly tools: unknown
  readonly #messages: unknown

  constructor(messages: unknown, tools: unknown) {
    this.#messages = messages
    this.tools = tools
  }

  get messages(): readonly unknown[] {
    return elementsOf(this.#messages, MESSAGES_LIMIT, 'last').flatMap(asMessages)
  }
}

function asMessages(message: unknown): readonly unknown[] {
  const content = peek(message, 'content')
  if (!isArray(content)) return [message]
  const results = partsOf(content, 'tool-result').map(part => ({
    role: 'tool',
    tool_call_id: peek(part, 'toolCallId'),
    content: peek(peek(part, 'output'), 'value') ?? peek(part, 'output'),
  }))
  const calls = callsIn(content)
  if (results.length + calls.length === 0) return [message]
  const text = textIn(content)
  const said = { role: peek(message, 'role'), content: text, tool_calls: calls }
  return calls.length > 0 || text !== undefined ? [said, ...results] : results
}

function callsIn(content: unknown): readonly object[] {
  return partsOf(content, 'tool-call').map(part => ({
    id: peek(part, 'toolCallId'),
    name: peek(part, 'toolName'),
    arguments: peek(part, 'input'),
  }))
}

export function answerOf(content: unknown): { readonly response: object; readonly assistant_tool_call_count: number } {
  const calls = callsIn(content)
  const message = { role: 'assistant', content: textIn(content), ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  return { response: { assistant_message: message }, assistant_tool_call_count: calls.length }
}

/** The SDK counts the cache inside the input and reasoning inside the output, for every provider. */
export function tokensOf(usage: unknown): UsageCounts | undefined {
  const input = peek(usage, 'inputTokenDetails')
  return usageOf({
    input: peek(usage, 'inputTokens') ?? peek(usage, 'tokens'),
    output: peek(usage, 'outputTokens'),
    cacheRead: peek(input, 'cacheReadTokens') ?? peek(usage, 'cachedInputTokens'),
    cacheWrite: peek(input, 'cacheWriteTokens'),
    reasoning: peek(peek(usage, 'outputTokenDetails'), 'reasoningTokens') ?? peek(usage, 'reasoningTokens'),
  })
}

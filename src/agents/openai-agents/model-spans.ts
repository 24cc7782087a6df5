import { elementsOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { TokenUsage } from '../base/usage.ts'
import { textOrParts } from './messages.ts'
import { tokensOf } from './usage.ts'

export interface AnswerToolCall {
  readonly id: string
  readonly name: string
  readonly args: string | undefined
}

/** A model span's request. Flat, because spreading is slow and every request builds one. */
export interface ModelSpanRequest {
  readonly model: string | undefined
  readonly input: unknown
  readonly provider: string
  readonly apiMode: string | undefined
  readonly baseUrl: unknown
  readonly toolCount: number | undefined
  readonly parameters: unknown
  readonly maxTokens: unknown
  readonly reasoningEffort: unknown
  readonly instructions: unknown
}

export interface ModelAnswer {
  readonly calls: readonly AnswerToolCall[]
  /** Text, or content parts with text; undefined if the answer has none. */
  readonly text: unknown
  readonly tokens: TokenUsage | undefined
  readonly finishReason: unknown
  readonly model: unknown
  readonly id: unknown
}

const OPENAI = 'openai'
const ITEMS_LIMIT = 200

/** A `generation` span is of chat completions, or of a model behind the SDK's adapters. */
export function isModelSpan(type: string): boolean {
  return type === 'response' || type === 'generation'
}

export function isModelKnown(type: string, data: unknown): boolean {
  return textOf(peek(type === 'response' ? peek(data, '_response') : data, 'model')) !== undefined
}

export function requestOf(type: string, data: unknown): ModelSpanRequest {
  return type === 'response' ? responsesRequest(data) : chatRequest(data)
}

export function answerOf(type: string, data: unknown): ModelAnswer {
  return type === 'response' ? responsesAnswer(data) : chatAnswer(data)
}

/** The Responses API echoes the parameters of a request in its answer. */
function responsesRequest(data: unknown): ModelSpanRequest {
  const response = peek(data, '_response')
  return {
    model: textOf(peek(response, 'model')),
    input: peek(data, '_input') ?? undefined,
    provider: OPENAI,
    apiMode: 'responses',
    baseUrl: undefined,
    // Compatible servers may echo none.
    toolCount: countOf(peek(response, 'tools')) || undefined,
    parameters: response,
    maxTokens: peek(response, 'max_output_tokens') ?? undefined,
    reasoningEffort: peek(peek(response, 'reasoning'), 'effort') ?? undefined,
    instructions: peek(response, 'instructions') ?? undefined,
  }
}

function chatRequest(data: unknown): ModelSpanRequest {
  const config = peek(data, 'model_config')
  const said = textOf(peek(config, 'provider'))
  const named = textOf(peek(data, 'model'))
  const prefix = said === undefined ? '' : `${said}:`
  return {
    model: prefix !== '' && named?.startsWith(prefix) ? named.slice(prefix.length) : named,
    input: peek(data, 'input') ?? undefined,
    // `anthropic.messages` -> `anthropic`
    provider: said?.split('.', 1)[0] ?? OPENAI,
    apiMode: said === undefined ? 'chat_completions' : undefined,
    baseUrl: peek(config, 'base_url') ?? undefined,
    toolCount: undefined,
    parameters: config,
    maxTokens: undefined,
    reasoningEffort: peek(config, 'reasoning_effort') ?? undefined,
    instructions: undefined,
  }
}

function responsesAnswer(data: unknown): ModelAnswer {
  const response = peek(data, '_response')
  const calls: AnswerToolCall[] = []
  const parts: unknown[] = []
  for (const item of elementsOf(peek(response, 'output'), ITEMS_LIMIT)) {
    const type = peek(item, 'type')
    if (type === 'function_call') addCall(calls, item, 'call_id')
    else if (type === 'message') parts.push(...elementsOf(peek(item, 'content'), ITEMS_LIMIT))
  }
  const reason = textOf(peek(peek(response, 'incomplete_details'), 'reason'))
  const done = calls.length > 0 ? 'tool_calls' : 'stop'
  return {
    calls,
    text: textOf(peek(response, 'output_text')) ?? (parts.length === 0 ? undefined : textOrParts(parts)),
    tokens: tokensOf(peek(response, 'usage')),
    finishReason: reason ?? (peek(response, 'status') === 'completed' ? done : undefined),
    model: peek(response, 'model'),
    id: peek(response, 'id') ?? peek(data, 'response_id'),
  }
}

function chatAnswer(data: unknown): ModelAnswer {
  const completion = elementsOf(peek(data, 'output'), 1)[0]
  const choice = elementsOf(peek(completion, 'choices'), 1)[0]
  const message = peek(choice, 'message')
  const calls: AnswerToolCall[] = []
  for (const call of elementsOf(peek(message, 'tool_calls'), ITEMS_LIMIT)) addCall(calls, call, 'id')
  return {
    calls,
    text: textOf(peek(message, 'content')),
    tokens: tokensOf(peek(data, 'usage') ?? peek(completion, 'usage')),
    finishReason: peek(choice, 'finish_reason') ?? undefined,
    model: peek(completion, 'model'),
    id: peek(completion, 'id'),
  }
}

export function answerMessage({ calls, text }: ModelAnswer): object | undefined {
  if (text === undefined && calls.length === 0) return undefined
  return { role: 'assistant', content: text, tool_calls: calls.map(asMessageCall) }
}

function asMessageCall({ id, name, args }: AnswerToolCall): object {
  return { id, name, arguments: args }
}

function addCall(calls: AnswerToolCall[], call: unknown, idKey: string): void {
  const described = peek(call, 'function') ?? call
  const id = textOf(peek(call, idKey))
  const name = textOf(peek(described, 'name'))
  if (id !== undefined && name !== undefined) calls.push({ id, name, args: textOf(peek(described, 'arguments')) })
}

export function countOf(list: unknown): number | undefined {
  if (typeof list === 'string') return 1
  return isArray(list) ? numberOf(peek(list, 'length')) : undefined
}

import { elementsOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { countOf, LazyConversation } from '../base/messages.ts'
import { combineUsage, type UsageCounts, usageOf } from '../base/usage.ts'
import type { LoosePayload } from '../host-event.ts'

/** Searched from the end: the last user message is near it. */
const SEARCH_LIMIT = 50
const MESSAGES_LIMIT = 100

export function promptOf(input: unknown): unknown {
  if (typeof input === 'string') return input
  const asked = elementsOf(input, SEARCH_LIMIT, 'last').findLast(item => peek(item, 'role') === 'user')
  return textOrParts(peek(asked, 'content'))
}

/** Parts that are all text are joined; other parts are returned unchanged. */
function textOrParts(content: unknown): unknown {
  if (!isArray(content)) return content
  const texts = elementsOf(content, MESSAGES_LIMIT).map(
    part => textOf(peek(part, 'text')) ?? textOf(peek(part, 'refusal')),
  )
  return texts.length > 0 && texts.every(text => text !== undefined) ? texts.join('\n') : content
}

function messagesOf(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return elementsOf(input, MESSAGES_LIMIT, 'last').map(asMessage)
}

/** The SDK's tool calls and results are separate items. */
function asMessage(item: unknown): unknown {
  const type = textOf(peek(item, 'type'))
  if (type === 'function_call') {
    const call = { id: callIdOf(item), name: peek(item, 'name'), arguments: peek(item, 'arguments') }
    return { role: 'assistant', tool_calls: [call] }
  }
  if (type === 'function_call_result' || type === 'function_call_output') {
    const output = peek(item, 'output')
    return { role: 'tool', tool_call_id: callIdOf(item), content: textOf(peek(output, 'text')) ?? output }
  }
  return item
}

function callIdOf(item: unknown): unknown {
  return peek(item, 'callId') ?? peek(item, 'call_id')
}

export interface AnswerToolCall {
  readonly id: string
  readonly name: string
  readonly args: string | undefined
}

/** A model span's request. `model`: undefined if the span does not name it yet. */
export interface ModelSpanRequest {
  readonly model: string | undefined
  readonly input: unknown
  readonly facts: RequestFacts
}

type RequestFacts = { -readonly [Field in keyof LoosePayload<'pre_api_request'>]: unknown }

export interface ModelAnswer {
  readonly calls: readonly AnswerToolCall[]
  readonly text: unknown
  readonly tokens: UsageCounts | undefined
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

/** The Responses API echoes the parameters of a request in its answer. Compatible servers may echo none. */
function responsesRequest(data: unknown): ModelSpanRequest {
  const response = peek(data, '_response')
  return spanRequest(textOf(peek(response, 'model')), peek(data, '_input') ?? undefined, response, {
    provider: OPENAI,
    api_mode: 'responses',
    tool_count: countOf(peek(response, 'tools')) || undefined,
    max_tokens: peek(response, 'max_output_tokens') ?? undefined,
    reasoning_effort: peek(peek(response, 'reasoning'), 'effort') ?? undefined,
    system_prompt: peek(response, 'instructions') ?? undefined,
  })
}

function chatRequest(data: unknown): ModelSpanRequest {
  const config = peek(data, 'model_config')
  const said = textOf(peek(config, 'provider'))
  const named = textOf(peek(data, 'model'))
  const prefix = said === undefined ? '' : `${said}:`
  const model = prefix !== '' && named?.startsWith(prefix) ? named.slice(prefix.length) : named
  return spanRequest(model, peek(data, 'input') ?? undefined, config, {
    provider: said?.split('.', 1)[0] ?? OPENAI,
    api_mode: said === undefined ? 'chat_completions' : undefined,
    base_url: peek(config, 'base_url') ?? undefined,
    reasoning_effort: peek(config, 'reasoning_effort') ?? undefined,
  })
}

function spanRequest(model: string | undefined, input: unknown, parameters: unknown, facts: RequestFacts) {
  facts.temperature = peek(parameters, 'temperature') ?? undefined
  facts.top_p = peek(parameters, 'top_p') ?? undefined
  facts.frequency_penalty = peek(parameters, 'frequency_penalty') ?? undefined
  facts.presence_penalty = peek(parameters, 'presence_penalty') ?? undefined
  facts.message_count = typeof input === 'string' ? 1 : countOf(input)
  facts.request = input === undefined ? undefined : new LazyConversation(() => messagesOf(input))
  return { model, input, facts }
}

function responsesAnswer(data: unknown): ModelAnswer {
  const response = peek(data, '_response')
  const calls: AnswerToolCall[] = []
  const parts: unknown[] = []
  for (const item of elementsOf(peek(response, 'output'), ITEMS_LIMIT)) {
    const type = peek(item, 'type')
    if (type === 'function_call') calls.push(...callOf(item, 'call_id'))
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
  return {
    calls: elementsOf(peek(message, 'tool_calls'), ITEMS_LIMIT).flatMap(call => callOf(call, 'id')),
    text: textOf(peek(message, 'content')),
    tokens: tokensOf(peek(data, 'usage') ?? peek(completion, 'usage')),
    finishReason: peek(choice, 'finish_reason') ?? undefined,
    model: peek(completion, 'model'),
    id: peek(completion, 'id'),
  }
}

export function answerMessage({ calls, text }: ModelAnswer): object | undefined {
  if (text === undefined && calls.length === 0) return undefined
  return {
    role: 'assistant',
    content: text,
    tool_calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
  }
}

function callOf(call: unknown, idKey: string): AnswerToolCall[] {
  const described = peek(call, 'function') ?? call
  const [id, name] = [textOf(peek(call, idKey)), textOf(peek(described, 'name'))]
  return id === undefined || name === undefined ? [] : [{ id, name, args: textOf(peek(described, 'arguments')) }]
}

function first(usage: unknown, ...names: readonly string[]): unknown {
  for (const name of names) {
    const value = peek(usage, name)
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

/** The SDK's usage has a list of details, one for each request; the API's has an object. */
function details(usage: unknown, ...names: readonly string[]): unknown {
  const said = first(usage, ...names)
  return elementsOf(said, 1)[0] ?? said
}

export function tokensOf(usage: unknown): UsageCounts | undefined {
  const input = details(usage, 'input_tokens_details', 'prompt_tokens_details', 'inputTokensDetails')
  const made = details(usage, 'output_tokens_details', 'completion_tokens_details', 'outputTokensDetails')
  return usageOf({
    input: first(usage, 'input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokens'),
    output: first(usage, 'output_tokens', 'completion_tokens', 'outputTokens', 'completionTokens'),
    cacheRead: first(input, 'cached_tokens') ?? first(usage, 'cached_input_tokens'),
    cacheWrite: first(input, 'cache_write_tokens') ?? first(usage, 'cache_write_input_tokens'),
    reasoning: first(made, 'reasoning_tokens'),
  })
}

/** Tokens of a loop, without those of agents inside its tools. */
export function loopTokensOf(data: unknown, nested: UsageCounts | undefined): UsageCounts | undefined {
  const all = tokensOf(peek(data, 'usage'))
  return all === undefined || nested === undefined ? all : combineUsage(all, nested, (a, b) => Math.max(0, a - b))
}

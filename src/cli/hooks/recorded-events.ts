import { elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { ModelMessage, ModelUsage, Phase, Phases } from '../../guards/phases.ts'
import { type ToolArguments, type ToolCall, toolCallOf } from '../../guards/tool-call.ts'
import type { ReadRecord } from '../raw-events.ts'

/** The hook event that corresponds to a record. */
export type RecordedEvent = {
  readonly [P in Phase]: {
    readonly phase: P
    readonly event: Phases[P]['event']
    /** The name of the tool or the model. */
    readonly what: string
  }
}[Phase]

/** A phase without enough data in the recording to run hooks. */
export interface Missing {
  readonly phase: Phase
  readonly missing: string
}

export interface RecordedTurn {
  readonly sessionId: string | undefined
  readonly turnId: string | undefined
}

const MAX_ELEMENTS = 10_000
const GOOD = new Set(['ok', 'success', 'completed'])

export function turnOf({ payload }: ReadRecord): RecordedTurn {
  return { sessionId: idOf(peek(payload, 'session_id')), turnId: idOf(peek(payload, 'turn_id')) }
}

/** Builds hook events from records. Remembers tool calls, because their end records often have fewer fields. */
export class RecordedEvents {
  readonly #calls = new Map<string, ToolCall>()

  /** Undefined if no hook would run at this record. */
  of({ hook, payload }: ReadRecord): RecordedEvent | Missing | undefined {
    switch (hook) {
      case 'pre_llm_call':
        return beforeTurn(payload)
      case 'pre_api_request':
        return beforeModel(payload)
      case 'post_api_request':
      case 'api_request_error':
        return afterModel(payload)
      case 'pre_tool_call':
        return this.#beforeTool(payload)
      case 'post_tool_call':
        return this.#afterTool(payload)
      case 'post_llm_call':
        return afterTurn(payload)
      default:
        return undefined
    }
  }

  #beforeTool(payload: unknown): RecordedEvent | Missing {
    const tool = callOf(payload)
    if (tool === undefined) return { phase: 'beforeTool', missing: 'arguments' }
    if (tool.id !== undefined) this.#calls.set(tool.id, tool)
    return { phase: 'beforeTool', event: { tool }, what: tool.name }
  }

  #afterTool(payload: unknown): RecordedEvent | Missing {
    const id = idOf(peek(payload, 'tool_call_id'))
    const tool = callOf(payload) ?? (id === undefined ? undefined : this.#calls.get(id))
    if (id !== undefined) this.#calls.delete(id)
    const result = peek(payload, 'result')
    if (tool === undefined) return { phase: 'afterTool', missing: 'arguments' }
    if (result === undefined) return { phase: 'afterTool', missing: 'result' }
    const status = textOf(peek(payload, 'status'))
    const isError = status === undefined ? textOf(peek(payload, 'error_message')) !== undefined : !GOOD.has(status)
    return { phase: 'afterTool', event: { tool, result, isError, attempt: 0 }, what: tool.name }
  }
}

function beforeTurn(payload: unknown): RecordedEvent | Missing {
  const prompt = textIn(peek(payload, 'user_message'))
  return prompt === undefined
    ? { phase: 'beforeTurn', missing: 'prompt' }
    : { phase: 'beforeTurn', event: { prompt }, what: '' }
}

function afterTurn(payload: unknown): RecordedEvent | Missing {
  const answer = textIn(peek(payload, 'assistant_response'))
  return answer === undefined
    ? { phase: 'afterTurn', missing: 'answer' }
    : { phase: 'afterTurn', event: { answer, attempt: 0 }, what: '' }
}

function beforeModel(payload: unknown): RecordedEvent | Missing {
  const body = peek(peek(payload, 'request'), 'body')
  const given = [peek(payload, 'request_messages'), peek(payload, 'messages'), peek(body, 'messages')].find(isArray)
  if (given === undefined) return { phase: 'beforeModel', missing: 'messages' }
  const model = textOf(peek(body, 'model')) ?? textOf(peek(payload, 'model'))
  const system = textIn(peek(payload, 'system_prompt'))
  const messages: ModelMessage[] = system === undefined ? [] : [{ role: 'system', text: system }]
  messages.push(...elementsOf(given, MAX_ELEMENTS).map(messageOf))
  return { phase: 'beforeModel', event: { model, messages }, what: model ?? '' }
}

function afterModel(payload: unknown): RecordedEvent | Missing {
  const message = peek(peek(payload, 'response'), 'assistant_message')
  const failure = peek(payload, 'error')
  const status = numberOf(peek(payload, 'status_code'))
  if (message === undefined && failure === undefined && status === undefined)
    return { phase: 'afterModel', missing: 'answer' }
  const model = textOf(peek(payload, 'response_model')) ?? textOf(peek(payload, 'model'))
  const event = {
    model,
    text: textIn(peek(message, 'content')) ?? '',
    toolCalls: elementsOf(peek(message, 'tool_calls'), MAX_ELEMENTS).flatMap(each => modelCallOf(each) ?? []),
    attempt: numberOf(peek(payload, 'retry_count')) ?? 0,
    usage: usageOf(payload),
    ...(message === undefined ? { error: errorOf(failure, status) } : {}),
  }
  return { phase: 'afterModel', event, what: model ?? '' }
}

function usageOf(payload: unknown): ModelUsage {
  const [usage, cost] = [peek(payload, 'usage'), peek(payload, 'cost')]
  return {
    inputTokens: numberOf(peek(usage, 'prompt_tokens')),
    outputTokens: numberOf(peek(usage, 'output_tokens')),
    costUsd: numberOf(cost) ?? numberOf(peek(cost, 'total')),
  }
}

function errorOf(failure: unknown, status: number | undefined): NonNullable<Phases['afterModel']['event']['error']> {
  return { type: textOf(peek(failure, 'type')), status, message: textOf(peek(failure, 'message')) ?? textOf(failure) }
}

const ROLES: Readonly<Record<string, ModelMessage['role']>> = {
  system: 'system',
  developer: 'system',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
}

function messageOf(message: unknown): ModelMessage {
  const role = textOf(peek(message, 'role')) ?? ''
  return { role: ROLES[role] ?? 'user', text: textIn(peek(message, 'content')) ?? '' }
}

function callOf(payload: unknown): ToolCall | undefined {
  return namedCall(textOf(peek(payload, 'tool_name')), peek(payload, 'args'), idOf(peek(payload, 'tool_call_id')))
}

/** Reads a tool call in OpenAI's format or in that of other providers. */
function modelCallOf(call: unknown): ToolCall | undefined {
  const inner = peek(call, 'function') ?? call
  const args = peek(inner, 'arguments') ?? peek(inner, 'input')
  return namedCall(textOf(peek(inner, 'name')), args, idOf(peek(call, 'id')))
}

function namedCall(name: string | undefined, given: unknown, id: string | undefined): ToolCall | undefined {
  const args = argumentsIn(given)
  return name === undefined || args === undefined ? undefined : toolCallOf({ name, arguments: args, id })
}

function argumentsIn(given: unknown): ToolArguments | undefined {
  if (typeof given === 'object' && given !== null && !isArray(given)) return given as ToolArguments
  if (typeof given !== 'string') return undefined
  try {
    return argumentsIn(JSON.parse(given) as object)
  } catch {
    return undefined
  }
}

/** A string, or the text parts of a list of content parts. */
function textIn(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!isArray(content)) return undefined
  const texts = elementsOf(content, MAX_ELEMENTS).flatMap(part => textOf(part) ?? textOf(peek(part, 'text')) ?? [])
  return texts.length === 0 ? undefined : texts.join('\n')
}

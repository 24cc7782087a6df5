import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Failure } from './failure.ts'
import type { Moment, TurnIds } from './moment.ts'
import { usageOf } from './usage.ts'

/** A model request that has not been answered to its end. Times are epoch milliseconds. */
interface OpenRequest {
  readonly id: string
  readonly retry: number
  /** Its job, where it is not part of the loop. */
  readonly task: string | undefined
  messageId: string | undefined
  firstAt: number | undefined
  lastAt: number | undefined
}

/** What the model said in a step. */
export interface Answer {
  readonly text: string | undefined
  readonly toolCalls: readonly { readonly id: unknown; readonly name: unknown; readonly arguments: unknown }[]
}

/** The word of the contract for opencode's. */
const TASKS: ReadonlyMap<string, string> = new Map([['compaction', 'compression']])

/** The model requests of a turn. opencode names none of them: each `chat.params` is one, also when it tries again. */
export class Requests {
  readonly #ids: TurnIds
  #calls = 0
  #retries = 0
  #hasFailed = false
  #open: OpenRequest | undefined
  #lastMessageId: string | undefined

  constructor(ids: TurnIds) {
    this.#ids = ids
  }

  /** Whether the last one failed, and nothing was asked since. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Whether the one that is open is a part of the loop. */
  get isMain(): boolean {
    return this.#open !== undefined && this.#open.task === undefined
  }

  /** The request that asked for the tools of this message. */
  idFor(messageId: string | undefined): string | undefined {
    const isKnown = this.#calls > 0 && (this.#lastMessageId ?? messageId) === messageId
    return isKnown ? this.#id() : undefined
  }

  /** `chat.params`. One that is still open is the same request, told again: opencode never asks twice at a time. */
  start({ at, data, output }: Moment, messageId: string | undefined): HookRecord[] {
    if (this.#open !== undefined) return []
    const isRetry = this.#hasFailed && this.#lastMessageId === messageId
    if (!isRetry) this.#calls += 1
    this.#retries = isRetry ? this.#retries + 1 : 0
    this.#hasFailed = false
    this.#lastMessageId = messageId
    const task = TASKS.get(agentOf(data) ?? '')
    this.#open = { id: this.#id(), retry: this.#retries, task, messageId, firstAt: undefined, lastAt: undefined }
    const payload = { ...this.#identity(this.#open), api_call_count: this.#calls, ...requestFacts(data, output) }
    return [
      task === undefined
        ? hookRecord('pre_api_request', at, payload)
        : hookRecord('pre_auxiliary_call', at, { ...payload, aux_task: task }),
    ]
  }

  /** Something of the answer came. */
  sign(at: number, messageId: string | undefined): void {
    if (this.#open === undefined) return
    this.#open.messageId ??= messageId
    this.#lastMessageId ??= messageId
    this.#open.firstAt ??= at
    this.#open.lastAt = at
  }

  /** The step is over. Its tools have run by then, so the request ended with the last thing that the model said. */
  end(at: number, messageId: string | undefined, reason: unknown, step: unknown, answer: Answer): HookRecord[] {
    const open = this.#open
    if (open === undefined || (open.messageId ?? messageId) !== messageId) return []
    this.#open = undefined
    const { text, toolCalls } = answer
    const payload = {
      ...this.#identity(open),
      ended_at: (open.lastAt ?? at) / 1000,
      first_chunk_at: open.firstAt === undefined ? undefined : open.firstAt / 1000,
      finish_reason: textOf(reason),
      usage: usageOf(peek(step, 'tokens')),
      cost: peek(step, 'cost'),
      response: { message: { role: 'assistant', content: text, tool_calls: toolCalls } },
      assistant_content_chars: text?.length,
      assistant_tool_call_count: toolCalls.length,
    }
    return [
      open.task === undefined
        ? hookRecord('post_api_request', at, payload)
        : hookRecord('post_auxiliary_call', at, { ...payload, aux_task: open.task }),
    ]
  }

  /** Whether the one that is open asks for this message, as far as is known. */
  isOf(messageId: string): boolean {
    return (this.#open?.messageId ?? messageId) === messageId
  }

  /** It has ended without a word: what comes after it has begun. */
  untoldEnd(at: number): HookRecord[] {
    const open = this.#open
    if (open === undefined) return []
    this.#open = undefined
    const payload = { ...this.#identity(open), ended_at: (open.lastAt ?? at) / 1000, aux_task: open.task }
    return [hookRecord(open.task === undefined ? 'post_api_request' : 'post_auxiliary_call', at, payload, 'inferred')]
  }

  /** @param willRetry whether opencode says that it tries again */
  fail(at: number, { type, message, statusCode }: Failure, willRetry: boolean): HookRecord[] {
    const open = this.#open
    if (open === undefined) return []
    this.#open = undefined
    this.#hasFailed = true
    const payload = {
      ...this.#identity(open),
      status_code: statusCode,
      retryable: willRetry ? true : undefined,
      error: { type, message },
    }
    return [
      open.task === undefined
        ? hookRecord('api_request_error', at, payload)
        : hookRecord('post_auxiliary_call', at, { ...payload, aux_task: open.task }),
    ]
  }

  #id(): string {
    return `${this.#ids.turn_id}:${this.#calls}`
  }

  #identity({ id, retry }: OpenRequest): TurnIds & { api_request_id: string; retry_count: number } {
    return { ...this.#ids, api_request_id: id, retry_count: retry }
  }
}

/** The agent that asks: its name, in `chat.params` of all versions that are known. */
export function agentOf(data: unknown): string | undefined {
  const agent = peek(data, 'agent')
  return textOf(agent) ?? textOf(peek(agent, 'name'))
}

/** What `chat.params` tells of a request. */
export function requestFacts(data: unknown, output: unknown): Readonly<Record<string, unknown>> {
  const model = peek(data, 'model')
  const options = peek(output, 'options')
  return {
    model: peek(model, 'id'),
    provider: peek(model, 'providerID') ?? idOf(peek(peek(data, 'provider'), 'id')),
    base_url:
      textOf(peek(peek(peek(data, 'provider'), 'options'), 'baseURL')) ?? textOf(peek(peek(model, 'api'), 'url')),
    max_tokens: numberOf(peek(output, 'maxOutputTokens')),
    temperature: numberOf(peek(output, 'temperature')),
    top_p: numberOf(peek(output, 'topP')),
    top_k: numberOf(peek(output, 'topK')),
    reasoning_effort: textOf(peek(options, 'reasoningEffort')),
    stream: true,
  }
}

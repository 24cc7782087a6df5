import { elementsOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import type { FailureFound, ResponseFound, Whose } from './types.ts'

const BLOCKS_LIMIT = 1000
const INTERRUPTED = '[Request interrupted by user'
const STOP_FEEDBACK = 'Stop hook feedback:'

export function isOfStop(line: unknown): boolean {
  return isFeedback(line) || peek(line, 'subtype') === 'stop_hook_summary'
}

export function isFeedback(line: unknown): boolean {
  if (peek(line, 'type') !== 'user' || peek(line, 'isMeta') !== true) return false
  return firstText(peek(peek(line, 'message'), 'content'))?.startsWith(STOP_FEEDBACK) ?? false
}

/** Returns true for a message that Claude Code itself wrote in place of a model. */
export function isSynthetic(line: unknown): boolean {
  return peek(peek(line, 'message'), 'model') === '<synthetic>'
}

export function isInterruption(line: unknown): boolean {
  return firstText(peek(peek(line, 'message'), 'content'))?.startsWith(INTERRUPTED) ?? false
}

function firstText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  return elementsOf(content, BLOCKS_LIMIT)
    .map(block => textOf(peek(block, 'text')))
    .find(text => text !== undefined)
}

/** An answer that is being written, with one line for each of its blocks. */
export interface Answer {
  readonly id: string
  readonly promptId: string | undefined
  readonly startedAt: number | undefined
  readonly isGuessed: boolean
  readonly model: unknown
  readonly content: unknown[]
  stopReason: unknown
  usage: unknown
  endedAt: number
}

interface Beginning {
  readonly id: string
  readonly promptId: string | undefined
  /** When the request was sent, if the transcript records it. */
  readonly sentAt: number | undefined
  /** Time of the last prompt or tool result. */
  readonly askedAt: number | undefined
  readonly at: number
}

/** @param line the first line of the answer */
export function newAnswer(line: unknown, { id, promptId, sentAt, askedAt, at }: Beginning): Answer {
  return {
    id,
    promptId,
    startedAt: sentAt ?? askedAt,
    isGuessed: sentAt === undefined,
    model: peek(peek(line, 'message'), 'model'),
    content: [],
    stopReason: undefined,
    usage: undefined,
    endedAt: at,
  }
}

export function responseOf(answer: Answer): Omit<ResponseFound, keyof Whose> {
  return {
    message_id: answer.id,
    model: answer.model,
    stop_reason: answer.stopReason,
    usage: answer.usage,
    content: answer.content,
    started_at: answer.startedAt,
    start_is_guessed: answer.isGuessed || undefined,
    ended_at: answer.endedAt,
  }
}

export function failureOf(
  line: unknown,
): Pick<FailureFound, 'status' | 'error' | 'message' | 'retry_in_ms' | 'max_retries'> {
  const { error, said } = errorOf(line)
  return {
    status: peek(line, 'apiErrorStatus') ?? peek(peek(line, 'error'), 'status'),
    error,
    message: said,
    retry_in_ms: peek(line, 'retryInMs'),
    max_retries: peek(line, 'maxRetries'),
  }
}

function errorOf(line: unknown): { readonly error: unknown; readonly said: string | undefined } {
  const error = peek(line, 'error')
  if (peek(line, 'type') === 'assistant') return { error, said: firstText(peek(peek(line, 'message'), 'content')) }
  // Uses the same error kinds as the last attempt, derived from the status.
  const status = Number(peek(error, 'status'))
  return {
    error: status >= 500 ? 'server_error' : status === 429 ? 'rate_limit' : 'unknown',
    said: textOf(peek(error, 'formatted')),
  }
}

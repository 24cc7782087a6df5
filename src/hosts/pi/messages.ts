import { elementsOf, numberOf, peek, textOf } from '../../contract/foreign.ts'

const PARTS_LIMIT = 100
/** What a provider's error begins with: the status is in there, and what follows may be a page. */
const ERROR_HEAD = 160
/** "500: …", "500 {…}", "OpenAI API error (500): …": what Pi makes of the errors of its model clients. */
const STATUS = /^\s*([1-5]\d\d)\b|\(([1-5]\d\d)\)/

/** Errors without a status that Pi tries again: the connection failed, not the request. */
const PASSING = ['connection', 'network', 'fetch failed', 'socket', 'terminated', 'timeout', 'timed out', 'overloaded']
/** Limits of an account: Pi does not try again, whatever the status. */
const LASTING = ['insufficient_quota', 'quota exceeded', 'billing', 'usagelimiterror']
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 429])

/** The text of a message or of a tool's result: of several parts, joined. Undefined where there is none. */
export function plainText(content: unknown): string | undefined {
  if (typeof content === 'string') return textOf(content)
  const parts = elementsOf(content, PARTS_LIMIT)
  if (parts.length === 1) return textOf(peek(parts[0], 'text'))
  const texts = parts.map(part => textOf(peek(part, 'text'))).filter(text => text !== undefined)
  return texts.length === 0 ? undefined : texts.join('\n')
}

export interface ToolCallPart {
  readonly id: unknown
  readonly name: unknown
  readonly arguments: unknown
}

export function toolCallsOf(content: unknown): ToolCallPart[] {
  return elementsOf(content, PARTS_LIMIT)
    .filter(part => peek(part, 'type') === 'toolCall')
    .map(part => ({ id: peek(part, 'id'), name: peek(part, 'name'), arguments: peek(part, 'arguments') }))
}

/** Pi counts the cache outside the input, and reasoning inside the output. */
export function usageOf(usage: unknown): Readonly<Record<string, number>> | undefined {
  const input = numberOf(peek(usage, 'input'))
  const output = numberOf(peek(usage, 'output'))
  if (input === undefined && output === undefined) return undefined
  const cacheRead = numberOf(peek(usage, 'cacheRead')) ?? 0
  const cacheWrite = numberOf(peek(usage, 'cacheWrite')) ?? 0
  return {
    prompt_tokens: (input ?? 0) + cacheRead + cacheWrite,
    output_tokens: output ?? 0,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    reasoning_tokens: numberOf(peek(usage, 'reasoning')) ?? 0,
  }
}

export interface RequestFailure {
  readonly statusCode: number | undefined
  /** Whether Pi tries such an error again, as far as its first words tell. */
  readonly retryable: boolean | undefined
}

/** What the text of an error tells: Pi gives no status and no kind beside it. */
export function failureOf(errorMessage: unknown): RequestFailure {
  const head = typeof errorMessage === 'string' ? errorMessage.slice(0, ERROR_HEAD) : ''
  const [, leading, inBrackets] = STATUS.exec(head) ?? []
  const statusCode = numberOf(leading ?? inBrackets)
  return { statusCode, retryable: isRetryable(head.toLowerCase(), statusCode) }
}

function isRetryable(head: string, status: number | undefined): boolean | undefined {
  if (LASTING.some(word => head.includes(word))) return false
  if (status !== undefined) return status >= 500 || RETRYABLE_STATUS.has(status)
  return PASSING.some(word => head.includes(word)) || undefined
}

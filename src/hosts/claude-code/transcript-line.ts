import { elementsOf, isArray, peek, textOf } from '../../contract/foreign.ts'

const BLOCKS_LIMIT = 1000
const INTERRUPTED = '[Request interrupted by user'
const STOP_FEEDBACK = 'Stop hook feedback:'

/** What the hooks of `Stop` have said. */
export function isOfStop(line: unknown): boolean {
  return isFeedback(line) || peek(line, 'subtype') === 'stop_hook_summary'
}

export function isFeedback(line: unknown): boolean {
  if (peek(line, 'type') !== 'user' || peek(line, 'isMeta') !== true) return false
  return firstText(peek(peek(line, 'message'), 'content'))?.startsWith(STOP_FEEDBACK) ?? false
}

/** Written by Claude Code itself, in place of a model. */
export function isSynthetic(line: unknown): boolean {
  return peek(peek(line, 'message'), 'model') === '<synthetic>'
}

/** A person has stopped the turn. */
export function isInterruption(line: unknown): boolean {
  return firstText(peek(peek(line, 'message'), 'content'))?.startsWith(INTERRUPTED) ?? false
}

function firstText(content: unknown): string | undefined {
  if (!isArray(content)) return textOf(content)
  return elementsOf(content, BLOCKS_LIMIT)
    .map(block => textOf(peek(block, 'text')))
    .find(text => text !== undefined)
}

export function errorOf(line: unknown): { readonly error: unknown; readonly said: string | undefined } {
  const error = peek(line, 'error')
  if (peek(line, 'type') === 'assistant') return { error, said: firstText(peek(peek(line, 'message'), 'content')) }
  // As the last attempt is named: by the kind, where the status says it.
  const status = Number(peek(error, 'status'))
  return {
    error: status >= 500 ? 'server_error' : status === 429 ? 'rate_limit' : 'unknown',
    said: textOf(peek(error, 'formatted')),
  }
}

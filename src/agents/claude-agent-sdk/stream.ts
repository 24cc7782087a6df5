import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { tokensOf } from '../base/anthropic-usage.ts'
import { beginAttempt, endAttempt } from './requests.ts'
import type { Attempt, Loop } from './session.ts'
import { larger } from './usage.ts'

/**
 * Handles events of the model's stream, which require `includePartialMessages`. They contain the times of the request and the
 * first chunk, and the final usage.
 */
export function streamEvent(loop: Loop, at: number, data: unknown): void {
  const event = peek(data, 'event')
  const type = peek(event, 'type')
  if (type === 'message_start') began(loop, at, data, peek(event, 'message'))
  else if (type === 'message_delta') changed(answering(loop, data), event)
  else if (type === 'message_stop') ended(loop, at, answering(loop, data))
}

function began(loop: Loop, at: number, data: unknown, message: unknown): void {
  const id = idOf(peek(message, 'id'))
  if (id === undefined || loop.told.includes(id) || loop.open.some(attempt => attempt.messageId === id)) return
  const model = textOf(peek(message, 'model'))
  const untilFirstChunk = numberOf(peek(data, 'ttft_ms'))
  const sentAt = untilFirstChunk === undefined ? undefined : at - Math.max(0, untilFirstChunk)
  const waiting = loop.open.find(open => open.endAt === undefined && open.messageId === undefined)
  const attempt = waiting ?? beginAttempt(loop, at, { model, sentAt })
  loop.requests.failures = 0
  attempt.messageId = id
  attempt.model = model ?? attempt.model
  attempt.firstChunkAt = at
  attempt.endAt = at
  attempt.tokens = tokensOf(peek(message, 'usage')) ?? attempt.tokens
}

/** Finds the attempt of the current answer, by its id in newer SDK versions. */
function answering(loop: Loop, data: unknown): Attempt | undefined {
  const id = idOf(peek(data, 'api_message_id'))
  return loop.open.findLast(open => (id === undefined ? open.firstChunkAt !== undefined : open.messageId === id))
}

function changed(attempt: Attempt | undefined, event: unknown): void {
  if (attempt === undefined) return
  attempt.stopReason = textOf(peek(peek(event, 'delta'), 'stop_reason')) ?? attempt.stopReason
  const tokens = tokensOf(peek(event, 'usage'))
  if (tokens === undefined) return
  attempt.tokens = larger(tokens, attempt.tokens)
  attempt.isExact = true
}

function ended(loop: Loop, at: number, attempt: Attempt | undefined): void {
  if (attempt === undefined) return
  attempt.endAt = at
  if (attempt.isExact) endAttempt(loop, attempt)
}

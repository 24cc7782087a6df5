import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainText, wrapJson } from '../base/messages.ts'
import type { TurnResult } from '../base/records.ts'
import type { Tool } from '../base/tool.ts'
import { type ClaudeCall, type ClaudeLoop, DELEGATING } from './session.ts'

/** Prefixes of results: the call could not be made (unknown tool, invalid input), or the user, a rule or a mode denied it. */
const IMPOSSIBLE = '<tool_use_error>'
const REFUSED =
  /^(?:Permission to use .{1,300} has been denied|Claude requested permissions to |The user doesn't want to (?:proceed|take))/s
export const LAUNCHED = 'Async agent launched'

export function handlePreToolUse(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = callOfHook(loop, at, data)
  if (call !== undefined) startCall(call, at)
}

function callOfHook(loop: ClaudeLoop, at: number, data: unknown): ClaudeCall | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = loop.session.callOf(loop, id, at)
  call.describe(peek(data, 'tool_name'), peek(data, 'tool_input'))
  return call
}

export function startCall(call: ClaudeCall, at: number, correlation?: 'inferred'): void {
  if (call.state !== 'asked') return
  call.turn.beforeTool(call, at)
  call.startAt = at
  call.emitStart(correlation)
}

interface CallEnd {
  readonly status: 'completed' | 'error' | 'blocked' | 'cancelled'
  readonly result?: unknown
  readonly durationMillis?: number | undefined
  readonly message?: string | undefined
  /** The start of a call for which no start hook was received. */
  readonly startAt?: number | undefined
  readonly isInferred?: boolean
}

export function endCall(call: ClaudeCall, at: number, end: CallEnd): void {
  if (call.state === 'ended') return
  const { status, result, durationMillis = 0, message, startAt = at - durationMillis, isInferred } = end
  const correlation = isInferred === true ? 'inferred' : undefined
  startCall(call, Math.min(startAt, at), correlation)
  call.turn.calls.delete(call)
  // Frees the input, which may be large; a child that is resumed needs that of its call.
  if (!DELEGATING.has(call.name)) call.args = undefined
  const endAt = Math.max(at, call.startAt)
  call.approval?.emitResponse(endAt - durationMillis, status === 'blocked' ? 'deny' : 'once', 'inferred')
  // Left undefined so that the core reads the status from the result, for example `async_launched`.
  const reported = status === 'completed' ? undefined : status
  const facts = { result, status: reported, duration_ms: end.durationMillis, error_message: message }
  call.emitEnd(endAt, facts, correlation)
}

export function handleToolEnd(loop: ClaudeLoop, at: number, data: unknown): ClaudeCall | undefined {
  const call = callOfHook(loop, at, data)
  if (call === undefined || call.state === 'ended') return undefined
  const durationMillis = numberOf(peek(data, 'duration_ms'))
  const message = textOf(peek(data, 'error'))
  const result = peek(data, 'tool_response')
  const hasFailed =
    peek(data, 'hook_event_name') === 'PostToolUseFailure' || (message !== undefined && result === undefined)
  const startAt = durationMillis === undefined ? call.startAt : undefined
  const failure = peek(data, 'is_interrupt') === true ? 'cancelled' : 'error'
  if (hasFailed) endCall(call, at, { status: failure, result: message, durationMillis, message })
  else endCall(call, at, { status: 'completed', result, durationMillis, startAt })
  return call
}

export function handleFoundResult(loop: ClaudeLoop, at: number, data: unknown): ClaudeCall | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const { session } = loop
  // A call in no known answer belongs to an earlier turn: the file is being read again.
  if (!session.calls.has(id) && !session.requestedCalls.has(id)) return undefined
  const call = session.callOf(loop, id, at)
  if (call.state === 'ended') return undefined
  const response = peek(data, 'response')
  const status = statusOf(data, response)
  const startedAt = numberOf(peek(data, 'started_at'))
  const isRun = status !== 'blocked' && !isImpossible(response)
  if (call.state === 'asked') call.startAt = startedAt ?? (isRun ? call.startAt : at)
  const message = status === 'error' ? textOf(response) : undefined
  const isInferred = isRun && startedAt === undefined
  endCall(call, at, { status, result: resultOf(response), message, startAt: call.startAt, isInferred })
  return call
}

function statusOf(data: unknown, response: unknown): CallEnd['status'] {
  const denial = peek(data, 'denial')
  if (denial !== undefined) return denial === 'interrupted' || denial === 'cancelled' ? 'cancelled' : 'blocked'
  return peek(data, 'is_error') === true || isImpossible(response) ? 'error' : 'completed'
}

function isImpossible(response: unknown): boolean {
  return textOf(response)?.startsWith(IMPOSSIBLE) ?? false
}

function resultOf(response: unknown): unknown {
  const text = plainText(response)
  if (text === undefined) return response
  if (text.startsWith(LAUNCHED)) return { status: 'async_launched', content: text }
  return wrapJson(text, { content: text })
}

export function handlePermissionDenied(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = callOfHook(loop, at, data)
  const result = textOf(peek(data, 'message')) ?? textOf(peek(data, 'reason'))
  if (call !== undefined) endCall(call, at, { status: 'blocked', result })
}

/**
 * Handles `PostToolBatch`: all tools of one answer have ended. Denied and unknown tools fire no other hook. Other calls still
 * open are left to the transcript: the hook of their end may have timed out.
 */
export function handleToolBatch(loop: ClaudeLoop, at: number, data: unknown): void {
  for (const one of elementsOf(peek(data, 'tool_calls'))) {
    const call = callOfHook(loop, at, one)
    if (call === undefined || call.state === 'ended') continue
    const result = peek(one, 'tool_response')
    const text = plainText(result)
    const isBlocked = call.isDenied || (text !== undefined && REFUSED.test(text))
    if (isImpossible(text)) endCall(call, at, { status: 'error', result, message: text })
    else if (isBlocked) endCall(call, at, { status: 'blocked', result })
    else call.batchEnd = { at, result }
  }
}

/** Ends the remaining calls of a loop. Calls whose results were sent to the model had ended before. */
export function endRemainingCalls(loop: ClaudeLoop, at: number, outcome: TurnResult): void {
  for (const call of [...loop.calls]) {
    const { batchEnd, sentOnAt } = call
    const endAt = batchEnd?.at ?? sentOnAt ?? (outcome === 'completed' ? at : undefined)
    // An approval without a response was denied; otherwise a hook would have reported the call's end.
    const isRefused = batchEnd !== undefined && call.approval?.isAnswered === false
    if (endAt !== undefined && (call.state === 'running' || batchEnd !== undefined)) {
      const status = isRefused ? 'blocked' : 'completed'
      const result = resultOf(batchEnd?.result)
      endCall(call, endAt, { status, result, startAt: call.startAt, isInferred: !isRefused })
    } else if (call.state === 'running') endCall(call, at, { status: 'cancelled' })
    loop.calls.delete(call)
  }
}

export function handlePermissionRequest(loop: ClaudeLoop, at: number, data: unknown): void {
  const command = textOf(peek(peek(data, 'tool_input'), 'command'))
  const isSame = (args: unknown, input: unknown): boolean => JSON.stringify(args) === JSON.stringify(input)
  callToApprove(loop.calls, data, isSame)?.requestApproval(at, { command, surface: 'PermissionRequest' }, 'inferred')
}

/**
 * Returns the call of a `PermissionRequest`. The hook has no call id, so the newest running call of the same name and input without
 * an approval is used.
 */
export function callToApprove(
  calls: Iterable<Tool>,
  data: unknown,
  fits: (args: unknown, input: unknown) => boolean,
): Tool | undefined {
  const name = textOf(peek(data, 'tool_name'))
  const running = [...calls].filter(call => call.state === 'running' && call.name === name)
  const alike = running.filter(({ args }) => fits(args, peek(data, 'tool_input')))
  return (alike.length > 0 ? alike : running).findLast(({ approval }) => approval === undefined)
}

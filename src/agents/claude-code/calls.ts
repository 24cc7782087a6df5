import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plainText, wrapJson } from '../base/messages.ts'
import type { TurnResult } from '../base/records.ts'
import { type ClaudeCall, type ClaudeLoop, DELEGATING } from './session.ts'

/** Prefixes of results: the call could not be made (unknown tool, invalid input), or the user, a rule or a mode denied it. */
const IMPOSSIBLE = '<tool_use_error>'
const REFUSED =
  /^(?:Permission to use .{1,300} has been denied|Claude requested permissions to |The user doesn't want to (?:proceed|take))/s
export const LAUNCHED = 'Async agent launched'

export function handlePreToolUse(loop: ClaudeLoop, at: number, data: unknown): ClaudeCall | undefined {
  const call = callOfHook(loop, at, data)
  if (call !== undefined) startCall(call, at)
  return call
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
  startCall(call, Math.min(startAt, at), isInferred === true ? 'inferred' : undefined)
  call.turn.calls.delete(call)
  // Frees the input, which may be large; a child that is resumed needs that of its call.
  if (!DELEGATING.has(call.name)) call.args = undefined
  const endAt = Math.max(at, call.startAt)
  call.approval?.emitResponse(endAt - durationMillis, status === 'blocked' ? 'deny' : 'once', 'inferred')
  call.emitEnd(
    endAt,
    {
      result,
      // Left undefined so that the core reads the status from the result, for example `async_launched`.
      status: status === 'completed' ? undefined : status,
      duration_ms: end.durationMillis,
      error_message: message,
    },
    isInferred === true ? 'inferred' : undefined,
  )
}

export function handleToolEnd(loop: ClaudeLoop, at: number, data: unknown): ClaudeCall | undefined {
  const call = callOfHook(loop, at, data)
  if (call === undefined || call.state === 'ended') return undefined
  const durationMillis = numberOf(peek(data, 'duration_ms'))
  const message = textOf(peek(data, 'error'))
  const result = peek(data, 'tool_response')
  const hasFailed =
    peek(data, 'hook_event_name') === 'PostToolUseFailure' || (message !== undefined && result === undefined)
  if (!hasFailed) {
    const startAt = durationMillis === undefined ? call.startAt : undefined
    endCall(call, at, { status: 'completed', result, durationMillis, startAt })
  } else {
    const status = peek(data, 'is_interrupt') === true ? 'cancelled' : 'error'
    endCall(call, at, { status, result: message, durationMillis, message })
  }
  return call
}

const STOPPED: ReadonlySet<unknown> = new Set(['interrupted', 'cancelled'])

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
  if (denial !== undefined) return STOPPED.has(denial) ? 'cancelled' : 'blocked'
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
    const status = isImpossible(text) ? 'error' : isBlocked ? 'blocked' : undefined
    if (status === undefined) {
      call.batchEnd = { at, result }
      continue
    }
    endCall(call, at, { status, result, message: status === 'error' ? text : undefined })
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
      endCall(call, endAt, {
        status,
        result: resultOf(batchEnd?.result),
        startAt: call.startAt,
        isInferred: !isRefused,
      })
    } else if (call.state === 'running') endCall(call, at, { status: 'cancelled' })
    loop.calls.delete(call)
  }
}

/**
 * Handles `PermissionRequest`. The hook has no call id, so the newest running call of the same name and input without an approval
 * is used.
 */
export function handlePermissionRequest(loop: ClaudeLoop, at: number, data: unknown): void {
  const name = textOf(peek(data, 'tool_name'))
  const input = peek(data, 'tool_input')
  const running = [...loop.calls].filter(call => call.state === 'running' && call.name === name)
  const alike = running.filter(({ args }) => JSON.stringify(args) === JSON.stringify(input))
  const call = (alike.length > 0 ? alike : running).findLast(({ approval }) => approval === undefined)
  call?.requestApproval(at, { command: textOf(peek(input, 'command')), surface: 'PermissionRequest' }, 'inferred')
}

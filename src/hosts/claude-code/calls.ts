import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import type { Call, Loop } from './session.ts'

const BATCH_LIMIT = 1000
/** How the result of a call begins that could not even be made: the tool is unknown, its input is wrong. */
const IMPOSSIBLE = '<tool_use_error>'

/** `PreToolUse`. */
export function toolStarted(loop: Loop, at: number, data: unknown): void {
  const call = callIn(loop, at, data)
  if (call !== undefined) startCall(call, at)
}

function callIn(loop: Loop, at: number, data: unknown): Call | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = loop.session.callOf(loop, id, at)
  call.name ??= textOf(peek(data, 'tool_name'))
  call.args ??= peek(data, 'tool_input')
  return call
}

function startCall(call: Call, at: number): void {
  if (call.state !== 'asked') return
  call.turn.tellPrompt()
  call.startAt = at
  call.tellStart()
}

interface CallEnd {
  readonly status: 'completed' | 'error' | 'blocked' | 'cancelled'
  readonly result?: unknown
  readonly durationMillis?: number | undefined
  readonly message?: string | undefined
}

function endCall(call: Call, at: number, { status, result, durationMillis, message }: CallEnd): void {
  if (call.state === 'ended') return
  startCall(call, at - (durationMillis ?? 0))
  call.turn.calls.delete(call)
  call.approval?.answer(at - (durationMillis ?? 0), status === 'blocked' ? 'deny' : 'once', 'inferred')
  call.tellEnd(at, {
    result,
    // A result that says more than that it is there, such as `async_launched`, is asked itself.
    status: status === 'completed' ? undefined : status,
    duration_ms: durationMillis,
    error_message: message,
  })
}

/** `PostToolUse`, `PostToolUseFailure`. */
export function toolEnded(loop: Loop, at: number, data: unknown): Call | undefined {
  const call = callIn(loop, at, data)
  if (call === undefined) return undefined
  const durationMillis = numberOf(peek(data, 'duration_ms'))
  const message = textOf(peek(data, 'error'))
  const hasFailed = peek(data, 'hook_event_name') === 'PostToolUseFailure'
  if (!hasFailed) endCall(call, at, { status: 'completed', result: peek(data, 'tool_response'), durationMillis })
  else {
    const status = peek(data, 'is_interrupt') === true ? 'cancelled' : 'error'
    endCall(call, at, { status, result: message, durationMillis, message })
  }
  return call
}

/** `PermissionDenied`. */
export function toolDenied(loop: Loop, at: number, data: unknown): void {
  const call = callIn(loop, at, data)
  if (call !== undefined) endCall(call, at, { status: 'blocked', result: textOf(peek(data, 'reason')) })
}

/**
 * `PostToolBatch`: all tools of one answer are over. No other hook tells of those that were refused, nor of those that do
 * not exist, which have not even begun.
 */
export function batchOver(loop: Loop, at: number, data: unknown): void {
  for (const one of elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT)) {
    const call = callIn(loop, at, one)
    if (call === undefined || call.state === 'ended') continue
    const result = peek(one, 'tool_response')
    const isImpossible = textOf(result)?.startsWith(IMPOSSIBLE) ?? false
    if (isImpossible) endCall(call, at, { status: 'error', result, message: textOf(result) })
    // Its start was not told, so nor would its end have been.
    else endCall(call, at, { status: call.state === 'running' ? 'blocked' : 'completed', result })
  }
}

/** The loop is over, and nothing more will come of these. */
export function cancelCalls(loop: Loop, at: number): void {
  for (const call of [...loop.calls]) {
    if (call.state === 'running') endCall(call, at, { status: 'cancelled' })
    loop.calls.delete(call)
  }
}

/** `PermissionRequest`. It does not say which call it is about: it is the newest of that name and input that waits. */
export function askApproval(loop: Loop, at: number, data: unknown): void {
  const name = textOf(peek(data, 'tool_name'))
  const input = peek(data, 'tool_input')
  const running = [...loop.calls].filter(call => call.state === 'running' && call.name === name)
  const alike = running.filter(({ args }) => JSON.stringify(args) === JSON.stringify(input))
  const call = (alike.length > 0 ? alike : running).findLast(({ approval }) => approval === undefined)
  if (call === undefined) return
  call.approval = new Approval(loop, call.id, name, at)
  const command = textOf(peek(input, 'command'))
  call.approval.ask({ command, surface: 'PermissionRequest' }, 'inferred')
}

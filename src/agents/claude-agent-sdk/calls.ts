import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import { attemptOfTool, tellPrompt } from './requests.ts'
import type { Call, Loop, Session } from './session.ts'

const BATCH_LIMIT = 1000

/** Handles `PreToolUse`. */
export function toolStarted(loop: Loop, at: number, data: unknown): Call | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = loop.session.callOf(loop, id)
  call.name = textOf(peek(data, 'tool_name')) ?? call.name
  call.args = peek(data, 'tool_input') ?? call.args
  startCall(call, at)
  return call
}

function startCall(call: Call, at: number): void {
  if (call.state !== 'asked') return
  call.requestId ??= attemptOfTool(call.turn, at)?.id
  tellPrompt(call.turn)
  call.startAt = at
  call.emitStart()
}

interface CallEnd {
  readonly status: 'completed' | 'error' | 'blocked' | 'cancelled'
  readonly result?: unknown
  readonly durationMillis?: number | undefined
  readonly message?: string | undefined
}

function endCall(call: Call, at: number, { status, result, durationMillis, message }: CallEnd): void {
  if (call.state === 'ended') return
  startCall(call, at)
  call.args = undefined
  call.approval?.emitResponse(at - (durationMillis ?? 0), status === 'blocked' ? 'deny' : 'once', 'inferred')
  call.emitEnd(at, {
    result,
    // Left undefined so that the core reads the status from the result, for example `async_launched`.
    status: status === 'completed' ? undefined : status,
    duration_ms: durationMillis,
    error_message: message,
  })
}

/** Handles `PostToolUse` and `PostToolUseFailure`. */
export function toolEnded(loop: Loop, at: number, data: unknown): Call | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = loop.session.callOf(loop, id)
  call.name ??= textOf(peek(data, 'tool_name'))
  call.args ??= peek(data, 'tool_input')
  const durationMillis = numberOf(peek(data, 'duration_ms'))
  const message = textOf(peek(data, 'error'))
  const result = peek(data, 'tool_response')
  const hasFailed =
    peek(data, 'hook_event_name') === 'PostToolUseFailure' || (message !== undefined && result === undefined)
  if (!hasFailed) endCall(call, at, { status: 'completed', result, durationMillis })
  else {
    const status = peek(data, 'is_interrupt') === true ? 'cancelled' : 'error'
    endCall(call, at, { status, result: message, durationMillis, message })
  }
  return call
}

/** Handles `PermissionDenied` and the equivalent message. */
export function toolDenied(loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return
  const call = loop.session.callOf(loop, id)
  call.name ??= textOf(peek(data, 'tool_name'))
  call.isDenied = true
  const result = textOf(peek(data, 'message')) ?? textOf(peek(data, 'reason'))
  endCall(call, at, { status: 'blocked', result })
}

/** Handles results as sent to the model. They are the only report of a call that was denied or could not be made. */
export function toolResults(session: Session, at: number, data: unknown): void {
  const meta = elementsOf(peek(data, 'tool_result_meta'), BATCH_LIMIT)
  for (const block of elementsOf(peek(peek(data, 'message'), 'content'), BATCH_LIMIT)) {
    const call = peek(block, 'type') === 'tool_result' ? callOf(session, block) : undefined
    if (call === undefined || call.state === 'ended') continue
    const said = meta.find(one => idOf(peek(one, 'id')) === call.id)
    const result = peek(block, 'content')
    const isRefused =
      call.isDenied ||
      peek(said, 'non_execution_kind') !== undefined ||
      peek(peek(said, 'permission_decision'), 'decision') === 'reject'
    if (isRefused) endCall(call, at, { status: 'blocked', result })
    else if (peek(block, 'is_error') !== true) endCall(call, at, { status: 'completed', result })
    else endCall(call, at, { status: 'error', result, message: textOf(result) })
  }
}

function callOf(session: Session, value: unknown): Call | undefined {
  return session.call(idOf(peek(value, 'tool_use_id')))
}

/**
 * Handles `PostToolBatch`, which the next request follows. A call still open was denied or failed; a later message shows which.
 */
export function toolsOver(loop: Loop, at: number, data: unknown): void {
  loop.askedAt = at
  for (const one of elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT)) {
    const call = callOf(loop.session, one)
    if (call === undefined || call.state === 'ended') continue
    const response = peek(one, 'tool_response')
    if (call.isDenied) endCall(call, at, { status: 'blocked', result: response })
    else call.batched = { at, response }
  }
}

export function endCalls(loop: Loop, at: number, denied?: ReadonlySet<string>): void {
  for (const call of loop.calls) {
    loop.session.calls.delete(call.id)
    if (call.state !== 'running') continue
    const { batched } = call
    const result = batched?.response
    if (call.isDenied || denied?.has(call.id)) endCall(call, batched?.at ?? at, { status: 'blocked', result })
    else if (batched === undefined) endCall(call, at, { status: 'cancelled' })
    else endCall(call, batched.at, { status: 'error', result, message: textOf(result) })
  }
  loop.calls.clear()
}

/** Handles `canUseTool`, and `PermissionRequest` if the host decides by itself. */
export function askApproval(call: Call, at: number, surface: string, details: unknown): void {
  if (call.approval !== undefined || call.state === 'ended') return
  const input = call.args ?? peek(details, 'i') ?? peek(details, 'tool_input')
  call.approval = new Approval(call.turn, call.id, call.name, at)
  call.approval.emitRequest({
    command: textOf(peek(input, 'command')),
    description: textOf(peek(details, 'title')) ?? textOf(peek(details, 'description')),
    surface,
  })
}

/** Handles the response of `canUseTool`. */
export function approvalAnswered(call: Call, at: number, data: unknown): void {
  const result = peek(data, 'r')
  const behavior = peek(result, 'behavior')
  // Null: the response takes another path, and the decision follows from the tool's end.
  if (result === null) return
  const answer = (choice: string): void => call.approval?.emitResponse(at, choice, undefined, 'canUseTool')
  if (behavior === 'allow') {
    answer(grantOf(peek(result, 'updatedPermissions')))
    return
  }
  call.isDenied = true
  if (peek(result, 'interrupt') === true) call.turn.isInterrupted = true
  answer(behavior === 'deny' ? 'deny' : 'error')
}

/** Permission rules in the response make the grant last: for the session, or permanently. */
function grantOf(updates: unknown): 'once' | 'session' | 'always' {
  const rules = elementsOf(updates, BATCH_LIMIT)
  if (rules.length === 0) return 'once'
  return rules.every(rule => peek(rule, 'destination') === 'session') ? 'session' : 'always'
}

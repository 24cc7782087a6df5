import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { hookRecord } from '../host-event.ts'
import { attemptOfTool, tellPrompt } from './requests.ts'
import { type Call, idsOf, type Loop, newCall, type Out, type Session } from './session.ts'

const BATCH_LIMIT = 1000

/** `PreToolUse`. */
export function toolStarted(out: Out, session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return
  const call = session.calls.get(id) ?? newCall(session, loop, id)
  call.name = textOf(peek(data, 'tool_name')) ?? call.name
  call.input = peek(data, 'tool_input') ?? call.input
  startCall(out, call, at)
}

function startCall(out: Out, call: Call, at: number): void {
  if (call.state !== 'asked') return
  call.state = 'running'
  const { loop } = call
  call.requestId ??= attemptOfTool(out, loop, at)?.id
  tellPrompt(out, loop)
  out.push(
    hookRecord('pre_tool_call', at, {
      session_id: loop.sessionId,
      turn_id: loop.turnId,
      tool_call_id: call.id,
      tool_name: call.name,
      args: call.input,
      api_request_id: call.requestId,
    }),
  )
}

interface CallEnd {
  readonly status: 'completed' | 'error' | 'blocked' | 'cancelled'
  readonly result?: unknown
  readonly durationMillis?: number | undefined
  readonly message?: string | undefined
}

function endCall(out: Out, call: Call, at: number, end: CallEnd): void {
  if (call.state === 'ended') return
  startCall(out, call, at)
  call.state = 'ended'
  const { loop } = call
  call.input = undefined
  answerApproval(out, call, at - (end.durationMillis ?? 0), end.status === 'blocked' ? 'deny' : 'once')
  out.push(
    hookRecord('post_tool_call', at, {
      session_id: loop.sessionId,
      turn_id: loop.turnId,
      tool_call_id: call.id,
      tool_name: call.name,
      api_request_id: call.requestId,
      result: end.result,
      // A result that says more than that it is there, such as `async_launched`, is asked itself.
      status: end.status === 'completed' ? undefined : end.status,
      duration_ms: end.durationMillis,
      error_message: end.message,
    }),
  )
}

/** `PostToolUse`, `PostToolUseFailure`. */
export function toolEnded(out: Out, session: Session, loop: Loop, at: number, data: unknown): Call | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = session.calls.get(id) ?? newCall(session, loop, id)
  call.name ??= textOf(peek(data, 'tool_name'))
  call.input ??= peek(data, 'tool_input')
  const durationMillis = numberOf(peek(data, 'duration_ms'))
  const message = textOf(peek(data, 'error'))
  const result = peek(data, 'tool_response')
  const hasFailed =
    peek(data, 'hook_event_name') === 'PostToolUseFailure' || (message !== undefined && result === undefined)
  if (!hasFailed) endCall(out, call, at, { status: 'completed', result, durationMillis })
  else {
    const status = peek(data, 'is_interrupt') === true ? 'cancelled' : 'error'
    endCall(out, call, at, { status, result: message, durationMillis, message })
  }
  return call
}

/** `PermissionDenied`, and the message that says the same. */
export function toolDenied(out: Out, session: Session, loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return
  const call = session.calls.get(id) ?? newCall(session, loop, id)
  call.name ??= textOf(peek(data, 'tool_name'))
  call.isDenied = true
  const result = textOf(peek(data, 'message')) ?? textOf(peek(data, 'reason'))
  endCall(out, call, at, { status: 'blocked', result })
}

/** The results as the model gets them: all that is told of a call that was refused, or that could not be made. */
export function toolResults(out: Out, session: Session, at: number, data: unknown): void {
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
    if (isRefused) endCall(out, call, at, { status: 'blocked', result })
    else if (peek(block, 'is_error') !== true) endCall(out, call, at, { status: 'completed', result })
    else endCall(out, call, at, { status: 'error', result, message: textOf(result) })
  }
}

function callOf(session: Session, value: unknown): Call | undefined {
  return session.calls.get(idOf(peek(value, 'tool_use_id')) ?? '')
}

/**
 * `PostToolBatch`: the next request follows. A call whose end no hook told was refused or failed; the message that says
 * which is yet to come.
 */
export function toolsOver(out: Out, session: Session, loop: Loop, at: number, data: unknown): void {
  loop.askedAt = at
  for (const one of elementsOf(peek(data, 'tool_calls'), BATCH_LIMIT)) {
    const call = callOf(session, one)
    if (call === undefined || call.state === 'ended') continue
    const response = peek(one, 'tool_response')
    if (call.isDenied) endCall(out, call, at, { status: 'blocked', result: response })
    else call.batched = { at, response }
  }
}

/** The turn is over, and nothing more will come of these. */
export function endCalls(out: Out, session: Session, loop: Loop, at: number, denied: ReadonlySet<string>): void {
  for (const call of loop.calls) {
    session.calls.delete(call.id)
    if (call.state !== 'running') continue
    const { batched } = call
    const result = batched?.response
    if (call.isDenied || denied.has(call.id)) endCall(out, call, batched?.at ?? at, { status: 'blocked', result })
    else if (batched === undefined) endCall(out, call, at, { status: 'cancelled' })
    else endCall(out, call, batched.at, { status: 'error', result, message: textOf(result) })
  }
  loop.calls.clear()
}

/** `canUseTool` is called, or the host decides by itself whether a tool may run (`PermissionRequest`). */
export function askApproval(out: Out, call: Call, at: number, surface: string, details: unknown): void {
  if (call.approval !== 'none' || call.state === 'ended') return
  call.approval = 'open'
  const input = call.input ?? peek(details, 'i') ?? peek(details, 'tool_input')
  out.push(
    hookRecord('pre_approval_request', at, {
      ...idsOf(call.loop),
      tool_call_id: call.id,
      pattern_key: call.name,
      command: textOf(peek(input, 'command')),
      description: textOf(peek(details, 'title')) ?? textOf(peek(details, 'description')),
      surface,
    }),
  )
}

/** `canUseTool` has answered. */
export function approvalAnswered(out: Out, call: Call, at: number, data: unknown): void {
  const result = peek(data, 'r')
  const behavior = peek(result, 'behavior')
  // Null: the answer goes another way, and what becomes of the tool will tell.
  if (result === null) return
  if (behavior === 'allow') {
    answerApproval(out, call, at, grantOf(peek(result, 'updatedPermissions')), 'canUseTool')
    return
  }
  call.isDenied = true
  if (peek(result, 'interrupt') === true) call.loop.isInterrupted = true
  answerApproval(out, call, at, behavior === 'deny' ? 'deny' : 'error', 'canUseTool')
}

/** Rules that go with a permission make it last: for the session, or for good. */
function grantOf(updates: unknown): 'once' | 'session' | 'always' {
  const rules = elementsOf(updates, BATCH_LIMIT)
  if (rules.length === 0) return 'once'
  return rules.every(rule => peek(rule, 'destination') === 'session') ? 'session' : 'always'
}

function answerApproval(out: Out, call: Call, at: number, choice: string, decidedBy?: string): void {
  if (call.approval !== 'open') return
  call.approval = 'answered'
  const payload = { ...idsOf(call.loop), tool_call_id: call.id, pattern_key: call.name, choice, decided_by: decidedBy }
  out.push(hookRecord('post_approval_response', at, payload, decidedBy === undefined ? 'inferred' : undefined))
}

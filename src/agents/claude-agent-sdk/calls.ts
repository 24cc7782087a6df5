import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { endCall, startCall } from '../claude-code/calls.ts'
import type { ClaudeCall } from '../claude-code/session.ts'
import type { SdkLoop, SdkSession } from './session.ts'

/** Handles results as sent to the model. They are the only report of a call that was denied or could not be made. */
export function handleToolResults(session: SdkSession, at: number, data: unknown): void {
  const metas = elementsOf(peek(data, 'tool_result_meta'))
  for (const block of elementsOf(peek(peek(data, 'message'), 'content'))) {
    const call =
      peek(block, 'type') === 'tool_result' ? session.calls.get(idOf(peek(block, 'tool_use_id')) ?? '') : undefined
    if (call === undefined) continue
    const meta = metas.find(one => idOf(peek(one, 'id')) === call.id)
    call.isDenied ||=
      peek(meta, 'non_execution_kind') !== undefined || peek(peek(meta, 'permission_decision'), 'decision') === 'reject'
    endWithResult(call, at, peek(block, 'content'), peek(block, 'is_error') === true)
  }
}

function endWithResult(call: ClaudeCall, at: number, result: unknown, hasFailed: boolean): void {
  const status = call.isDenied ? 'blocked' : hasFailed ? 'error' : 'completed'
  endCall(call, at, { status, result, message: status === 'error' ? textOf(result) : undefined })
}

/** Ends the remaining calls of a loop. A batched call without a result in a message has failed. */
export function endRemainingCalls(loop: SdkLoop, at: number, denied: ReadonlySet<string>): void {
  for (const call of [...loop.calls]) {
    loop.calls.delete(call)
    if (call.state !== 'running') continue
    const { batchEnd } = call
    call.isDenied ||= denied.has(call.id)
    if (batchEnd === undefined && !call.isDenied) endCall(call, at, { status: 'cancelled' })
    else endWithResult(call, batchEnd?.at ?? at, batchEnd?.result, true)
  }
}

/** Handles `canUseTool`, and `PermissionRequest` if the host decides by itself. */
export function handleApprovalRequest(call: ClaudeCall, at: number, data: unknown, surface = 'canUseTool'): void {
  if (call.approval !== undefined || call.state === 'ended') return
  const input = call.args ?? peek(data, 'i') ?? peek(data, 'tool_input')
  startCall(call, at)
  call.requestApproval(at, {
    command: textOf(peek(input, 'command')),
    description: textOf(peek(data, 'title')) ?? textOf(peek(data, 'description')),
    surface,
  })
}

export function handleApprovalResponse(call: ClaudeCall, at: number, data: unknown): void {
  const result = peek(data, 'r')
  const behavior = peek(result, 'behavior')
  // Null: the response takes another path, and the decision follows from the tool's end.
  if (result === null) return
  const isAllowed = behavior === 'allow'
  call.isDenied ||= !isAllowed
  call.turn.isInterrupted ||= !isAllowed && peek(result, 'interrupt') === true
  const choice = isAllowed ? grantOf(peek(result, 'updatedPermissions')) : behavior === 'deny' ? 'deny' : 'error'
  call.approval?.emitResponse(at, choice, undefined, 'canUseTool')
}

/** Permission rules in the response make the grant last: for the session, or permanently. */
function grantOf(updates: unknown): 'once' | 'session' | 'always' {
  const rules = elementsOf(updates)
  if (rules.length === 0) return 'once'
  return rules.every(rule => peek(rule, 'destination') === 'session') ? 'session' : 'always'
}

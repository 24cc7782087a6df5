import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { Approval } from '../base/tool.ts'
import { endCall } from '../claude-code/calls.ts'
import type { ClaudeCall } from '../claude-code/session.ts'
import type { LiveSessions, SdkLoop, SdkSession } from './session.ts'

const BATCH_LIMIT = 1000
const EARLY_LIMIT = 100

/** Handles `canUseTool`, which has a tool call id and no session id. */
export class SdkApprovals {
  readonly #sessions: LiveSessions
  readonly #early = new LimitedMap<string, TimedEvent[]>(EARLY_LIMIT)

  constructor(sessions: LiveSessions) {
    this.#sessions = sessions
  }

  handleEvent(moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'toolUseID'))
    if (id === undefined) return
    const query = idOf(peek(moment.context, 'query'))
    const [call, ...others] = this.#sessions.findCalls(id, query)
    if (call !== undefined && others.length === 0) emitApproval(call, moment)
    else {
      const early = this.#early.recall(`${query} ${id}`, () => [])
      if (early.length < EARLY_LIMIT) early.push(moment)
    }
  }

  emitBuffered(call: ClaudeCall, { context }: TimedEvent): void {
    if (this.#early.size === 0) return
    const key = `${idOf(peek(context, 'query'))} ${call.id}`
    const early = this.#early.get(key) ?? []
    this.#early.delete(key)
    for (const moment of early) emitApproval(call, moment)
  }
}

function emitApproval(call: ClaudeCall, { event, at, data }: TimedEvent): void {
  if (event === 'canUseTool') emitApprovalRequest(call, at, 'canUseTool', data)
  else emitApprovalResponse(call, at, data)
}

/** Handles results as sent to the model. They are the only report of a call that was denied or could not be made. */
export function handleToolResults(session: SdkSession, at: number, data: unknown): void {
  const metas = elementsOf(peek(data, 'tool_result_meta'), BATCH_LIMIT)
  for (const block of elementsOf(peek(peek(data, 'message'), 'content'), BATCH_LIMIT)) {
    const call =
      peek(block, 'type') === 'tool_result' ? session.calls.get(idOf(peek(block, 'tool_use_id')) ?? '') : undefined
    if (call === undefined || call.state === 'ended') continue
    const meta = metas.find(one => idOf(peek(one, 'id')) === call.id)
    const result = peek(block, 'content')
    const isRefused =
      call.isDenied ||
      peek(meta, 'non_execution_kind') !== undefined ||
      peek(peek(meta, 'permission_decision'), 'decision') === 'reject'
    if (isRefused) endCall(call, at, { status: 'blocked', result })
    else if (peek(block, 'is_error') !== true) endCall(call, at, { status: 'completed', result })
    else endCall(call, at, { status: 'error', result, message: textOf(result) })
  }
}

/** Ends the remaining calls of a loop. A batched call without a result in a message has failed. */
export function endRemainingCalls(loop: SdkLoop, at: number, denied?: ReadonlySet<string>): void {
  for (const call of [...loop.calls]) {
    loop.calls.delete(call)
    if (call.state !== 'running') continue
    const { batchEnd } = call
    const result = batchEnd?.result
    if (call.isDenied || denied?.has(call.id)) endCall(call, batchEnd?.at ?? at, { status: 'blocked', result })
    else if (batchEnd === undefined) endCall(call, at, { status: 'cancelled' })
    else endCall(call, batchEnd.at, { status: 'error', result, message: textOf(result) })
  }
}

/** Handles `canUseTool`, and `PermissionRequest` if the host decides by itself. */
export function emitApprovalRequest(call: ClaudeCall, at: number, surface: string, details: unknown): void {
  if (call.approval !== undefined || call.state === 'ended') return
  const input = call.args ?? peek(details, 'i') ?? peek(details, 'tool_input')
  call.approval = new Approval(call.turn, call.id, call.name, at)
  call.approval.emitRequest({
    command: textOf(peek(input, 'command')),
    description: textOf(peek(details, 'title')) ?? textOf(peek(details, 'description')),
    surface,
  })
}

function emitApprovalResponse(call: ClaudeCall, at: number, data: unknown): void {
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

import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'
import type { TurnResult } from '../base/records.ts'
import { toolKey } from '../base/tool.ts'
import { callIdOf, GeminiCall, type GeminiLoop, type GeminiSession, type UnassignedCall } from './session.ts'

const CALLS_LIMIT = 1000
const DENIED = 'User denied'
/** Prefix of the result of a tool that a hook of another program has blocked. */
const BLOCKED = 'Tool execution blocked:'

/** Handles `BeforeTool`. The tool belongs to the turn, unless a child is running: its tools fire the same hook. */
export function handleToolStart(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const [name, args] = [peek(data, 'tool_name'), peek(data, 'tool_input')]
  const use: UnassignedCall = { key: toolKey(name, args), name, args, startAt: at }
  if (session.openChildren.length > 0) session.unassignedCalls.add(use)
  else startCall(loop, use, loop.requests.lastId, 'inferred')
}

function startCall(
  loop: GeminiLoop,
  use: UnassignedCall,
  requestId: string | undefined,
  correlation?: 'inferred',
  id?: string,
): GeminiCall {
  loop.emitPrompt()
  loop.toolCount += 1
  const call = new GeminiCall(loop, id ?? newId(loop, use), use, use.startAt)
  call.requestId = requestId
  call.emitStart(correlation)
  loop.calls.add(call)
  return call
}

function newId(loop: GeminiLoop, { key, startAt }: UnassignedCall): string {
  const id = callIdOf(loop.session.id, key, startAt)
  return [...loop.calls].some(call => call.id === id) ? `${id}:${loop.toolCount}` : id
}

/** Handles `AfterTool`. Of identical calls, the first ends. @returns the call, if its loop is known */
export function handleToolEnd(session: GeminiSession, at: number, data: unknown): GeminiCall | undefined {
  const name = peek(data, 'tool_name')
  const key = toolKey(name, peek(data, 'tool_input'))
  const response = peek(data, 'tool_response')
  const running = [...(session.main?.calls ?? [])].filter(({ state }) => state === 'running')
  const uses = [...session.unassignedCalls].filter(one => one.end === undefined)
  const use = uses.find(one => one.key === key)
  // If a hook has rewritten the input, `AfterTool` contains the new one.
  const call =
    running.find(one => one.key === key) ?? (use === undefined ? running.find(one => one.name === name) : undefined)
  if (call !== undefined) {
    call.key = key
    endCall(call, at, response)
    return call
  }
  const other = use ?? uses.find(one => one.name === name)
  if (other !== undefined) {
    other.key = key
    other.end = { at, response }
  }
  return undefined
}

function endCall(call: GeminiCall, at: number, response: unknown): void {
  const error = peek(response, 'error')
  const content = peek(response, 'llmContent')
  const text = plainText(content)
  const message = textOf(peek(error, 'message'))
  const isBlocked = text?.startsWith(BLOCKED) === true
  call.turn.lastAt = Math.max(call.turn.lastAt, at)
  call.approval?.emitResponse(at, 'once', 'inferred')
  call.emitEnd(at, {
    result: text === undefined || looksLikeJson(text) ? { content } : text,
    status: error === undefined ? undefined : isBlocked ? 'blocked' : 'error',
    error_type: textOf(peek(error, 'type')),
    error_message: message,
  })
}

export function handleCalls(loop: GeminiLoop, data: unknown): void {
  const answeredAt = numberOf(peek(data, 'answered_at')) ?? loop.startAt
  const requestId = loop.requestIdByAnswer.get(idOf(peek(data, 'id')) ?? '')
  // An answer of an earlier turn: the file is being read again.
  if (requestId === undefined) return
  for (const found of elementsOf(peek(data, 'calls'), CALLS_LIMIT)) {
    const id = idOf(peek(found, 'id'))
    if (id !== undefined && loop.session.isNew(id)) matchCall(loop, id, found, answeredAt, requestId)
  }
}

/** Joins a line of the file to the first unmatched call of the same name and input. */
function matchCall(loop: GeminiLoop, id: string, found: unknown, answeredAt: number, requestId: string): void {
  const [name, args] = [peek(found, 'name'), peek(found, 'args')]
  const key = toolKey(name, args)
  const { unassignedCalls } = loop.session
  const use = [...unassignedCalls].find(one => one.key === key && one.startAt >= answeredAt)
  let call = [...loop.calls].find(one => one.key === key && !one.isFound && one.startAt >= answeredAt)
  if (call === undefined) {
    if (use !== undefined) unassignedCalls.delete(use)
    const hooked = use ?? { key, name, args, startAt: answeredAt }
    call = startCall(loop, hooked, requestId, use === undefined ? undefined : 'inferred', id)
    if (use?.askedAt !== undefined) requestApproval(call, use.askedAt, {})
    if (use?.end !== undefined) endCall(call, use.end.at, use.end.response)
  }
  call.isFound = true
  endRecordedCall(call, found)
  loop.calls.delete(call)
}

/** Ends a call without an end hook: it was denied, or could not be started. */
function endRecordedCall(call: GeminiCall, found: unknown): void {
  if (call.state === 'ended') return
  const at = Math.max(call.startAt, numberOf(peek(found, 'at')) ?? call.turn.lastAt)
  const error = textOf(peek(found, 'error'))
  const isCancelled = peek(found, 'status') === 'cancelled'
  const isDenied = isCancelled && error?.includes(DENIED) === true
  const status = isDenied
    ? 'blocked'
    : isCancelled
      ? 'cancelled'
      : peek(found, 'status') === 'error'
        ? 'error'
        : undefined
  call.approval?.emitResponse(at, isCancelled ? 'deny' : 'once', 'inferred')
  call.turn.lastAt = Math.max(call.turn.lastAt, at)
  call.emitEnd(at, { result: error, status, error_message: status === 'error' ? error : undefined })
}

/** Handles `Notification`. It has no call id, but usually the command or file. */
export function handleNotification(session: GeminiSession, at: number, data: unknown): void {
  if (peek(data, 'notification_type') !== 'ToolPermission') return
  const details = peek(data, 'details')
  const candidates = [...(session.main?.calls ?? [])].filter(
    call => call.state === 'running' && call.approval === undefined,
  )
  const uses = [...session.unassignedCalls].filter(use => use.end === undefined && use.askedAt === undefined)
  const fitting = candidates.findLast(call => isAbout(call.args, details))
  const use = uses.findLast(({ args }) => isAbout(args, details)) ?? uses.at(-1)
  if (fitting === undefined && use !== undefined) use.askedAt = at
  else {
    const call = fitting ?? candidates.at(-1)
    if (call !== undefined) requestApproval(call, at, details)
  }
}

function isAbout(args: unknown, details: unknown): boolean {
  const subject = textOf(peek(details, 'command')) ?? textOf(peek(details, 'filePath'))
  return subject !== undefined && [peek(args, 'command'), peek(args, 'file_path')].includes(subject)
}

function requestApproval(call: GeminiCall, at: number, details: unknown): void {
  call.requestApproval(at, { command: textOf(peek(details, 'command')), surface: 'ToolPermission' }, 'inferred')
}

/** Ends the remaining calls of a loop. If it has completed, the results of these calls were sent to the model. */
export function settleCalls(loop: GeminiLoop, at: number, outcome?: TurnResult): void {
  for (const call of loop.calls) {
    const isOver = outcome === 'completed' && call.approval?.isAnswered !== false
    call.approval?.emitResponse(at, 'deny', 'inferred')
    if (isOver) call.emitEnd(at, {}, 'inferred')
    else call.emitEnd(at, { status: 'cancelled' })
  }
  loop.calls.clear()
}

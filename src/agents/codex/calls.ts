import { elementsOf, idOf, keysOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { childTask, type DelegatedTask } from '../base/delegation.ts'
import { looksLikeJson } from '../base/messages.ts'
import { RecordScope } from '../base/records.ts'
import { inferredChoice } from '../base/tool.ts'
import type { CodexCall, CodexLoop, CodexSession } from './session.ts'

const AGENTS_LIMIT = 100
const KEYS_LIMIT = 100
/** Output of a command that continues in the background: its result comes with a later hook. */
const GOES_ON = /^Process running with session ID /m
const STOPPED = /^aborted by user$/m
const REFUSED = /^Command blocked by PreToolUse hook|Rejected\(/
const EXIT_CODE = /^Process exited with code (\d+)$/m
/** Output of a call that could not be started, for which no hook fires. */
const IMPOSSIBLE = /^(?:unsupported call|failed to parse function arguments|exec_command failed)/

type Status = 'completed' | 'error' | 'blocked' | 'cancelled' | 'background'

export function handleToolStart(loop: CodexLoop, at: number, data: unknown): void {
  const call = hookedCall(loop, at, data)
  if (call !== undefined) startCall(call, at)
}

function hookedCall(loop: CodexLoop, at: number, data: unknown): CodexCall | undefined {
  const id = idOf(peek(data, 'tool_use_id'))
  if (id === undefined) return undefined
  const call = loop.callOf(id, at)
  call.describe(peek(data, 'tool_name'), peek(data, 'tool_input'))
  return call
}

function startCall(call: CodexCall, at: number): void {
  if (call.state !== 'asked') return
  call.turn.emitPrompt()
  call.startAt = at
  call.emitStart()
}

interface CallEnd {
  readonly status: Status | undefined
  readonly result?: unknown
  readonly exitCode?: number | undefined
}

function endCall(call: CodexCall, at: number, { status, result, exitCode }: CallEnd): void {
  if (call.state === 'ended') return
  startCall(call, call.startAt)
  call.approval?.emitResponse(Math.min(at, call.recordedEnd?.ranAt ?? at), inferredChoice(status), 'inferred')
  const text = textOf(result)
  call.emitEnd(at, {
    // Wrapped so that the core does not read a status from data that the tool returned.
    result: text !== undefined && looksLikeJson(text) ? { output: text } : result,
    status,
    error_message: status !== 'error' ? undefined : exitCode === undefined ? text : `exit code ${exitCode}`,
  })
}

export function handleToolEnd(loop: CodexLoop, at: number, data: unknown): void {
  const call = hookedCall(loop, at, data)
  if (call === undefined) return
  endCall(call, at, {
    status: statusOf(call),
    result: peek(data, 'tool_response'),
    exitCode: call.recordedEnd?.exitCode,
  })
}

function statusOf({ recordedEnd }: CodexCall): Status | undefined {
  if (recordedEnd === undefined) return undefined
  if (recordedEnd.status === 'declined') return 'blocked'
  return recordedEnd.status === 'failed' || (recordedEnd.exitCode ?? 0) !== 0 ? 'error' : 'completed'
}

export function handleItem(loop: CodexLoop, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  if (id === undefined) return
  const call = loop.callOf(id, loop.lastAt)
  const exitCode = numberOf(peek(data, 'exit_code'))
  const at = numberOf(peek(data, 'at')) ?? loop.lastAt
  call.recordedEnd = { at, status: peek(data, 'status'), exitCode, ranAt: numberOf(peek(data, 'ran_at')) }
  for (const agent of elementsOf(peek(data, 'agents'), AGENTS_LIMIT)) recordChildStart(call, at, agent)
}

/** Handles `rollout:output`. It ends calls that no hook has ended, for example denied calls, or tools without hooks. */
export function handleOutput(loop: CodexLoop, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  const at = numberOf(peek(data, 'at'))
  if (id === undefined || at === undefined) return
  const call = loop.callOf(id, at)
  const output = peek(data, 'output')
  const text = textOf(output) ?? ''
  loop.lastAt = Math.max(loop.lastAt, at)
  if (GOES_ON.test(text)) {
    call.backgroundNotice = { at, result: output }
    return
  }
  const exitCode = call.recordedEnd?.exitCode ?? numberOf(EXIT_CODE.exec(text)?.[1])
  endCall(call, at, { status: statusFromText(call, text, exitCode), result: output, exitCode })
}

function statusFromText(call: CodexCall, text: string, exitCode: number | undefined): Status {
  if (STOPPED.test(text)) return 'cancelled'
  const status = statusOf(call)
  if (status !== undefined) return status
  if (REFUSED.test(text)) return 'blocked'
  return IMPOSSIBLE.test(text) || (exitCode ?? 0) !== 0 ? 'error' : 'completed'
}

export function settleCalls(loop: CodexLoop, at: number): void {
  for (const call of loop.calls.values()) {
    const { backgroundNotice, recordedEnd, state, startAt } = call
    const hasEnded = backgroundNotice !== undefined && recordedEnd !== undefined && recordedEnd.at > backgroundNotice.at
    if (hasEnded)
      endCall(call, recordedEnd.at, {
        status: statusOf(call),
        result: backgroundNotice.result,
        exitCode: recordedEnd.exitCode,
      })
    else if (backgroundNotice !== undefined)
      endCall(call, backgroundNotice.at, { status: 'background', result: backgroundNotice.result })
    else if (state === 'running') endCall(call, Math.max(at, startAt), { status: 'cancelled' })
  }
}

/**
 * Handles `PermissionRequest`. It has no call id, so the newest running call of the same name and input without an approval is
 * used.
 */
export function handlePermissionRequest(loop: CodexLoop, at: number, data: unknown): void {
  const name = textOf(peek(data, 'tool_name'))
  const input = peek(data, 'tool_input')
  const candidates = [...loop.calls.values()].filter(
    call => call.state === 'running' && call.name === name && call.approval === undefined,
  )
  const call = candidates.findLast(({ args }) => includesArguments(args, input)) ?? candidates.at(-1)
  if (call === undefined) return
  const [command, description] = [textOf(peek(input, 'command')), peek(input, 'description')]
  call.requestApproval(at, { command, description, surface: 'PermissionRequest' }, 'inferred')
}

/** Returns true if `input` includes `args`: the approval's input adds the text for the user. */
function includesArguments(args: unknown, input: unknown): boolean {
  return keysOf(args, KEYS_LIMIT).every(key => JSON.stringify(peek(args, key)) === JSON.stringify(peek(input, key)))
}

const DELEGATING = /spawn_agent$/

/** Records the child agent that a call has started. The rollout usually reports it before any hook of the child fires. */
function recordChildStart(call: CodexCall, at: number, agent: unknown): void {
  const { session } = call.turn
  const agentId = idOf(peek(agent, 'id'))
  const isKnown = agentId === undefined || !session.isNew(`agent ${agentId}`)
  session.delegatingCalls.set(keyOf(call), true)
  if (isKnown) return
  const task = childTask(call.turn, at, { agentId, role: textOf(peek(agent, 'role')), callId: call.id })
  task.emitStart(peek(call.args, 'message'))
  session.tasks.set(agentId, task)
}

export function openChild(session: CodexSession, agentId: string, loop: CodexLoop, data: unknown): void {
  const role = textOf(peek(data, 'agent_type'))
  const recorded = session.tasks.get(agentId)
  session.tasks.delete(agentId)
  loop.task = recorded ?? guessedTask(session, agentId, loop, role)
  const parent_session_id = loop.task.ids.parent_session_id
  loop.emit('on_session_start', loop.startAt, { agent_name: role, platform: session.platform, parent_session_id })
}

/** Guesses the call of a child before the rollout reports it: the newest delegating call that has started no other agent. */
function guessedTask(session: CodexSession, agentId: string, loop: CodexLoop, role: string | undefined): DelegatedTask {
  session.isNew(`agent ${agentId}`)
  const calls = [...(session.main?.calls.values() ?? [])]
  const call = calls.findLast(
    one =>
      one.state === 'running' && DELEGATING.test(textOf(one.name) ?? '') && !session.delegatingCalls.has(keyOf(one)),
  )
  if (call !== undefined) session.delegatingCalls.set(keyOf(call), true)
  const parent = session.main ?? new RecordScope(session.records, session.id)
  const task = childTask(parent, loop.startAt, { agentId, role, callId: call?.id })
  task.emitStart(peek(call?.args, 'message'), 'inferred')
  return task
}

function keyOf({ id, turn }: CodexCall): string {
  return `${turn.turnId} ${id}`
}

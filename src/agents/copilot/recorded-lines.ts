import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { Approval } from '../base/approval.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { looksLikeJson } from '../base/messages.ts'
import {
  answered,
  attemptFailed,
  compactionEnded,
  compactionStarted,
  gaveUp,
  settleRequest,
  spoken,
} from './recorded-requests.ts'
import { Loop, type LoopEnd, PLATFORM, type RecordedSession } from './recorded-session.ts'

type Reading = (session: RecordedSession, at: number, data: unknown) => void
type LoopReading = (loop: Loop, at: number, data: unknown) => void

/** Error codes of a tool that are not failures of the tool. */
const STATUSES: Readonly<Record<string, string>> = { denied: 'blocked', rejected: 'blocked', interrupted: 'cancelled' }
const OUTCOMES: Readonly<Record<string, LoopEnd['outcome']>> = {
  complete: 'completed',
  error: 'failed',
  timeout: 'failed',
}

const GIVEN_UP: LoopEnd = { outcome: 'failed', reason: 'error' }

/** Wraps a handler for lines of an open turn. Lines of other turns are ignored. */
function inLoop(read: LoopReading): Reading {
  return (session, at, data) => {
    const loop = session.loop(agentIn(data))
    if (loop !== undefined) touched(loop, at, data, read)
  }
}

/** Wraps a handler for lines of an open turn, or of one that begins without a prompt to answer a notification. */
function inLoopOrNew(read: LoopReading): Reading {
  return (session, at, data) => {
    const agentId = agentIn(data)
    const { notice } = session
    let loop = session.loop(agentId)
    if (loop === undefined && agentId === undefined && notice !== undefined) {
      loop = openLoop(session, undefined, notice.at, 'notice', notice.text)
    }
    if (loop !== undefined) touched(loop, at, data, read)
  }
}

function touched(loop: Loop, at: number, data: unknown, read: LoopReading): void {
  loop.lastAt = Math.max(loop.lastAt, at)
  read(loop, at, data)
}

function agentIn(data: unknown): string | undefined {
  return idOf(peek(data, 'agent_id'))
}

export const LINES: Readonly<Record<string, Reading>> = {
  'session.start': started,
  'session.resume': (session, at, data) => {
    endAll(session, 'abandoned')
    started(session, at, data)
  },
  'user.message': prompted,
  'system.notification': (session, at, data) => {
    if (at >= session.since && session.loop(undefined) === undefined)
      session.notice = { at, text: peek(data, 'content') }
  },
  'assistant.turn_start': inLoopOrNew((loop, at) => {
    settleRequest(loop)
    loop.askedAt = at
  }),
  'assistant.turn_end': () => undefined,
  'session.usage_record': inLoop(answered),
  'assistant.message': inLoopOrNew(spoken),
  'tool.execution_start': inLoopOrNew(toolStarted),
  'tool.execution_complete': inLoop(toolEnded),
  'permission.requested': inLoop(approvalAsked),
  'permission.completed': inLoop(approvalAnswered),
  'subagent.started': childStarted,
  'subagent.completed': (session, at, data) => childEnded(session, at, data, 'completed'),
  'subagent.failed': (session, at, data) => childEnded(session, at, data, 'failed'),
  'session.compaction_start': inLoop(compactionStarted),
  'session.compaction_complete': inLoop(compactionEnded),
  'session.error': inLoop(gaveUp),
  abort: (session, at, data) => endAll(session, textOf(peek(data, 'reason')) ?? 'abort', at),
  'session.shutdown': (session, at, data) => endAll(session, textOf(peek(data, 'shutdownType')) ?? 'shutdown', at),
}

/** Hooks with a fact that the file lacks, or has later. */
export const RECORDED_HOOKS: Readonly<Record<string, Reading>> = {
  ErrorOccurred: inLoop(attemptFailed),
  Stop: inLoop((loop, at) => {
    // The end of a child is in the file.
    if (loop.agentId === undefined) endLoop(loop, at, { outcome: 'completed' })
  }),
  SessionEnd: inLoop((loop, at, data) => {
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    const outcome = (Object.hasOwn(OUTCOMES, reason) ? OUTCOMES[reason] : undefined) ?? 'interrupted'
    endLoop(loop, at, { outcome, reason })
  }),
}

function started(session: RecordedSession, _at: number, data: unknown): void {
  session.model = textOf(peek(data, 'selectedModel')) ?? session.model
}

function prompted(session: RecordedSession, at: number, data: unknown): void {
  const agentId = agentIn(data)
  const open = session.loop(agentId)
  session.notice = undefined
  if (open !== undefined) {
    // A message that joins the running turn.
    if (peek(data, 'delivery') !== 'idle') return
    endLoop(open, open.lastAt, { outcome: 'interrupted' })
  }
  if (agentId === undefined && at < session.since) return
  openLoop(session, agentId, at, idOf(peek(data, 'interactionId')) ?? `${at}`, peek(data, 'content'))
}

function openLoop(
  session: RecordedSession,
  agentId: string | undefined,
  at: number,
  interaction: string,
  prompt: unknown,
): Loop {
  const loop = new Loop(session, agentId, session.turnId(interaction), at)
  session.loops.set(agentId ?? '', loop)
  session.notice = undefined
  const { model } = loop
  const task = agentId === undefined ? undefined : session.tasks.get(agentId)
  if (task !== undefined) {
    const { parent_session_id, child_role } = task.ids
    loop.emit('on_session_start', at, { agent_name: child_role, platform: PLATFORM, parent_session_id })
  } else if (!session.isAnnounced) {
    session.isAnnounced = true
    loop.emit('on_session_start', at, { model, platform: PLATFORM })
  }
  loop.emit('pre_llm_call', at, { user_message: prompt, model, platform: PLATFORM })
  return loop
}

function toolStarted(loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'toolCallId'))
  if (id === undefined) return
  settleRequest(loop)
  const call = loop.callOf(id, at)
  if (call.state !== 'asked') return
  call.name = textOf(peek(data, 'toolName')) ?? call.name
  call.args = peek(data, 'arguments') ?? call.args
  call.startAt = at
  call.emitStart()
}

function toolEnded(loop: Loop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'toolCallId'))
  const call = id === undefined ? undefined : loop.calls.get(id)
  if (call === undefined) return
  const error = peek(data, 'error')
  const exitCode = numberOf(peek(peek(data, 'shellExecution'), 'exitCode')) ?? 0
  const code = textOf(peek(error, 'code')) ?? ''
  const hasFailed = peek(data, 'success') === false
  const failed = (Object.hasOwn(STATUSES, code) ? STATUSES[code] : undefined) ?? 'error'
  const status = hasFailed ? failed : exitCode === 0 ? 'completed' : 'error'
  const text = textOf(peek(peek(data, 'result'), 'content'))
  call.emitStart()
  call.approval?.emitResponse(at, status === 'blocked' ? 'deny' : 'cancelled', 'inferred')
  call.emitEnd(at, {
    status,
    result: text !== undefined && looksLikeJson(text) ? { output: text } : text,
    error_message:
      status !== 'error' ? undefined : hasFailed ? textOf(peek(error, 'message')) : `exit code ${exitCode}`,
  })
}

function approvalAsked(loop: Loop, at: number, data: unknown): void {
  const request = peek(data, 'permissionRequest')
  const call = loop.calls.get(idOf(peek(request, 'toolCallId')) ?? '')
  if (call === undefined || call.approval !== undefined) return
  call.approval = new Approval(loop, call.id, call.name, at)
  const command = ['fullCommandText', 'path', 'url']
    .map(name => textOf(peek(request, name)))
    .find(text => text !== undefined)
  call.approval.emitRequest({
    command,
    description: peek(request, 'intention'),
    surface: textOf(peek(request, 'kind')),
  })
}

function approvalAnswered(loop: Loop, at: number, data: unknown): void {
  const call = loop.calls.get(idOf(peek(data, 'toolCallId')) ?? '')
  const kind = textOf(peek(peek(data, 'result'), 'kind')) ?? ''
  call?.approval?.emitResponse(at, choiceOf(kind), undefined, textOf(peek(data, 'decisionSource')))
}

/** `approved`, `approved-for-session`, `approved-for-location`, `denied-…`. */
function choiceOf(kind: string): string {
  if (!kind.startsWith('approved')) return 'deny'
  return kind === 'approved-for-session' ? 'session' : kind === 'approved' ? 'once' : 'always'
}

function childStarted(session: RecordedSession, at: number, data: unknown): void {
  const agentId = agentIn(data)
  const callId = idOf(peek(data, 'toolCallId'))
  const call = callId === undefined ? undefined : session.callWith(callId)
  if (agentId === undefined || call === undefined || session.tasks.has(agentId)) return
  const parent = call.turn
  const task = new DelegatedTask(session.records, at, {
    parent_session_id: parent.sessionId,
    parent_turn_id: parent.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: textOf(peek(data, 'agentName')),
    tool_call_id: callId,
  })
  task.emitStart(peek(call.args, 'prompt'))
  session.tasks.set(agentId, task)
}

function childEnded(session: RecordedSession, at: number, data: unknown, outcome: LoopEnd['outcome']): void {
  const loop = session.loop(agentIn(data))
  if (loop !== undefined) endLoop(loop, at, { outcome })
  endTask(session, agentIn(data), at, outcome, loop?.answer)
}

function endTask(
  session: RecordedSession,
  agentId: string | undefined,
  at: number,
  status: string,
  summary?: string,
): void {
  const task = session.tasks.get(agentId ?? '')
  session.tasks.delete(agentId ?? '')
  task?.emitEnd(at, { status, summary })
}

/** @param at if absent, each turn ends at its last event */
function endAll(session: RecordedSession, reason: string, at?: number): void {
  // Child agents first.
  const loops = [...session.loops.values()].sort(
    (one, other) => Number(other.agentId !== undefined) - Number(one.agentId !== undefined),
  )
  for (const loop of loops) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const [agentId, task] of [...session.tasks]) endTask(session, agentId, at ?? task.startAt, 'interrupted')
  session.notice = undefined
}

function endLoop(loop: Loop, at: number, end: LoopEnd): void {
  if (loop.isOver) return
  loop.isOver = true
  const { outcome, reason } = loop.hasGivenUp ? GIVEN_UP : end
  const { session, agentId, model, answer } = loop
  session.loops.delete(agentId ?? '')
  settleRequest(loop)
  for (const call of loop.calls.values()) {
    if (call.state !== 'running') continue
    const endAt = Math.max(at, call.startAt)
    call.approval?.emitResponse(endAt, 'cancelled', 'inferred')
    call.emitEnd(endAt, { status: 'cancelled' })
  }
  loop.emitAnswer(at, answer, model)
  loop.emitEnd(at, { outcome, reason: reason ?? outcome, model, platform: PLATFORM })
  if (agentId !== undefined && outcome === 'interrupted') endTask(session, agentId, at, outcome)
}

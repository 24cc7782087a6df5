import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { childTask } from '../base/delegation.ts'
import { looksLikeJson } from '../base/messages.ts'
import type { TurnResult } from '../base/turn.ts'
import {
  handleCompactionEnd,
  handleCompactionStart,
  handleFailedAttempt,
  handleMessage,
  handleSessionError,
  handleUsageRecord,
  settleRequest,
} from './recorded-requests.ts'
import { CopilotLoop, outcomeOf, type RecordedSession } from './recorded-session.ts'

type LineHandler = (session: RecordedSession, at: number, data: unknown) => void
type LoopLineHandler = (loop: CopilotLoop, at: number, data: unknown) => void

const FAILED_REQUEST_END: LoopEnd = { outcome: 'failed', reason: 'error' }

function inLoop(read: LoopLineHandler): LineHandler {
  return (session, at, data) => {
    const loop = session.findLoop(agentIn(data))
    if (loop !== undefined) handleLoopLine(loop, at, data, read)
  }
}

/** Wraps a handler for lines of an open turn, or of one that begins without a prompt to answer a notification. */
function inLoopOrNew(read: LoopLineHandler): LineHandler {
  return (session, at, data) => {
    const agentId = agentIn(data)
    const { notice } = session
    let loop = session.findLoop(agentId)
    if (loop === undefined && agentId === undefined && notice !== undefined) {
      loop = openLoop(session, undefined, notice.at, 'notice', notice.text)
    }
    if (loop !== undefined) handleLoopLine(loop, at, data, read)
  }
}

function handleLoopLine(loop: CopilotLoop, at: number, data: unknown, read: LoopLineHandler): void {
  loop.lastAt = Math.max(loop.lastAt, at)
  read(loop, at, data)
}

function agentIn(data: unknown): string | undefined {
  return idOf(peek(data, 'agent_id'))
}

export const LINE_HANDLERS: Readonly<Record<string, LineHandler>> = {
  'session.start': handleSessionStart,
  'session.resume': (session, at, data) => {
    endAllLoops(session, 'abandoned')
    handleSessionStart(session, at, data)
  },
  'user.message': handlePrompt,
  'system.notification': (session, at, data) => {
    if (at >= session.since && session.findLoop(undefined) === undefined)
      session.notice = { at, text: peek(data, 'content') }
  },
  'assistant.turn_start': inLoopOrNew((loop, at) => {
    settleRequest(loop)
    loop.askedAt = at
  }),
  'assistant.turn_end': () => undefined,
  'session.usage_record': inLoop(handleUsageRecord),
  'assistant.message': inLoopOrNew(handleMessage),
  'tool.execution_start': inLoopOrNew(handleToolStart),
  'tool.execution_complete': inLoop(handleToolEnd),
  'permission.requested': inLoop(handleApprovalRequest),
  'permission.completed': inLoop(handleApprovalResponse),
  'subagent.started': handleChildStart,
  'subagent.completed': (session, at, data) => handleChildEnd(session, at, data, 'completed'),
  'subagent.failed': (session, at, data) => handleChildEnd(session, at, data, 'failed'),
  'session.compaction_start': inLoop(handleCompactionStart),
  'session.compaction_complete': inLoop(handleCompactionEnd),
  'session.error': inLoop(handleSessionError),
  abort: (session, at, data) => endAllLoops(session, textOf(peek(data, 'reason')) ?? 'abort', at),
  'session.shutdown': (session, at, data) => endAllLoops(session, textOf(peek(data, 'shutdownType')) ?? 'shutdown', at),
}

/** Hooks with a fact that the file lacks, or has later. */
export const RECORDED_HOOK_HANDLERS: Readonly<Record<string, LineHandler>> = {
  ErrorOccurred: inLoop(handleFailedAttempt),
  Stop: inLoop((loop, at) => {
    // The end of a child is in the file.
    if (loop.agentId === undefined) endLoop(loop, at, { outcome: 'completed' })
  }),
  SessionEnd: inLoop((loop, at, data) => {
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    endLoop(loop, at, { outcome: outcomeOf(reason), reason })
  }),
}

function handleSessionStart(session: RecordedSession, _at: number, data: unknown): void {
  session.model = textOf(peek(data, 'selectedModel')) ?? session.model
  session.noteWorkspace(peek(data, 'context'))
}

function handlePrompt(session: RecordedSession, at: number, data: unknown): void {
  const agentId = agentIn(data)
  const open = session.findLoop(agentId)
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
): CopilotLoop {
  const loop = new CopilotLoop(session, { agentId, turnId: session.uniqueTurnId(interaction) }, at, prompt)
  session.loops.set(agentId ?? '', loop)
  session.notice = undefined
  const task = agentId === undefined ? undefined : session.tasks.get(agentId)
  if (task !== undefined) {
    const { parent_session_id, child_role } = task.ids
    loop.emit('on_session_start', at, { agent_name: child_role, platform: session.platform, parent_session_id })
  } else loop.announceSession()
  loop.emitPrompt()
  return loop
}

function handleToolStart(loop: CopilotLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'toolCallId'))
  if (id === undefined) return
  settleRequest(loop)
  const call = loop.callOf(id, at)
  call.describe(peek(data, 'toolName'), peek(data, 'arguments'))
  if (call.state === 'asked') call.startAt = at
  call.emitStart()
}

function handleToolEnd(loop: CopilotLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'toolCallId'))
  const call = id === undefined ? undefined : loop.calls.get(id)
  if (call === undefined) return
  const error = peek(data, 'error')
  const exitCode = numberOf(peek(peek(data, 'shellExecution'), 'exitCode')) ?? 0
  const hasFailed = peek(data, 'success') === false
  const code = peek(error, 'code')
  const failed = code === 'denied' || code === 'rejected' ? 'blocked' : code === 'interrupted' ? 'cancelled' : 'error'
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

function handleApprovalRequest(loop: CopilotLoop, at: number, data: unknown): void {
  const request = peek(data, 'permissionRequest')
  const call = loop.calls.get(idOf(peek(request, 'toolCallId')) ?? '')
  if (call === undefined || call.approval !== undefined) return
  const command = ['fullCommandText', 'path', 'url']
    .map(name => textOf(peek(request, name)))
    .find(text => text !== undefined)
  call.requestApproval(at, {
    command,
    description: peek(request, 'intention'),
    surface: textOf(peek(request, 'kind')),
  })
}

function handleApprovalResponse(loop: CopilotLoop, at: number, data: unknown): void {
  const call = loop.calls.get(idOf(peek(data, 'toolCallId')) ?? '')
  const kind = textOf(peek(peek(data, 'result'), 'kind')) ?? ''
  call?.approval?.emitResponse(at, choiceOf(kind), undefined, textOf(peek(data, 'decisionSource')))
}

/** `approved`, `approved-for-session`, `approved-for-location`, `denied-…`. */
function choiceOf(kind: string): string {
  if (!kind.startsWith('approved')) return 'deny'
  return kind === 'approved-for-session' ? 'session' : kind === 'approved' ? 'once' : 'always'
}

function handleChildStart(session: RecordedSession, at: number, data: unknown): void {
  const agentId = agentIn(data)
  const callId = idOf(peek(data, 'toolCallId'))
  const call = callId === undefined ? undefined : session.findCall(callId)
  if (agentId === undefined || call === undefined || session.tasks.has(agentId)) return
  const task = childTask(call.turn, at, { agentId, role: textOf(peek(data, 'agentName')), callId })
  task.emitStart(peek(call.args, 'prompt'))
  session.tasks.set(agentId, task)
}

function handleChildEnd(session: RecordedSession, at: number, data: unknown, outcome: TurnResult): void {
  const loop = session.findLoop(agentIn(data))
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

function endAllLoops(session: RecordedSession, reason: string, at?: number): void {
  const loops = [...session.loops.values()].sort(
    (one, other) => Number(other.agentId !== undefined) - Number(one.agentId !== undefined),
  )
  for (const loop of loops) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const [agentId, task] of [...session.tasks]) endTask(session, agentId, at ?? task.startAt, 'interrupted')
  session.notice = undefined
}

function endLoop(loop: CopilotLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  const { outcome, reason } = loop.hasGivenUp ? FAILED_REQUEST_END : end
  const { session, agentId } = loop
  session.loops.delete(agentId ?? '')
  settleRequest(loop)
  for (const call of loop.calls.values()) {
    if (call.state !== 'running') continue
    const endAt = Math.max(at, call.startAt)
    call.approval?.emitResponse(endAt, 'cancelled', 'inferred')
    call.emitEnd(endAt, { status: 'cancelled' })
  }
  loop.emitLoopEnd(at, { outcome, reason, text: loop.answer })
  if (agentId !== undefined && outcome === 'interrupted') endTask(session, agentId, at, outcome)
}

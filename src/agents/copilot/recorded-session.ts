import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { AgentLoop, AgentSession, type LoopEnd } from '../base/agent-loop.ts'
import { childTask, type DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { wrapJson } from '../base/messages.ts'
import type { Records, TurnResult } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { readUsage } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'

export const PLATFORM = 'copilot'

const AGENTS_LIMIT = 1000
const CALLS_LIMIT = 10_000

/** An answer with known usage, whose text is in a later line. */
interface OpenAnswer {
  readonly request: ModelRequest
  readonly at: number
  readonly usage: unknown
}

/** A failed attempt. `status` is known only for the last one of a turn. */
interface FailedAttempt {
  readonly at: number
  readonly type: string | undefined
  readonly message: unknown
  readonly status?: number | undefined
}

class CopilotLoop extends AgentLoop<RecordedSession> {
  readonly calls: LimitedMap<string, Tool<CopilotLoop>> = new LimitedMap(CALLS_LIMIT)
  askedAt: number = this.startAt
  openAnswer: OpenAnswer | undefined
  failedAttempt: FailedAttempt | undefined
  hasGivenUp = false
  compaction: ModelRequest | undefined
  answer: string | undefined

  callOf(id: string, at: number): Tool<CopilotLoop> {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new Tool<CopilotLoop>(this, id, undefined, at)
    call.requestId = this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

/** A session whose file is read. All facts come from the file; hooks only trigger reading it. */
export class RecordedSession extends AgentSession {
  /** When the first hook of the session fired. Earlier turns are history. 0 if that hook was not the first of a turn. */
  readonly since: number
  /** The open turn of the session (key ''), and of each child agent. */
  readonly loops: LimitedMap<string, CopilotLoop> = new LimitedMap(AGENTS_LIMIT)
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(AGENTS_LIMIT)
  notice: { readonly at: number; readonly text: unknown } | undefined
  readonly #interactions: LimitedMap<string, number> = new LimitedMap(AGENTS_LIMIT)

  constructor(records: Records, id: string, since: number) {
    super(records, id, PLATFORM)
    this.since = since
  }

  findLoop(agentId: string | undefined): CopilotLoop | undefined {
    return this.loops.get(agentId ?? '')
  }

  /** Builds a unique turn id: a turn that answers a notification has the interaction of the previous turn. */
  uniqueTurnId(interaction: string): string {
    const count = (this.#interactions.get(interaction) ?? 0) + 1
    this.#interactions.set(interaction, count)
    return count === 1 ? interaction : `${interaction}:${count}`
  }

  findCall(id: string): Tool<CopilotLoop> | undefined {
    for (const loop of this.loops.values()) {
      const call = loop.calls.get(id)
      if (call !== undefined) return call
    }
    return undefined
  }
}

export function outcomeOf(reason: string): TurnResult {
  if (reason === 'complete') return 'completed'
  return reason === 'error' || reason === 'timeout' ? 'failed' : 'interrupted'
}

const TOOL_REQUESTS_LIMIT = 1000
/** The input count includes the cache, and the output count includes reasoning. */
const COUNTS = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheWriteTokens',
  reasoning: 'reasoningTokens',
}
const CONVERSATION_TYPE = /^conversation-/

function handleUsageRecord(loop: CopilotLoop, at: number, data: unknown): void {
  const usage = peek(data, 'usage')
  settleRequest(loop)
  const startAt = Math.min(at, Math.max(loop.startAt, at - (numberOf(peek(usage, 'duration')) ?? 0)))
  const task = taskOf(usage)
  const model = textOf(peek(usage, 'model'))
  if (task === undefined) loop.model = model ?? loop.model
  const request =
    task === undefined
      ? loop.requests.nextRequest(startAt)
      : new ModelRequest(loop, startAt, { id: `${loop.turnId}:${task}:${startAt}`, task })
  if (task === undefined) loop.requests.failures = 0
  loop.hasGivenUp = false
  const wait = numberOf(peek(usage, 'timeToFirstTokenMs'))
  request.firstChunkAt = wait === undefined ? undefined : startAt + wait
  request.emitStart({ model, provider: providerOf(usage) })
  loop.openAnswer = { request, at, usage }
  loop.askedAt = at
  if (task !== undefined) settleRequest(loop)
}

function taskOf(usage: unknown): string | undefined {
  const type = textOf(peek(usage, 'interactionType'))
  return type === undefined || CONVERSATION_TYPE.test(type) ? undefined : type
}

/** `other` stands for a custom provider of the user. */
function providerOf(usage: unknown): string | undefined {
  const provider = textOf(peek(usage, 'modelProvider'))
  return provider === 'other' ? undefined : provider
}

function handleMessage(loop: CopilotLoop, at: number, data: unknown): void {
  const { openAnswer } = loop
  const text = textOf(peek(data, 'content'))
  if (text !== undefined && text !== '') loop.answer = text
  const calls = elementsOf(peek(data, 'toolRequests'), TOOL_REQUESTS_LIMIT)
  const isOfOpen =
    openAnswer !== undefined && idOf(peek(data, 'apiCallId')) === idOf(peek(openAnswer.usage, 'apiCallId'))
  for (const call of calls) {
    const id = idOf(peek(call, 'toolCallId'))
    if (id === undefined) continue
    const asked = loop.callOf(id, at)
    asked.name ??= textOf(peek(call, 'name'))
    asked.args ??= peek(call, 'arguments')
    if (isOfOpen) asked.requestId = openAnswer.request.id
  }
  if (isOfOpen) emitOpenAnswer(loop, { role: 'assistant', content: text, tool_calls: calls }, calls.length)
}

function emitOpenAnswer(loop: CopilotLoop, message?: object, callCount?: number): void {
  const { openAnswer } = loop
  loop.openAnswer = undefined
  if (openAnswer === undefined) return
  const { request, at, usage } = openAnswer
  request.emitAnswer(at, {
    model: textOf(peek(usage, 'model')),
    provider: providerOf(usage),
    response_id: idOf(peek(usage, 'apiCallId')),
    finish_reason: peek(usage, 'finishReason'),
    usage: readUsage(usage, COUNTS),
    assistant_tool_call_count: callCount,
    response: message === undefined ? undefined : { message },
  })
}

/** Handles `ErrorOccurred`, a failed attempt. Only the file has its status, and shows whether it was the last. */
function handleFailedAttempt(loop: CopilotLoop, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  // The file was read first: this is the attempt that ended the turn.
  const last = loop.hasGivenUp ? loop.failedAttempt : undefined
  if (last === undefined) settleRequest(loop)
  const error = peek(data, 'error')
  const message = textOf(peek(error, 'message'))
  const type = typeIn(message) ?? textOf(peek(error, 'name')) ?? last?.type
  loop.failedAttempt = { at, type, message, status: last?.status }
}

/** Parses a provider's error message, which is JSON: `{"message":"slow down","type":"rate_limit_error",…}`. */
function typeIn(message: string | undefined): string | undefined {
  return message?.startsWith('{') ? textOf(peek(jsonIn(message), 'type')) : undefined
}

function handleSessionError(loop: CopilotLoop, at: number, data: unknown): void {
  const { failedAttempt } = loop
  loop.hasGivenUp = true
  loop.failedAttempt = {
    at: failedAttempt?.at ?? at,
    type: failedAttempt?.type ?? textOf(peek(data, 'errorType')),
    message: failedAttempt?.message ?? peek(data, 'message'),
    status: numberOf(peek(data, 'statusCode')),
  }
}

function settleRequest(loop: CopilotLoop): void {
  emitOpenAnswer(loop)
  const { failedAttempt } = loop
  loop.failedAttempt = undefined
  if (failedAttempt !== undefined) emitFailedAttempt(loop, failedAttempt)
}

function emitFailedAttempt(loop: CopilotLoop, { at, type, message, status }: FailedAttempt): void {
  const request = loop.requests.nextRequest(Math.min(at, loop.askedAt))
  loop.requests.failures += 1
  loop.askedAt = at
  request.emitStart({ model: loop.model }, 'inferred')
  request.emitFailure(at, {
    model: loop.model,
    status_code: status,
    retryable: !loop.hasGivenUp,
    reason: type,
    error: { type, message },
  })
}

function handleCompactionStart(loop: CopilotLoop, at: number, data: unknown): void {
  settleRequest(loop)
  const id = `${loop.turnId}:compression:${idOf(peek(data, 'compactionAttemptId')) ?? at}`
  loop.compaction = new ModelRequest(loop, at, { id, task: 'compression' })
  loop.compaction.emitStart({ model: textOf(peek(data, 'model')) })
}

function handleCompactionEnd(loop: CopilotLoop, at: number, data: unknown): void {
  const { compaction } = loop
  loop.compaction = undefined
  const used = peek(data, 'compactionTokensUsed')
  if (peek(data, 'success') === false) compaction?.emitFailure(at, { error: { message: peek(data, 'error') } })
  else compaction?.emitAnswer(at, { model: textOf(peek(used, 'model')), usage: readUsage(used, COUNTS) })
}

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
    result: wrapJson(text),
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

/**
 * Input from GitHub Copilot CLI, read from 1.0.102 (real runs). Telemetry spans and hooks without a session file follow its
 * documentation (docs.github.com, "GitHub Copilot hooks reference" and "OpenTelemetry monitoring", read in November 2026).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's input. The spelling in the configuration decides its shape:
 *   `PreToolUse` sends its own name and `session_id`; `preToolUse` sends neither and is ignored. `SubagentStart` and
 *   `PermissionRequest` send `sessionId` and no name in either spelling. Hooks of a child agent have `agent_id`, and that id as
 *   their `session_id`.
 * - `file:…`: a line of `session-state/<session>/events.jsonl`, by the line's type. One file holds a session and its child
 *   agents.
 * - `file:read`: the file has been read for the preceding hook, which is processed then.
 * - `span:…`: telemetry. Ignored for a session whose file has been read: it has the same requests.
 */

import { elementsOf, firstText, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { AgentLoop, AgentSession, type LoopEnd } from '../base/agent-loop.ts'
import type { EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, handlersByName, plausibleTime, timestampOf } from '../base/event-machine.ts'
import { calledIn, HookedSession, type HookedTurn } from '../base/hooked-session.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { joinTexts, wrapJson } from '../base/messages.ts'
import type { Records, TurnResult } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { childTask, type DelegatedTask, Tool } from '../base/tool.ts'
import { readUsage, usageOf } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { HostEvent } from '../host-event.ts'

const PLATFORM = 'copilot'

const AGENTS_LIMIT = 1000

class CopilotLoop extends AgentLoop<RecordedSession> {
  readonly calls: LimitedMap<string, Tool<CopilotLoop>> = new LimitedMap(10_000)
  askedAt: number = this.startAt
  /** An answer with known usage, whose text is in a later line. */
  openAnswer: { readonly request: ModelRequest; readonly at: number; readonly usage: unknown } | undefined
  /** `status` is known only for the last attempt of a turn. */
  failedAttempt: { at: number; type: string | undefined; message: unknown; status: number | undefined } | undefined
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
class RecordedSession extends AgentSession {
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

  openLoop(agentId: string | undefined, at: number, interaction: string, prompt: unknown): void {
    // A turn that answers a notification has the interaction of the previous turn.
    const count = (this.#interactions.get(interaction) ?? 0) + 1
    this.#interactions.set(interaction, count)
    const turnId = count === 1 ? interaction : `${interaction}:${count}`
    const loop = new CopilotLoop(this, { agentId, turnId }, at, prompt)
    this.loops.set(agentId ?? '', loop)
    this.notice = undefined
    const task = this.tasks.get(agentId ?? '')
    if (task === undefined) loop.announceSession()
    else loop.announceChild(textOf(task.ids.child_role), task.ids.parent_session_id)
    loop.emitPrompt()
  }

  findCall(id: string): Tool<CopilotLoop> | undefined {
    for (const { calls } of this.loops.values()) if (calls.has(id)) return calls.get(id)
    return undefined
  }
}

function outcomeOf(reason: string): TurnResult {
  if (reason === 'complete') return 'completed'
  return reason === 'error' || reason === 'timeout' ? 'failed' : 'interrupted'
}

/** The input count includes the cache, and the output count includes reasoning. */
const COUNTS = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheWriteTokens',
  reasoning: 'reasoningTokens',
}
function handleUsageRecord(loop: CopilotLoop, at: number, data: unknown): void {
  const usage = peek(data, 'usage')
  settleRequest(loop)
  const startAt = Math.min(at, Math.max(loop.startAt, at - (numberOf(peek(usage, 'duration')) ?? 0)))
  const task = taskOf(usage)
  const model = textOf(peek(usage, 'model'))
  const numbers = task === undefined ? loop.requests.nextNumbers() : { id: `${loop.turnId}:${task}:${startAt}`, task }
  const request = new ModelRequest(loop, startAt, numbers)
  if (task === undefined) {
    loop.model = model ?? loop.model
    loop.requests.failures = 0
  }
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
  return type?.startsWith('conversation-') === true ? undefined : type
}

/** `other` stands for a custom provider of the user. */
function providerOf(usage: unknown): string | undefined {
  const provider = textOf(peek(usage, 'modelProvider'))
  return provider === 'other' ? undefined : provider
}

function handleMessage(loop: CopilotLoop, at: number, data: unknown): void {
  const { openAnswer } = loop
  const text = textOf(peek(data, 'content'))
  loop.answer = text ?? loop.answer
  const calls = elementsOf(peek(data, 'toolRequests'))
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

/**
 * Handles `ErrorOccurred`, a failed attempt. Only the file has its status, and shows whether it was the last. If the
 * file was read first, this is the attempt that ended the turn.
 */
function handleFailedAttempt(loop: CopilotLoop, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  const last = loop.hasGivenUp ? loop.failedAttempt : undefined
  if (last === undefined) settleRequest(loop)
  const error = peek(data, 'error')
  const message = textOf(peek(error, 'message'))
  // A provider's error is JSON: `{"message":"slow down","type":"rate_limit_error",…}`.
  const providerType = message?.startsWith('{') ? textOf(peek(jsonIn(message), 'type')) : undefined
  const type = providerType ?? textOf(peek(error, 'name')) ?? last?.type
  loop.failedAttempt = { at, type, message, status: last?.status }
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
  if (failedAttempt === undefined) return
  const { at, type, message, status } = failedAttempt
  const request = loop.requests.nextRequest(Math.min(at, loop.askedAt))
  loop.requests.failures += 1
  loop.askedAt = at
  const { model, hasGivenUp } = loop
  const error = { type, message }
  request.emitStart({ model }, 'inferred')
  request.emitFailure(at, { model, status_code: status, retryable: !hasGivenUp, reason: type, error })
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

function inLoop(read: LoopLineHandler): LineHandler {
  return (session, at, data) => {
    const loop = session.loops.get(agentIn(data) ?? '')
    if (loop === undefined) return
    loop.lastAt = Math.max(loop.lastAt, at)
    read(loop, at, data)
  }
}

/** Wraps a handler for lines of an open turn, or of one that begins without a prompt to answer a notification. */
function inLoopOrNew(read: LoopLineHandler): LineHandler {
  const readInLoop = inLoop(read)
  return (session, at, data) => {
    const { notice } = session
    if (notice !== undefined && agentIn(data) === undefined && session.loops.get('') === undefined)
      session.openLoop(undefined, notice.at, 'notice', notice.text)
    readInLoop(session, at, data)
  }
}

function agentIn(data: unknown): string | undefined {
  return idOf(peek(data, 'agent_id'))
}

type LineType = readonly [handle: LineHandler, ...fields: string[]]

/** The types of lines that are read, and the fields of each. Other fields may be large and are not needed. */
export const FILE_LINES: ReadonlyMap<string, LineType> = new Map(
  Object.entries<LineType>({
    'session.start': [handleSessionStart, 'selectedModel', 'context'],
    'session.resume': [handleResume, 'selectedModel', 'context'],
    'user.message': [handlePrompt, 'content', 'interactionId', 'delivery'],
    'system.notification': [handleNotice, 'content'],
    'assistant.turn_start': [inLoopOrNew(handleRequestStart)],
    'assistant.turn_end': [() => undefined],
    'session.usage_record': [inLoop(handleUsageRecord), 'usage'],
    'assistant.message': [inLoopOrNew(handleMessage), 'apiCallId', 'content', 'toolRequests'],
    'tool.execution_start': [inLoopOrNew(handleToolStart), 'toolCallId', 'toolName', 'arguments'],
    'tool.execution_complete': [inLoop(handleToolEnd), 'toolCallId', 'success', 'error', 'shellExecution', 'result'],
    'permission.requested': [inLoop(handleApprovalRequest), 'permissionRequest'],
    'permission.completed': [inLoop(handleApprovalResponse), 'toolCallId', 'result', 'decisionSource'],
    'subagent.started': [handleChildStart, 'toolCallId', 'agentName'],
    'subagent.completed': [(session, at, data) => handleChildEnd(session, at, data, 'completed')],
    'subagent.failed': [(session, at, data) => handleChildEnd(session, at, data, 'failed')],
    'session.compaction_start': [inLoop(handleCompactionStart), 'compactionAttemptId', 'model'],
    'session.compaction_complete': [inLoop(handleCompactionEnd), 'success', 'compactionTokensUsed', 'error'],
    'session.error': [inLoop(handleSessionError), 'errorType', 'message', 'statusCode'],
    abort: [allEnd('reason', 'abort'), 'reason'],
    'session.shutdown': [allEnd('shutdownType', 'shutdown'), 'shutdownType'],
  }),
)

/** Hooks with a fact that the file lacks, or has later. */
const RECORDED_HOOK_HANDLERS: Readonly<Record<string, LineHandler>> = {
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

function handleResume(session: RecordedSession, at: number, data: unknown): void {
  endAllLoops(session, 'abandoned')
  handleSessionStart(session, at, data)
}

function handleNotice(session: RecordedSession, at: number, data: unknown): void {
  if (at >= session.since && session.loops.get('') === undefined) session.notice = { at, text: peek(data, 'content') }
}

function handleRequestStart(loop: CopilotLoop, at: number): void {
  settleRequest(loop)
  loop.askedAt = at
}

function handleSessionStart(session: RecordedSession, _at: number, data: unknown): void {
  session.model = textOf(peek(data, 'selectedModel')) ?? session.model
  session.noteWorkspace(peek(data, 'context'))
}

function handlePrompt(session: RecordedSession, at: number, data: unknown): void {
  const agentId = agentIn(data)
  const open = session.loops.get(agentId ?? '')
  session.notice = undefined
  if (open !== undefined) {
    // A message that joins the running turn.
    if (peek(data, 'delivery') !== 'idle') return
    endLoop(open, open.lastAt, { outcome: 'interrupted' })
  }
  if (agentId === undefined && at < session.since) return
  session.openLoop(agentId, at, idOf(peek(data, 'interactionId')) ?? `${at}`, peek(data, 'content'))
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
  const call = loop.calls.get(idOf(peek(data, 'toolCallId')) ?? '')
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
  const command = firstText(request, ['fullCommandText', 'path', 'url'])
  const surface = textOf(peek(request, 'kind'))
  call.requestApproval(at, { command, description: peek(request, 'intention'), surface })
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
  const loop = session.loops.get(agentIn(data) ?? '')
  if (loop !== undefined) endLoop(loop, at, { outcome })
  endTask(session, agentIn(data), at, outcome, loop?.answer)
}

function endTask({ tasks }: RecordedSession, agentId = '', at: number, status: string, summary?: string): void {
  const task = tasks.get(agentId)
  tasks.delete(agentId)
  task?.emitEnd(at, { status, summary })
}

function allEnd(reasonField: string, otherwise: string): LineHandler {
  return (session, at, data) => endAllLoops(session, textOf(peek(data, reasonField)) ?? otherwise, at)
}

function endAllLoops(session: RecordedSession, reason: string, at?: number): void {
  // Child agents end before the turn itself.
  const loops = [...session.loops.values()]
  const children = loops.filter(({ agentId }) => agentId !== undefined)
  for (const loop of [...children, ...loops]) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const [agentId, task] of [...session.tasks]) endTask(session, agentId, at ?? task.startAt, 'interrupted')
  session.notice = undefined
}

function endLoop(loop: CopilotLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  const { outcome, reason }: LoopEnd = loop.hasGivenUp ? { outcome: 'failed', reason: 'error' } : end
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

export const FILE_READ = 'file:read'

/** Hooks without facts of their own. They only trigger reading the session file. */
const QUIET_HOOKS: readonly string[] = ['SubagentStart', 'SubagentStop', 'PreCompact', 'Notification']

export const WAITING_HOOKS: ReadonlySet<string> = new Set(['UserPromptSubmit', 'Stop', 'SessionEnd'])

export const SPAN_REQUEST = 'span:request'
export const SPAN_READ = 'span:read'

export const OPERATION = 'gen_ai.operation.name'
/** Attributes read from a request's span. Older versions spell those of the cache differently. */
export const ATTRIBUTES = [
  'gen_ai.conversation.id',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'gen_ai.response.id',
  'gen_ai.response.finish_reasons',
  'gen_ai.output.messages',
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'github.copilot.time_to_first_chunk',
  'error.type',
] as const
export type Attribute = (typeof ATTRIBUTES)[number]
export const CONVERSATION: Attribute = 'gen_ai.conversation.id'

const ERROR = 2

type RequestSpan = NonNullable<ReturnType<typeof requestOfSpan>>

function requestOfSpan(span: unknown) {
  const attributes = peek(span, 'attributes')
  const get = (name: Attribute): unknown => peek(attributes, name)
  const startAt = numberOf(peek(span, 'startAt'))
  const endAt = numberOf(peek(span, 'endAt'))
  if (startAt === undefined || endAt === undefined || endAt < startAt) return undefined
  const hasFailed = peek(span, 'statusCode') === ERROR || get('error.type') !== undefined
  return { id: idOf(peek(span, 'spanId')), startAt, endAt, hasFailed, get }
}

function emitSpanRequest(turn: HookedTurn, { get, startAt, endAt }: RequestSpan): void {
  const model = textOf(get('gen_ai.request.model'))
  const provider = textOf(get('gen_ai.provider.name'))
  const answer = answerTextIn(get('gen_ai.output.messages'))
  turn.model = textOf(get('gen_ai.response.model')) ?? model ?? turn.model
  turn.answer = answer ?? turn.answer
  turn.emitPrompt()
  const request = turn.requests.nextRequest(startAt, { isRetry: false })
  const wait = numberOf(get('github.copilot.time_to_first_chunk'))
  request.firstChunkAt = wait === undefined ? undefined : startAt + wait * 1000
  request.emitStart({ model, provider })
  request.emitAnswer(endAt, {
    model,
    provider,
    response_model: get('gen_ai.response.model'),
    response_id: get('gen_ai.response.id'),
    finish_reason: peek(get('gen_ai.response.finish_reasons'), 0),
    // The input count includes the cache, as in OpenTelemetry's conventions.
    usage: usageOf({
      input: get('gen_ai.usage.input_tokens'),
      output: get('gen_ai.usage.output_tokens'),
      cacheRead: get('gen_ai.usage.cache_read.input_tokens') ?? get('gen_ai.usage.cache_read_input_tokens'),
      cacheWrite: get('gen_ai.usage.cache_creation.input_tokens') ?? get('gen_ai.usage.cache_creation_input_tokens'),
      reasoning: get('gen_ai.usage.reasoning.output_tokens'),
    }),
    response: answer === undefined ? undefined : { assistant_message: { role: 'assistant', content: answer } },
  })
}

function answerTextIn(messages: unknown): string | undefined {
  const all = elementsOf(jsonIn(textOf(messages) ?? ''), 100)
  const parts = all.flatMap(message => elementsOf(peek(message, 'parts'), 100))
  return joinTexts(parts.map(part => (peek(part, 'type') === 'text' ? textOf(peek(part, 'content')) : undefined)))
}

export const FIRST_HOOKS: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit'])
const BOUNDARIES: ReadonlySet<string> = new Set(['file:user.message', 'file:session.resume', 'file:session.shutdown'])
const FILE = 'file:'

class CopilotSession extends HookedSession {
  /** When the first hook fired, if it was the first of a turn. */
  since: number | undefined
  /** Requests that began after the buffered hook, in a turn that is not known yet. */
  readonly earlyRequests: RequestSpan[] = []
}

type HookHandler = (session: CopilotSession, at: number, data: unknown) => void

function ofTurn(handleHook: (turn: HookedTurn, at: number, data: unknown) => void): HookHandler {
  return (session, at, data) => handleHook(session.turnFor(at), at, data)
}

const HOOKS: Readonly<Record<string, HookHandler>> = {
  SessionStart: () => undefined,
  UserPromptSubmit: (session, at, data) => session.startTurn(at, peek(data, 'prompt')),
  PreToolUse: ofTurn((turn, at, data) => turn.startTool(at, calledIn(data))),
  PostToolUse: ofTurn((turn, at, data) => {
    const result = peek(peek(data, 'tool_result'), 'text_result_for_llm')
    turn.endTool(at, calledIn(data), { status: 'completed', result })
  }),
  PostToolUseFailure: ofTurn((turn, at, data) => {
    turn.endTool(at, calledIn(data), { status: 'error', error_message: textOf(peek(data, 'error')) })
  }),
  ErrorOccurred: ofTurn(handleError),
  Stop: ofTurn((turn, at) => turn.endTurn(at, 'completed')),
  SessionEnd: (session, at, data) => {
    emitEarlyRequests(session)
    const reason = textOf(peek(data, 'reason')) ?? 'ended'
    session.endSession(at, outcomeOf(reason), reason)
  },
}

/** Handles a failed request, the only kind that hooks report. It began after the previous hook. */
function handleError(turn: HookedTurn, at: number, data: unknown): void {
  if (peek(data, 'error_context') !== 'model_call') return
  const error = peek(data, 'error')
  const type = textOf(peek(error, 'name'))
  const retryable = peek(data, 'recoverable') === true
  turn.emitPrompt()
  const request = turn.requests.nextRequest(turn.previousAt)
  turn.requests.failures += 1
  request.emitStart({ model: turn.model }, 'inferred')
  request.emitFailure(at, { retryable, reason: type, error: { type, message: peek(error, 'message') } })
}

/**
 * Handles a request's span. Failed requests are skipped: hooks report them immediately. Exporters repeat requests whose delivery is
 * uncertain.
 */
function handleRequestSpan(session: CopilotSession, span: RequestSpan): void {
  const { bufferedHook, earlyRequests } = session
  if (span.hasFailed) return
  const turn = session.turnAt(span.startAt)
  const isEarly = bufferedHook !== undefined && (turn === undefined || span.startAt > bufferedHook.at)
  if (isEarly && earlyRequests.length < 100) earlyRequests.push(span)
  else if (turn !== undefined && (span.id === undefined || session.isNew(span.id))) emitSpanRequest(turn, span)
}

function emitEarlyRequests(session: CopilotSession): void {
  for (const span of session.earlyRequests.splice(0)) handleRequestSpan(session, span)
}

/**
 * Translates the hooks of GitHub Copilot CLI. A session whose file is read is translated from the file, which has requests, ids,
 * exit codes and child agents. Without a file (VS Code, an older Copilot) hooks have prompts, tools and failures, and telemetry
 * has the requests.
 */
export class CopilotMachine extends EventMachine {
  /** Sessions by the id in the hook: a child agent has its own. */
  readonly #hooked = new SessionStates(id => new CopilotSession(this.records, id, PLATFORM))
  readonly #recorded = new SessionStates(id => new RecordedSession(this.records, id, this.#hooked.find(id)?.since ?? 0))
  readonly #sessionOfChild: LimitedMap<string, string> = new LimitedMap(10_000)
  protected readonly events: EventHandlers = eventHandlers({
    ...handlersByName([...Object.keys(HOOKS), ...QUIET_HOOKS], () => moment => this.#bufferHook(moment)),
    ...handlersByName(
      [...FILE_LINES.keys()].map(type => FILE + type),
      () => moment => this.#handleLine(moment),
    ),
    [SPAN_REQUEST]: ({ data }) => this.#handleSpan(data),
    [SPAN_READ]: ({ data }) => this.#handleReadEnd(data),
    [FILE_READ]: ({ data }) => this.#handleReadEnd(data),
  })

  override accept(event: HostEvent): readonly HookRecord[] | undefined {
    const isStray =
      event.event === SPAN_REQUEST && this.#sessionOfSpan(event.data) === undefined && !this.#isRecorded(event.data)
    return isStray ? undefined : super.accept(event)
  }

  protected endSessions(): void {
    for (const session of this.#hooked.values()) {
      this.#releaseHook(session)
      emitEarlyRequests(session)
    }
  }

  #handleReadEnd(data: unknown): void {
    const session = this.#hooked.find(idOf(peek(data, 'session_id')) ?? '')
    if (session !== undefined) this.#releaseHook(session)
  }

  #bufferHook({ event, at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const session = this.#hooked.get(id)
    session.noteWorkspace(data)
    this.#releaseHook(session)
    const moment = { event, at: plausibleTime(timestampOf(data), at), data }
    session.since ??= FIRST_HOOKS.has(event) ? moment.at : 0
    session.bufferedHook = moment
  }

  #releaseHook(session: CopilotSession): void {
    const bufferedHook = session.takeBufferedHook()
    if (bufferedHook === undefined) return
    const { event, at, data } = bufferedHook
    const recorded = this.#recorded.find(this.#recordedSessionId(data))
    if (recorded !== undefined) {
      RECORDED_HOOK_HANDLERS[event]?.(recorded, at, data)
      return
    }
    HOOKS[event]?.(session, at, data)
    // After the end of a turn, they stay buffered for the next one.
    if (event !== 'Stop') emitEarlyRequests(session)
  }

  #recordedSessionId(data: unknown): string {
    const agentId = idOf(peek(data, 'agent_id'))
    const known = agentId === undefined ? undefined : this.#sessionOfChild.get(agentId)
    return known ?? idOf(peek(data, agentId === undefined ? 'session_id' : 'parent_agent_id')) ?? ''
  }

  #handleLine({ event, at, data }: TimedEvent): void {
    const id = idOf(peek(data, 'session_id'))
    if (id === undefined) return
    const hooked = this.#hooked.find(id)
    // The file appeared too late: the turn continues from hooks alone.
    if (this.#recorded.find(id) === undefined && hooked?.turn?.hasEnded === false) return
    const session = this.#recorded.get(id)
    const agentId = idOf(peek(data, 'agent_id'))
    if (agentId !== undefined) this.#sessionOfChild.set(agentId, id)
    // A hook before such a line belongs to the turn before it.
    else if (BOUNDARIES.has(event) && hooked?.bufferedHook !== undefined && hooked.bufferedHook.at <= at)
      this.#releaseHook(hooked)
    // Lines are read again when the receiver restarts.
    const lineId = idOf(peek(data, 'line_id'))
    if (lineId === undefined || session.isNew(lineId)) FILE_LINES.get(event.slice(FILE.length))?.[0](session, at, data)
  }

  #handleSpan(data: unknown): void {
    if (this.#isRecorded(data)) return
    const span = requestOfSpan(data)
    const session = this.#sessionOfSpan(data)
    if (span === undefined || session === undefined) return
    if (!WAITING_HOOKS.has(session.bufferedHook?.event ?? '')) this.#releaseHook(session)
    handleRequestSpan(session, span)
  }

  #isRecorded(span: unknown): boolean {
    return this.#recorded.find(conversationOf(span)) !== undefined
  }

  /** Returns the session of a span. Ended sessions are excluded, because late requests would look like a turn. */
  #sessionOfSpan(span: unknown): CopilotSession | undefined {
    const session = this.#hooked.find(conversationOf(span))
    return session?.isAnnounced === true || session?.bufferedHook !== undefined ? session : undefined
  }
}

function conversationOf(span: unknown): string {
  return idOf(peek(peek(span, 'attributes'), CONVERSATION)) ?? ''
}

/**
 * The hook payloads and rollout findings of Codex, read from 0.169.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload. Its `session_id` is that of the user's session even in a
 *   child agent, whose hooks have an `agent_id` and their own turns.
 * - `rollout:…`: findings of `receiver-adapter.ts` in the rollout. They follow the hook that triggered the read.
 *
 * All findings have `session_id`, `agent_id` in a child agent, and `turn_id`. Those of requests have `started_at`, `model` and
 * `provider`: the rollout has a line when a request's input is complete, and none when it is sent. Times are epoch milliseconds,
 * from the rollout.
 *
 * - `rollout:call` {call_id, name, arguments, at}: a tool that the model requested, in an answer that may be incomplete. The name
 *   may differ from that in hooks: `exec_command` is `Bash` there.
 * - `rollout:answer` {response_id, usage, text, calls, ended_at}: `usage` is that of this answer alone; its input includes the
 *   cache. Only the token line contains `response_id`, so it is absent if the provider counts no tokens.
 * - `rollout:failure` {at, error: {type, message}, status}: the request at which a turn has failed. Earlier attempts that were
 *   retried are not in the rollout.
 * - `rollout:item` {call_id, at, status, exit_code, ran_at, agents: [{id, role}]}: the status of a tool, as Codex displays it.
 *   Not all tools have one. `ran_at` is when execution began, without the wait for an approval.
 * - `rollout:output` {call_id, at, output}
 * - `rollout:over` {at, outcome, reason, text}: the end of the turn, `completed`, `failed` or `interrupted`.
 * - `rollout:read` {goes_on}: the end of the findings.
 */
import { elementsOf, idOf, keysOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { AgentLoop, AgentSession, type LoopEnd, type LoopIds } from '../base/agent-loop.ts'
import { FileMachine } from '../base/file-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { wrapJson } from '../base/messages.ts'
import { RecordScope } from '../base/records.ts'
import { ModelRequest, sentAt } from '../base/requests.ts'
import { childTask, type DelegatedTask, inferredChoice, Tool } from '../base/tool.ts'
import { readUsage } from '../base/usage.ts'
import { callToApprove } from '../claude-code/calls.ts'
import { jsonIn } from '../event-json.ts'

class CodexCall extends Tool<CodexLoop> {
  hasStartedAgent = false
  recordedEnd: { at: number; status: unknown; exitCode: number | undefined; ranAt: number | undefined } | undefined
  backgroundNotice: { readonly at: number; readonly result: unknown } | undefined
}

/** The prompt is emitted with the first activity: earlier work, such as a compaction, does not belong to it. */
class CodexLoop extends AgentLoop<CodexSession> {
  pendingRequest: ModelRequest | undefined
  readonly calls: LimitedMap<string, CodexCall> = new LimitedMap(10_000)
  compaction: { readonly at: number } | undefined

  callOf(id: string, at: number): CodexCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new CodexCall(this, id, undefined, at)
    call.requestId = this.pendingRequest?.id ?? this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

class CodexSession extends AgentSession {
  readonly loops: LimitedMap<string, CodexLoop> = new LimitedMap(1000)
  main: CodexLoop | undefined
  /** Tasks of child agents that have not begun, by agent id. */
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(1000)
}

function loopKey({ agentId = '', turnId }: LoopIds): string {
  return `${agentId}/${turnId}`
}

const COUNTS = {
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'cached_input_tokens',
  cacheWrite: 'cache_write_input_tokens',
  reasoning: 'reasoning_output_tokens',
}

function openRequest(loop: CodexLoop, at: number, data: unknown): ModelRequest {
  const { session, compaction } = loop
  const startAt = sentAt(data, compaction?.at ?? loop.prompt?.at ?? loop.startAt, at)
  loop.model = textOf(peek(data, 'model')) ?? loop.model
  session.provider = textOf(peek(data, 'provider')) ?? session.provider
  if (compaction === undefined) loop.emitPrompt()
  if (loop.pendingRequest !== undefined) return loop.pendingRequest
  const request =
    compaction === undefined
      ? loop.requests.nextRequest(startAt)
      : new ModelRequest(loop, startAt, { id: `${loop.turnId}:compression:${startAt}`, task: 'compression' })
  request.emitStart({ model: loop.model, provider: session.provider })
  loop.pendingRequest = request
  return request
}

function handleCall(loop: CodexLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  if (id === undefined || !loop.session.isNew(`${loop.turnId} call ${id}`)) return
  const request = openRequest(loop, at, data)
  const call = loop.callOf(id, at)
  call.requestId = request.id
  call.name ??= textOf(peek(data, 'name'))
  const args = peek(data, 'arguments')
  call.args ??= typeof args === 'string' ? jsonIn(args, args) : args
}

function handleAnswer(loop: CodexLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'response_id'))
  if (!session.isNew(`${loop.turnId} answer ${id ?? at}`)) return
  const request = openRequest(loop, at, data)
  loop.pendingRequest = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  const calls = elementsOf(peek(data, 'calls'))
  request.emitAnswer(at, {
    model: loop.model,
    provider: session.provider,
    response_id: id,
    usage: readUsage(peek(data, 'usage'), COUNTS),
    assistant_tool_call_count: calls.length,
    response: { message: { role: 'assistant', content: peek(data, 'text'), tool_calls: calls } },
  })
}

function handleFailure(loop: CodexLoop, at: number, data: unknown): void {
  if (!loop.session.isNew(`${loop.turnId} failure ${at}`)) return
  const request = openRequest(loop, at, data)
  loop.pendingRequest = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  request.emitFailure(at, {
    model: loop.model,
    provider: loop.session.provider,
    status_code: numberOf(peek(data, 'status')),
    retryable: false,
    reason: textOf(peek(peek(data, 'error'), 'type')),
    error: peek(data, 'error'),
  })
}

/** Output of a command that continues in the background: its result comes with a later hook. */
const GOES_ON = /^Process running with session ID /m
const STOPPED = /^aborted by user$/m
const REFUSED = /^Command blocked by PreToolUse hook|Rejected\(/
const EXIT_CODE = /^Process exited with code (\d+)$/m
/** Output of a call that could not be started, for which no hook fires. */
const IMPOSSIBLE = /^(?:unsupported call|failed to parse function arguments|exec_command failed)/

type Status = 'completed' | 'error' | 'blocked' | 'cancelled' | 'background'

function startCall(call: CodexCall, at: number): void {
  if (call.state !== 'asked') return
  call.turn.emitPrompt()
  call.startAt = at
  call.emitStart()
}

function endCall(call: CodexCall, at: number, status: Status | undefined, result?: unknown, code?: number): void {
  const exitCode = code ?? call.recordedEnd?.exitCode
  if (call.state === 'ended') return
  startCall(call, call.startAt)
  call.approval?.emitResponse(Math.min(at, call.recordedEnd?.ranAt ?? at), inferredChoice(status), 'inferred')
  const message = exitCode === undefined ? textOf(result) : `exit code ${exitCode}`
  const error_message = status === 'error' ? message : undefined
  call.emitEnd(at, { result: wrapJson(result), status, error_message })
}

function statusOf({ recordedEnd }: CodexCall): Status | undefined {
  if (recordedEnd === undefined) return undefined
  if (recordedEnd.status === 'declined') return 'blocked'
  return recordedEnd.status === 'failed' || (recordedEnd.exitCode ?? 0) !== 0 ? 'error' : 'completed'
}

function handleItem(loop: CodexLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  if (id === undefined) return
  const call = loop.callOf(id, loop.lastAt)
  const exitCode = numberOf(peek(data, 'exit_code'))
  call.recordedEnd = { at, status: peek(data, 'status'), exitCode, ranAt: numberOf(peek(data, 'ran_at')) }
  for (const agent of elementsOf(peek(data, 'agents'))) recordChildStart(call, at, agent)
}

/** Handles `rollout:output`. It ends calls that no hook has ended, for example denied calls, or tools without hooks. */
function handleOutput(loop: CodexLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'call_id'))
  if (id === undefined) return
  const call = loop.callOf(id, at)
  const output = peek(data, 'output')
  const text = textOf(output) ?? ''
  loop.lastAt = Math.max(loop.lastAt, at)
  const exitCode = call.recordedEnd?.exitCode ?? numberOf(EXIT_CODE.exec(text)?.[1])
  if (GOES_ON.test(text)) call.backgroundNotice = { at, result: output }
  else endCall(call, at, statusFromText(call, text, exitCode), output, exitCode)
}

function statusFromText(call: CodexCall, text: string, exitCode: number | undefined): Status {
  if (STOPPED.test(text)) return 'cancelled'
  const status = statusOf(call)
  if (status !== undefined) return status
  if (REFUSED.test(text)) return 'blocked'
  return IMPOSSIBLE.test(text) || (exitCode ?? 0) !== 0 ? 'error' : 'completed'
}

function settleCalls(loop: CodexLoop, at: number): void {
  for (const call of loop.calls.values()) {
    const { backgroundNotice, recordedEnd, state, startAt } = call
    const hasEnded = backgroundNotice !== undefined && recordedEnd !== undefined && recordedEnd.at > backgroundNotice.at
    if (hasEnded) endCall(call, recordedEnd.at, statusOf(call), backgroundNotice.result)
    else if (backgroundNotice !== undefined) endCall(call, backgroundNotice.at, 'background', backgroundNotice.result)
    else if (state === 'running') endCall(call, Math.max(at, startAt), 'cancelled')
  }
}

function handlePermissionRequest(loop: CodexLoop, at: number, data: unknown): void {
  const input = peek(data, 'tool_input')
  const [command, description] = [textOf(peek(input, 'command')), peek(input, 'description')]
  const call = callToApprove(loop.calls.values(), data, includesArguments)
  call?.requestApproval(at, { command, description, surface: 'PermissionRequest' }, 'inferred')
}

/** Returns true if `input` includes `args`: the approval's input adds the text for the user. */
function includesArguments(args: unknown, input: unknown): boolean {
  return keysOf(args, 100).every(key => JSON.stringify(peek(args, key)) === JSON.stringify(peek(input, key)))
}

const DELEGATING = /spawn_agent$/

/** Records the child agent that a call has started. The rollout usually reports it before any hook of the child fires. */
function recordChildStart(call: CodexCall, at: number, agent: unknown): void {
  const { session } = call.turn
  const agentId = idOf(peek(agent, 'id'))
  call.hasStartedAgent = true
  if (agentId === undefined || !session.isNew(`agent ${agentId}`)) return
  const task = childTask(call.turn, at, { agentId, role: textOf(peek(agent, 'role')), callId: call.id })
  task.emitStart(peek(call.args, 'message'))
  session.tasks.set(agentId, task)
}

function openChild(session: CodexSession, agentId: string, loop: CodexLoop, data: unknown): void {
  const role = textOf(peek(data, 'agent_type'))
  loop.task = session.tasks.get(agentId) ?? guessedTask(session, agentId, loop, role)
  session.tasks.delete(agentId)
  const parent_session_id = loop.task.ids.parent_session_id
  loop.emit('on_session_start', loop.startAt, { agent_name: role, platform: session.platform, parent_session_id })
}

/** Guesses the call of a child before the rollout reports it: the newest delegating call that has started no other agent. */
function guessedTask(session: CodexSession, agentId: string, loop: CodexLoop, role: string | undefined): DelegatedTask {
  session.isNew(`agent ${agentId}`)
  const running = [...(session.main?.calls.values() ?? [])].filter(({ state }) => state === 'running')
  const call = running.findLast(one => DELEGATING.test(textOf(one.name) ?? '') && !one.hasStartedAgent)
  if (call !== undefined) call.hasStartedAgent = true
  const parent = session.main ?? new RecordScope(session.records, session.id)
  const task = childTask(parent, loop.startAt, { agentId, role, callId: call?.id })
  task.emitStart(peek(call?.args, 'message'), 'inferred')
  return task
}

function loopKeyOf(data: unknown): LoopIds | undefined {
  const turnId = idOf(peek(data, 'turn_id'))
  return turnId === undefined ? undefined : { agentId: idOf(peek(data, 'agent_id')), turnId }
}

function loopFor(session: CodexSession, at: number, key: LoopIds, data: unknown): CodexLoop {
  const known = session.loops.get(loopKey(key))
  if (known !== undefined) return known
  const loop = new CodexLoop(session, key, at)
  loop.model = textOf(peek(data, 'model')) ?? loop.model
  session.loops.set(loopKey(key), loop)
  if (key.agentId !== undefined) openChild(session, key.agentId, loop, data)
  else {
    const { main } = session
    if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
    session.main = loop
    loop.announceSession()
  }
  return loop
}

/** Handles `UserPromptSubmit`. For a running turn, it is a message that joined the turn. */
function handlePrompt(loop: CodexLoop, at: number, data: unknown): void {
  if (loop.prompt === undefined) return
  loop.prompt = { at: Math.max(loop.startAt, at), text: peek(data, 'prompt') }
  loop.emitPrompt()
}

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
function handleSessionStart(session: CodexSession, _at: number, data: unknown): void {
  session.model = textOf(peek(data, 'model')) ?? session.model
  if (!['compact', 'clear'].includes(textOf(peek(data, 'source')) ?? '')) endAllLoops(session, 'abandoned')
}

/** Handles `SessionEnd`: the process exits. The session may be resumed, so it is not finalized: its turn numbers continue. */
function handleSessionEnd(session: CodexSession, at: number, data: unknown): void {
  endAllLoops(session, textOf(peek(data, 'reason')) ?? 'other', at)
}

function endAllLoops({ loops, tasks }: CodexSession, reason: string, at?: number): void {
  for (const loop of loops.values()) endLoop(loop, at ?? loop.lastAt, { outcome: 'interrupted', reason })
  for (const task of tasks.values()) task.emitEnd(at ?? task.startAt, { status: 'interrupted' })
  tasks.clear()
}

function handleStop(loop: CodexLoop, at: number, data: unknown): void {
  endLoop(loop, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

function handleTurnEnd(loop: CodexLoop, at: number, data: unknown): void {
  const recorded = peek(data, 'outcome')
  const outcome = recorded === 'failed' || recorded === 'interrupted' ? recorded : 'completed'
  // An end before the turn's start comes from a file that is being read again.
  if (at < loop.startAt) return
  endLoop(loop, at, { outcome, reason: textOf(peek(data, 'reason')), text: peek(data, 'text') })
}

function endLoop(loop: CodexLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  const { session, pendingRequest, model } = loop
  if (session.main === loop) session.main = undefined
  loop.emitPrompt()
  loop.pendingRequest = undefined
  // The answer to a pending request was cut off, or is written too late.
  pendingRequest?.emitAnswer(Math.max(at, pendingRequest.startAt), { model, provider: session.provider }, 'inferred')
  settleCalls(loop, at)
  loop.emitLoopEnd(at, end)
}

/** Hooks before which the rollout is read. */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostCompact', 'SubagentStop', 'Stop', 'Interrupt'],
  ...['SessionEnd', 'SubagentStart'],
])

type LoopHandler = (loop: CodexLoop, at: number, data: unknown) => void
type SessionHandler = (session: CodexSession, at: number, data: unknown) => void

function ofLoop(handle: LoopHandler): SessionHandler {
  return (session, at, data) => {
    const key = loopKeyOf(data)
    if (key === undefined) return
    const loop = loopFor(session, at, key, data)
    loop.lastAt = Math.max(loop.lastAt, at)
    handle(loop, at, data)
  }
}

function ofCall(handle: (call: CodexCall, at: number, data: unknown) => void): SessionHandler {
  return ofLoop((loop, at, data) => {
    const id = idOf(peek(data, 'tool_use_id'))
    if (id === undefined) return
    const call = loop.callOf(id, at)
    call.describe(peek(data, 'tool_name'), peek(data, 'tool_input'))
    handle(call, at, data)
  })
}

const HOOKS: Readonly<Record<string, SessionHandler>> = {
  SessionStart: handleSessionStart,
  UserPromptSubmit: ofLoop(handlePrompt),
  PreToolUse: ofCall(startCall),
  PermissionRequest: ofLoop(handlePermissionRequest),
  PostToolUse: ofCall((call, at, data) => endCall(call, at, statusOf(call), peek(data, 'tool_response'))),
  SubagentStart: ofLoop(() => undefined),
  SubagentStop: ofLoop(handleStop),
  PreCompact: ofLoop((loop, at) => {
    loop.compaction = { at }
  }),
  PostCompact: ofLoop(loop => {
    loop.compaction = undefined
  }),
  Stop: ofLoop(handleStop),
  Interrupt: ofLoop((loop, at) => endLoop(loop, at, { outcome: 'interrupted', reason: 'interrupted' })),
  SessionEnd: handleSessionEnd,
}

/** Skips findings of turns without a received or buffered hook: they are history. */
function ofFinding(handle: LoopHandler): SessionHandler {
  return (session, _at, data) => {
    const key = loopKeyOf(data)
    const at = numberOf(peek(data, 'at') ?? peek(data, 'ended_at'))
    if (key === undefined || at === undefined) return
    const loop = session.loops.get(loopKey(key)) ?? loopOfBufferedHook(session, key.turnId)
    if (loop !== undefined) handle(loop, at, data)
  }
}

function loopOfBufferedHook(session: CodexSession, turnId: string): CodexLoop | undefined {
  const { bufferedHook } = session
  const key = loopKeyOf(bufferedHook?.data)
  if (bufferedHook === undefined || key?.turnId !== turnId || bufferedHook.event === 'SubagentStop') return undefined
  return loopFor(session, bufferedHook.at, key, bufferedHook.data)
}

const FINDINGS: Readonly<Record<string, SessionHandler>> = {
  'rollout:call': ofFinding(handleCall),
  'rollout:answer': ofFinding(handleAnswer),
  'rollout:failure': ofFinding(handleFailure),
  'rollout:item': ofFinding(handleItem),
  'rollout:output': ofFinding(handleOutput),
  'rollout:over': ofFinding(handleTurnEnd),
}

/** Translates Codex's hooks and rollouts. Hooks contain neither requests nor the status of tools. */
export class CodexMachine extends FileMachine<CodexSession> {
  constructor() {
    const table = { hooks: HOOKS, findings: FINDINGS, readsFirst: READS_FIRST, readEnd: 'rollout:read' }
    super((records, id) => new CodexSession(records, id, 'codex'), table)
  }
}

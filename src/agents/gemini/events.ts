/**
 * The hook payloads and session file findings of Gemini CLI, read from 0.61.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`BeforeTool`, …): `data` is the hook's payload, `at` its own timestamp.
 * - `session:…`: findings of `receiver-adapter.ts` in the session's files. They follow the hook that triggered the read. A
 *   session file is written before the next hook fires, so the read never waits.
 *
 * All findings have `session_id`, and `agent_id` in a child agent. Times are epoch milliseconds.
 *
 * - `session:sent` {text}: input to the model, either a prompt or results of tools, which have no text.
 * - `session:answer` {id, model, content, tokens: {input, output, cached, thoughts, tool}}: a complete answer of the model. Its
 *   tool calls are written when they have run.
 * - `session:calls` {id, answered_at, calls: [{id, name, args, status, error, display, at}]}: `status` is `success`, `error` or
 *   `cancelled`. Only unsuccessful calls have an error; results of others come from the hook.
 * - `session:error` {id, message}: a request failed finally. Written in the terminal UI, not by `gemini -p`.
 * - `session:cancelled` {id}: the user has stopped the turn, or denied a tool, which stops the turn.
 * - `session:read`: the end of the findings.
 */
import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { AgentLoop, AgentSession, type LoopEnd } from '../base/agent-loop.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { FileMachine } from '../base/file-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'
import type { TurnResult } from '../base/records.ts'
import type { ModelRequest } from '../base/requests.ts'
import { childTask, Tool, toolKey } from '../base/tool.ts'
import { type UsageCounts, usageOf } from '../base/usage.ts'

const PROVIDER = 'gemini'

/**
 * While a child agent runs, the loop of a call is not known at first: hooks do not name the agent. Such a call is not emitted until
 * it is found in a file; `askedAt` and `end` buffer what hooks report meanwhile.
 */
class GeminiCall extends Tool<GeminiLoop> {
  declare turn: GeminiLoop
  /** Name and input, the only identification of a call in hooks. */
  key: string
  askedAt: number | undefined
  end: { readonly at: number; readonly response: unknown } | undefined

  constructor(turn: GeminiLoop, name: unknown, args: unknown, startAt: number, key: string = toolKey(name, args)) {
    super(turn, callIdOf(turn.session.id, key, startAt), name, startAt)
    this.args = args
    this.key = key
  }
}

class GeminiLoop extends AgentLoop<GeminiSession> {
  sentAt: number | undefined
  readonly requestIdByAnswer: LimitedMap<string, string> = new LimitedMap(10_000)
  /** Calls that were not found in the file yet, in order. */
  readonly calls: Set<GeminiCall> = new Set()
  toolCount = 0
  answer: unknown
  delegatingCall: GeminiCall | undefined
}

class GeminiSession extends AgentSession {
  /** The session's end, which fires several times, has been emitted. */
  isFinalized = false
  main: GeminiLoop | undefined
  readonly children: LimitedMap<string, GeminiLoop> = new LimitedMap(1000)
  readonly unassignedCalls: Set<GeminiCall> = new Set()

  get openChildren(): GeminiLoop[] {
    return [...this.children.values()].filter(({ hasEnded }) => !hasEnded)
  }
}

/** Builds the id of a call from its start, because no hook has an id. @param at when `BeforeTool` fired */
export function callIdOf(sessionId: string, key: string, at: number): string {
  return `${sessionId}:tool:${at}:${digestOf(key)}`
}

/** FNV-1a: distinguishes two calls of the same millisecond. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

function startRequest(loop: GeminiLoop, at: number, model?: string): ModelRequest {
  loop.emitPrompt(model)
  // Input sent before the loop began does not belong to it.
  const startAt = Math.min(at, Math.max(loop.startAt, loop.sentAt ?? at))
  const isGuessed = loop.sentAt === undefined
  loop.sentAt = undefined
  loop.lastAt = Math.max(loop.lastAt, at)
  const request = loop.requests.nextRequest(startAt)
  request.emitStart({ model: loop.model, provider: PROVIDER }, isGuessed ? 'inferred' : undefined)
  return request
}

function handleAnswer(loop: GeminiLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id === undefined || !loop.session.isNew(id)) return
  const model = textOf(peek(data, 'model'))
  if (loop.sessionId === loop.session.id) loop.session.model = model
  const request = startRequest(loop, at, model)
  loop.requestIdByAnswer.set(id, request.id)
  const text = plainText(peek(data, 'content'))
  loop.answer = text ?? loop.answer
  const response = { message: { role: 'assistant', content: text } }
  request.emitAnswer(at, { model, provider: PROVIDER, usage: tokensOf(peek(data, 'tokens')), response })
}

/** The input count includes the cache. Thoughts, and input from the provider's tools, are counted separately. */
function tokensOf(tokens: unknown): UsageCounts | undefined {
  const input = Number(peek(tokens, 'input') ?? 0) + Number(peek(tokens, 'tool') ?? 0)
  const [output, cacheRead, reasoning] = [peek(tokens, 'output'), peek(tokens, 'cached'), peek(tokens, 'thoughts')]
  return usageOf({ input, output, cacheRead, reasoning }, { reasoningIsOutside: true })
}

const DENIED = 'User denied'
/** Prefix of the result of a tool that a hook of another program has blocked. */
const BLOCKED = 'Tool execution blocked:'

/** Handles `BeforeTool`. The tool belongs to the turn, unless a child is running: its tools fire the same hook. */
function handleToolStart(loop: GeminiLoop, at: number, data: unknown): void {
  const { session, calls } = loop
  const call = new GeminiCall(loop, peek(data, 'tool_name'), peek(data, 'tool_input'), at)
  if ([...calls].some(({ id }) => id === call.id)) call.id = `${call.id}:${loop.toolCount + 1}`
  if (session.openChildren.length > 0) session.unassignedCalls.add(call)
  else startCall(call, loop.requests.lastId, 'inferred')
}

function startCall(call: GeminiCall, requestId: string | undefined, correlation?: 'inferred'): void {
  const loop = call.turn
  loop.emitPrompt()
  loop.toolCount += 1
  call.requestId = requestId
  call.emitStart(correlation)
  loop.calls.add(call)
}

/** Handles `AfterTool`. Of identical calls, the first ends. */
function handleToolEnd(session: GeminiSession, at: number, data: unknown): void {
  const { main, unassignedCalls } = session
  const name = peek(data, 'tool_name')
  const key = toolKey(name, peek(data, 'tool_input'))
  const response = peek(data, 'tool_response')
  const running = [...(main?.calls ?? [])].filter(({ state }) => state === 'running')
  const open = [...running, ...[...unassignedCalls].filter(({ end }) => end === undefined)]
  // If a hook has rewritten the input, `AfterTool` contains the new one.
  const call = open.find(one => one.key === key) ?? open.find(one => one.name === name)
  if (call === undefined) return
  call.key = key
  if (unassignedCalls.has(call)) call.end = { at, response }
  else {
    endCall(call, at, response)
    endDelegation(session, call, at, response)
  }
}

function endCall(call: GeminiCall, at: number, response: unknown): void {
  const error = peek(response, 'error')
  const content = peek(response, 'llmContent')
  const text = plainText(content)
  const isBlocked = text?.startsWith(BLOCKED) === true
  call.turn.lastAt = Math.max(call.turn.lastAt, at)
  call.approval?.emitResponse(at, 'once', 'inferred')
  call.emitEnd(at, {
    result: text === undefined || looksLikeJson(text) ? { content } : text,
    status: error === undefined ? undefined : isBlocked ? 'blocked' : 'error',
    error_type: textOf(peek(error, 'type')),
    error_message: textOf(peek(error, 'message')),
  })
}

function handleCalls(loop: GeminiLoop, data: unknown): void {
  const answeredAt = numberOf(peek(data, 'answered_at')) ?? loop.startAt
  const requestId = loop.requestIdByAnswer.get(idOf(peek(data, 'id')) ?? '')
  // An answer of an earlier turn: the file is being read again.
  if (requestId === undefined) return
  for (const found of elementsOf(peek(data, 'calls'))) {
    const id = idOf(peek(found, 'id'))
    if (id !== undefined && loop.session.isNew(id)) matchCall(loop, id, found, answeredAt, requestId)
  }
}

/** Joins a line of the file to the first unmatched call of the same name and input. */
function matchCall(loop: GeminiLoop, id: string, found: unknown, answeredAt: number, requestId: string): void {
  const [name, args] = [peek(found, 'name'), peek(found, 'args')]
  const key = toolKey(name, args)
  const fits = (one: GeminiCall): boolean => one.key === key && one.startAt >= answeredAt
  const { unassignedCalls } = loop.session
  let call = [...loop.calls].find(fits)
  if (call === undefined) {
    call = [...unassignedCalls].find(fits) ?? new GeminiCall(loop, name, args, answeredAt, key)
    call.turn = loop
    call.id = id
    startCall(call, requestId, unassignedCalls.delete(call) ? 'inferred' : undefined)
    if (call.askedAt !== undefined) requestApproval(call, call.askedAt, {})
    if (call.end !== undefined) endCall(call, call.end.at, call.end.response)
  }
  endRecordedCall(call, found)
  loop.calls.delete(call)
}

/** Ends a call without an end hook: it was denied, or could not be started. */
function endRecordedCall(call: GeminiCall, found: unknown): void {
  if (call.state === 'ended') return
  const at = Math.max(call.startAt, numberOf(peek(found, 'at')) ?? call.turn.lastAt)
  const error = textOf(peek(found, 'error'))
  const isCancelled = peek(found, 'status') === 'cancelled'
  const other = peek(found, 'status') === 'error' ? 'error' : undefined
  const cancelled = error?.includes(DENIED) === true ? 'blocked' : 'cancelled'
  const status = isCancelled ? cancelled : other
  call.approval?.emitResponse(at, isCancelled ? 'deny' : 'once', 'inferred')
  call.turn.lastAt = Math.max(call.turn.lastAt, at)
  call.emitEnd(at, { result: error, status, error_message: status === 'error' ? error : undefined })
}

/** Handles `Notification`. It has no call id, but usually the command or file. */
function handleNotification({ main, unassignedCalls }: GeminiSession, at: number, data: unknown): void {
  if (peek(data, 'notification_type') !== 'ToolPermission') return
  const details = peek(data, 'details')
  const known = [...(main?.calls ?? [])].filter(call => call.state === 'running' && call.approval === undefined)
  const others = [...unassignedCalls].filter(call => call.end === undefined && call.askedAt === undefined)
  const fits = ({ args }: GeminiCall): boolean => isAbout(args, details)
  const call = known.findLast(fits) ?? others.findLast(fits) ?? others.at(-1) ?? known.at(-1)
  if (call === undefined) return
  if (unassignedCalls.has(call)) call.askedAt = at
  else requestApproval(call, at, details)
}

function isAbout(args: unknown, details: unknown): boolean {
  const subject = textOf(peek(details, 'command')) ?? textOf(peek(details, 'filePath'))
  return subject !== undefined && [peek(args, 'command'), peek(args, 'file_path')].includes(subject)
}

function requestApproval(call: GeminiCall, at: number, details: unknown): void {
  call.requestApproval(at, { command: textOf(peek(details, 'command')), surface: 'ToolPermission' }, 'inferred')
}

/** Ends the remaining calls of a loop. If it has completed, the results of these calls were sent to the model. */
function settleCalls(loop: GeminiLoop, at: number, outcome?: TurnResult): void {
  for (const call of loop.calls) {
    const isOver = outcome === 'completed' && call.approval?.isAnswered !== false
    call.approval?.emitResponse(at, 'deny', 'inferred')
    if (isOver) call.emitEnd(at, {}, 'inferred')
    else call.emitEnd(at, { status: 'cancelled' })
  }
  loop.calls.clear()
}

/**
 * Returns the loop of a child agent, which begins with the first line of its file. Returns undefined for a child of an earlier
 * turn.
 */
function childLoopFor(session: GeminiSession, at: number, agentId: string, data: unknown): GeminiLoop | undefined {
  const known = session.children.get(agentId)
  const { main } = session
  if (known !== undefined || main === undefined || at < main.startAt) return known
  const goal = textOf(peek(data, 'text'))
  const taken = new Set([...session.children.values()].map(child => child.delegatingCall))
  const free = [...main.calls].filter(one => one.name === 'invoke_agent' && one.state === 'running' && !taken.has(one))
  const asked = free.filter(call => goal !== undefined && peek(call.args, 'prompt') === goal)
  const call = asked[0] ?? free[0]
  const role = textOf(peek(call?.args, 'agent_name'))
  const loop = new GeminiLoop(session, { agentId, turnId: `${agentId}:1` }, at, goal)
  loop.task = childTask(main, at, { agentId, role, callId: call?.id })
  loop.delegatingCall = call
  session.children.set(agentId, loop)
  loop.task.emitStart(goal, asked.length === 1 ? undefined : 'inferred')
  loop.announceChild(role, session.id)
  return loop
}

function endDelegation(session: GeminiSession, call: GeminiCall, at: number, response: unknown): void {
  const child = session.openChildren.find(({ delegatingCall }) => delegatingCall === call)
  if (child === undefined) return
  const reason = textOf(peek(peek(response, 'returnDisplay'), 'terminateReason'))
  const hasFailed = peek(response, 'error') !== undefined || (reason !== undefined && reason !== 'GOAL')
  const outcome = reason === 'ABORTED' ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  endLoop(child, at, { outcome, reason, text: peek(peek(response, 'returnDisplay'), 'result') })
}

function interruptChildren(session: GeminiSession, at: number): void {
  for (const child of session.openChildren) endLoop(child, at, { outcome: 'interrupted' })
}

function endLoop(loop: GeminiLoop, at: number, { outcome, reason, text }: LoopEnd): void {
  const { session } = loop
  const answer = text ?? loop.answer
  loop.hasEnded = true
  loop.emitPrompt()
  if (loop === session.main) {
    session.main = undefined
    interruptChildren(session, at)
    session.unassignedCalls.clear()
  }
  if (loop.sentAt !== undefined) {
    const cut = { model: loop.model, provider: PROVIDER, finish_reason: 'aborted' }
    startRequest(loop, at).emitAnswer(at, cut, 'inferred')
  }
  settleCalls(loop, at, outcome)
  loop.emitLoopEnd(at, { outcome, reason, text: outcome === 'completed' ? answer : undefined }, answer)
}

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
function handleSessionStart(session: GeminiSession, _at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined && peek(data, 'source') === 'resume')
    endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
}

function handlePrompt(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  // A repeated delivery of the same hook.
  if (main?.startAt === at) return
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  openTurn(session, at, peek(data, 'prompt'))
}

function openTurn(session: GeminiSession, at: number, text?: unknown): GeminiLoop {
  const loop = new GeminiLoop(session, { turnId: `${session.id}:${at}` }, at, text)
  session.main = loop
  session.isFinalized = false
  loop.announceSession()
  if (loop.model !== undefined) loop.emitPrompt()
  return loop
}

function handleRequestError(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop.hasEnded || !session.isNew(id)) return
  const message = textOf(peek(data, 'message'))
  const status = /"code":\s?(\d{3})\b/.exec(message?.slice(0, 2000) ?? '')?.[1]
  const type = /"status":\s?"([A-Z_]{3,40})"/.exec(message?.slice(0, 2000) ?? '')?.[1] ?? 'provider_error'
  startRequest(loop, at).emitFailure(at, {
    model: loop.model,
    provider: PROVIDER,
    status_code: numberOf(status),
    retryable: false,
    reason: type,
    error: { type, message },
  })
  if (loop === session.main) endLoop(loop, at, { outcome: 'failed', reason: 'failed' })
}

function handleCancellation(loop: GeminiLoop, at: number, data: unknown): void {
  const id = idOf(peek(data, 'id'))
  if (id !== undefined && loop === loop.session.main && loop.session.isNew(id))
    endLoop(loop, at, { outcome: 'interrupted', reason: 'cancelled' })
}

/**
 * Handles `AfterAgent`. The file's answer is preferred, because the hook's text repeats parts. If a hook of another program makes
 * the agent go on, the continuation is a turn without a prompt.
 */
function handleAgentEnd({ main }: GeminiSession, at: number, data: unknown): void {
  if (main !== undefined)
    endLoop(main, at, { outcome: 'completed', text: main.answer ?? peek(data, 'prompt_response') })
}

/** Handles `SessionEnd`, which fires several times. In `gemini -p`, it is the last event of a request that failed finally. */
function handleSessionEnd(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined) {
    main.emitPrompt()
    // A request without an end, because its result is unknown. The trace shows it as incomplete.
    if (main.sentAt !== undefined) startRequest(main, at)
    interruptChildren(session, at)
    settleCalls(main, at)
    session.main = undefined
  }
  const reason = textOf(peek(data, 'reason'))
  // Only `clear` discards the session id. Otherwise the session can be resumed, and its turns continue their numbers.
  if (session.isFinalized || (main === undefined && reason !== 'clear')) return
  session.isFinalized = true
  session.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
}

export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
])

/**
 * Hooks that add nothing to others. `PreCompress` fires before each request, even if nothing is compressed, and `AfterModel` for
 * each chunk.
 */
const QUIET_HOOKS: readonly string[] = ['BeforeModel', 'BeforeToolSelection', 'AfterModel', 'PreCompress']

type SessionHandler = (session: GeminiSession, at: number, data: unknown) => void

const HOOKS: Readonly<Record<string, SessionHandler>> = {
  SessionStart: handleSessionStart,
  BeforeAgent: handlePrompt,
  BeforeTool: (session, at, data) => handleToolStart(session.main ?? openTurn(session, at), at, data),
  AfterTool: handleToolEnd,
  Notification: handleNotification,
  AfterAgent: handleAgentEnd,
  SessionEnd: handleSessionEnd,
}

function ofFinding(handle: (loop: GeminiLoop, at: number, data: unknown) => void): SessionHandler {
  return (session, at, data) => {
    const agentId = idOf(peek(data, 'agent_id'))
    const loop = agentId === undefined ? session.main : childLoopFor(session, at, agentId, data)
    // Skips findings of an earlier turn: the session was resumed, or the file is being read again.
    if (loop !== undefined && at >= loop.startAt) handle(loop, at, data)
  }
}

const FINDINGS: Readonly<Record<string, SessionHandler>> = {
  'session:sent': ofFinding((loop, at) => {
    if (!loop.hasEnded && loop.session.isNew(`${loop.sessionId} sent ${at}`)) loop.sentAt = at
  }),
  'session:answer': ofFinding(handleAnswer),
  'session:calls': ofFinding((loop, _at, data) => handleCalls(loop, data)),
  'session:error': ofFinding(handleRequestError),
  'session:cancelled': ofFinding(handleCancellation),
}

/** A turn's own prompt is sent after `BeforeAgent`, and no hook follows `SessionEnd`. */
function findingsUntil({ event, at }: TimedEvent): number {
  if (event === 'SessionEnd') return Number.POSITIVE_INFINITY
  return event === 'BeforeAgent' ? at - 1 : at
}

/** Translates the hooks and session files of Gemini CLI; only the files contain requests. */
export class GeminiMachine extends FileMachine<GeminiSession> {
  constructor() {
    const table = {
      hooks: HOOKS,
      findings: FINDINGS,
      readsFirst: READS_FIRST,
      readEnd: 'session:read',
      quiet: QUIET_HOOKS,
      findingsUntil,
    }
    super((records, id) => new GeminiSession(records, id, 'gemini-cli', PROVIDER), table)
  }
}

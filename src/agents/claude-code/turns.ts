import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { plainText } from '../base/messages.ts'
import { RecordScope } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { childTask } from '../base/tool.ts'
import type { UsageCounts } from '../base/usage.ts'
import { endRemainingCalls, LAUNCHED } from './calls.ts'
import { endOpenRequest, handleRequest } from './requests.ts'
import { type ClaudeCall, type ClaudeLoop, type ClaudeSession, DELEGATING, isNotification } from './session.ts'

export function linkAgent(session: ClaudeSession, _at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  const callId = idOf(peek(data, 'tool_use_id'))
  if (agentId !== undefined && callId !== undefined) session.callOfAgent.set(agentId, callId)
}

/** Handles `SubagentStart`. A second one resumes an agent that had ended. */
export function handleSubagentStart(session: ClaudeSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId === undefined || session.children.get(agentId)?.hasEnded === false) return
  startChild(session, at, { agentId, data })
}

export function loopOfAgent(session: ClaudeSession, at: number, agentId: string, data: unknown): ClaudeLoop {
  return session.children.get(agentId) ?? startChild(session, at, { agentId, data })
}

/** @param starter the agent that started it, if it is known and the tool call is not */
export function startChild(
  session: ClaudeSession,
  at: number,
  { agentId, data, starter }: { agentId: string; data: unknown; starter?: ClaudeLoop | undefined },
): ClaudeLoop {
  const found = session.calls.get(session.callOfAgent.get(agentId) ?? '')
  const type = peek(data, 'agent_type') ?? peek(data, 'subagent_type')
  const role = textOf(type) ?? textOf(peek(found?.args, 'subagent_type'))
  const call = found ?? (starter === undefined ? delegatingCall(session, role) : undefined)
  const promptId = idOf(peek(data, 'prompt_id'))
  const parent =
    call?.turn ?? starter ?? session.main ?? session.previous ?? new RecordScope(session.records, session.id)
  const goal = peek(call?.args, 'prompt') ?? peek(data, 'prompt') ?? peek(data, 'description')
  const runs = (session.children.get(agentId)?.runs ?? 0) + 1
  const loop = session.createLoop({ agentId, turnId: `${agentId}:${runs}`, promptId }, at, goal)
  loop.runs = runs
  loop.callId = call?.id
  loop.task = childTask(parent, at, { agentId, role, callId: call?.id })
  session.children.set(agentId, loop)
  loop.task.emitStart(goal, found === undefined ? 'inferred' : undefined)
  loop.announceChild(role, parent.sessionId)
  return loop
}

/** Guesses the call of an agent, which no hook reports: the first running call that fits and has no agent yet. */
function delegatingCall(session: ClaudeSession, role: string | undefined): ClaudeCall | undefined {
  const taken = new Set([...session.children.values()].map(child => child.callId))
  return [...session.calls.values()].find(({ id, name, state, args }) => {
    const isOfRole = role === undefined || (textOf(peek(args, 'subagent_type')) ?? role) === role
    return DELEGATING.has(name) && state === 'running' && !taken.has(id) && isOfRole
  })
}

/** Handles `SubagentStop`. Claude Code's internal agents, for example for a summary, fire only this hook and are ignored. */
export function handleSubagentStop(session: ClaudeSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id')) ?? ''
  const isJoined = session.callOfAgent.has(agentId)
  const child = session.children.get(agentId) ?? (isJoined ? startChild(session, at, { agentId, data }) : undefined)
  if (child !== undefined) endLoop(child, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Returns the children that end with the call of a delegating tool: none if it launched them in the background. */
export function delegatedChildren(call: ClaudeCall, response: unknown): readonly ClaudeLoop[] {
  const isLaunched =
    peek(response, 'isAsync') === true ||
    peek(response, 'status') === 'async_launched' ||
    plainText(response)?.startsWith(LAUNCHED) === true
  return DELEGATING.has(call.name) && !isLaunched ? childrenOf(call) : []
}

function childrenOf({ id, turn }: ClaudeCall): readonly ClaudeLoop[] {
  return [...turn.session.children.values()].filter(child => child.callId === id)
}

/** Ends the child of a synchronous delegating tool, in case no hook reported the child's end. */
export function endDelegatedChildren(call: ClaudeCall, at: number, response: unknown, hasFailed: boolean): void {
  const outcome = hasFailed ? 'failed' : 'completed'
  for (const child of delegatedChildren(call, response)) endLoop(child, at, { outcome })
}

function endChildrenOfLoop(loop: ClaudeLoop, at: number): void {
  for (const call of loop.calls) {
    const { batchEnd, sentOnAt } = call
    if (batchEnd !== undefined) endDelegatedChildren(call, batchEnd.at, batchEnd.result, false)
    else if (sentOnAt === undefined)
      for (const child of childrenOf(call)) endLoop(child, at, { outcome: 'interrupted' })
  }
}

/** Marks a loop as ended, and emits its prompt if no model was known until now. */
export function markEnded(loop: ClaudeLoop): void {
  const { session } = loop
  loop.hasEnded = true
  if (session.main === loop) {
    session.main = undefined
    session.previous = loop
  }
  loop.emitPrompt()
}

function endLoop(loop: ClaudeLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  markEnded(loop)
  endOpenRequest(loop, at, end.outcome === 'interrupted')
  endChildrenOfLoop(loop, at)
  endRemainingCalls(loop, at, end.outcome)
  loop.emitLoopEnd(at, end)
}

/**
 * Handles a new process of the agent. A process that was killed has left its turn open. A late hook belongs to the
 * process of the current turn.
 */
export function handleSessionStart(session: ClaudeSession, at: number, data: unknown, context: unknown): void {
  session.model = textOf(peek(data, 'model')) ?? session.model
  const source = peek(data, 'source')
  const { main } = session
  const isSameProcess = source === 'compact' || source === 'clear' || (main !== undefined && at <= main.startAt)
  if (isSameProcess) return
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  endChildren(session)
  session.callerTraceparent = textOf(peek(context, 'traceparent'))
}

export function handlePrompt(session: ClaudeSession, at: number, data: unknown): void {
  const id = idOf(peek(data, 'prompt_id'))
  // The id of a known turn: a message that joined the running turn, or a repeated hook.
  if (id !== undefined && turnOf(session, id) !== undefined) return
  const text = peek(data, 'prompt')
  const { main } = session
  // Background agents that end together share one request to the model.
  const isUntouched = main?.requests.count === 0 && main.calls.size === 0
  if (main?.isNotified === true && isUntouched && isNotification(text)) main.promptIds.add(id)
  else openTurn(session, at, id, text)
}

function openTurn(session: ClaudeSession, at: number, promptId: string | undefined, text?: unknown): ClaudeLoop {
  const { main } = session
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  session.turns += 1
  const loop = session.createLoop({ turnId: promptId ?? `${session.id}:${session.turns}`, promptId }, at, text)
  session.main = loop
  const traceparent = session.callerTraceparent
  if (session.isAnnounced) loop.prompt = { at, text, traceparent }
  else loop.announceSession(traceparent)
  if (loop.model !== undefined) loop.emitPrompt()
  return loop
}

export function turnOf({ main, previous }: ClaudeSession, promptId: string | undefined): ClaudeLoop | undefined {
  if (promptId === undefined || main?.promptIds.has(promptId) === true) return main
  return previous?.promptIds.has(promptId) === true ? previous : undefined
}

export function turnFor(session: ClaudeSession, at: number, promptId: string | undefined): ClaudeLoop {
  return turnOf(session, promptId) ?? openTurn(session, at, promptId)
}

export function handleStop(session: ClaudeSession, at: number, data: unknown): void {
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (loop !== undefined) endLoop(loop, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Handles `StopFailure`, which is the only hook of a child that fails. */
export function handleStopFailure(session: ClaudeSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  const loop = agentId === undefined ? turnOf(session, idOf(peek(data, 'prompt_id'))) : session.children.get(agentId)
  if (loop !== undefined) endLoop(loop, at, { outcome: 'failed', reason: textOf(peek(data, 'error')) ?? 'unknown' })
}

export function handleInterruption(session: ClaudeSession, at: number, data: unknown): void {
  const id = idOf(peek(data, 'line_id'))
  const loop = turnOf(session, idOf(peek(data, 'prompt_id')))
  if (loop === undefined || id === undefined || at < loop.startAt || !session.isNew(id)) return
  if (peek(data, 'started_at') !== undefined) handleRequest(loop, at, data)
  endLoop(loop, at, { outcome: 'interrupted', reason: 'interrupted' })
}

export function handleSessionEnd(session: ClaudeSession, at: number, data: unknown): void {
  const reason = textOf(peek(data, 'reason')) ?? 'other'
  if (session.main !== undefined) endLoop(session.main, at, { outcome: 'interrupted', reason })
  endChildren(session)
  finishCompaction(session, at)
  if (!session.isAnnounced) return
  session.isAnnounced = false
  // Other reasons end only the process: the session can be resumed, and its turns continue their numbers.
  if (reason !== 'clear') return
  session.records.addRecord('on_session_finalize', at, { session_id: session.id, platform: session.platform, reason })
}

/** Ends the children, whose process is gone. */
function endChildren(session: ClaudeSession): void {
  for (const child of session.children.values()) endLoop(child, child.lastAt, { outcome: 'interrupted' })
}

/** Handles `PreCompact`: the conversation is summarised by requests that no transcript contains. */
export function beginCompaction(session: ClaudeSession, at: number): void {
  if (session.compaction !== undefined) return
  session.compactions += 1
  const scope = session.main ?? new RecordScope(session.records, session.id)
  const id = `${session.id}:compaction:${session.compactions}`
  session.compaction = new ModelRequest(scope, at, { id, task: 'compression' })
  session.compaction.emitStart({ provider: session.dialect.provider })
}

export function finishCompaction(session: ClaudeSession, at: number, usage?: UsageCounts): void {
  session.compaction?.emitAnswer(at, { provider: session.dialect.provider, usage }, usage && 'inferred')
  session.compaction = undefined
}

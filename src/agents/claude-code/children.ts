import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { plainText } from '../base/messages.ts'
import type { TurnResult } from '../base/turn.ts'
import { endRemainingCalls, LAUNCHED } from './calls.ts'
import { endOpenRequest } from './requests.ts'
import { type ClaudeCall, type ClaudeChild, type ClaudeLoop, type ClaudeSession, DELEGATING } from './session.ts'

export function linkAgent(session: ClaudeSession, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  const callId = idOf(peek(data, 'tool_use_id'))
  if (agentId !== undefined && callId !== undefined) session.callOfAgent.set(agentId, callId)
}

/** Handles `SubagentStart`. A second one resumes an agent that had ended. */
export function handleSubagentStart(session: ClaudeSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId === undefined || session.children.get(agentId)?.loop.hasEnded === false) return
  startChild(session, at, { agentId, data })
}

export function loopOfAgent(session: ClaudeSession, at: number, agentId: string, data: unknown): ClaudeLoop {
  return (session.children.get(agentId) ?? startChild(session, at, { agentId, data })).loop
}

/**
 * @param data a hook or message of the agent or about it
 * @param starter the agent that started it, if it is known and the tool call is not
 */
export function startChild(
  session: ClaudeSession,
  at: number,
  {
    agentId,
    data,
    starter,
  }: { readonly agentId: string; readonly data: unknown; readonly starter?: ClaudeLoop | undefined },
): ClaudeChild {
  const known = session.children.get(agentId)
  const found = session.calls.get(session.callOfAgent.get(agentId) ?? '')
  const type = peek(data, 'agent_type') ?? peek(data, 'subagent_type')
  const role = textOf(type) ?? textOf(peek(found?.args, 'subagent_type'))
  const call = found ?? (starter === undefined ? delegatingCall(session, role) : undefined)
  const promptId = idOf(peek(data, 'prompt_id'))
  const parent = call?.turn ?? starter ?? session.main ?? session.previous
  const parent_session_id = parent?.sessionId ?? session.id
  const goal = peek(call?.args, 'prompt') ?? peek(data, 'prompt') ?? peek(data, 'description')
  const runs = (known?.runs ?? 0) + 1
  const loop = session.createLoop({ sessionId: agentId, turnId: `${agentId}:${runs}`, promptId }, at, goal)
  const task = new DelegatedTask(session.records, at, {
    parent_session_id,
    parent_turn_id: parent?.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
    tool_call_id: call?.id,
  })
  const child = { agentId, loop, task, runs, callId: call?.id }
  session.children.set(agentId, child)
  task.emitStart(goal, found === undefined ? 'inferred' : undefined)
  const { platform } = session.dialect
  loop.emit('on_session_start', at, { agent_name: role, provider: loop.provider, platform, parent_session_id })
  return child
}

/** Guesses the call of an agent, which no hook reports: the first running call that fits and has no agent yet. */
function delegatingCall(session: ClaudeSession, role: string | undefined): ClaudeCall | undefined {
  const taken = new Set([...session.children.values()].map(child => child.callId))
  for (const call of session.calls.values()) {
    const fits = DELEGATING.has(call.name) && call.state === 'running' && !taken.has(call.id)
    if (fits && (role === undefined || (textOf(peek(call.args, 'subagent_type')) ?? role) === role)) return call
  }
  return undefined
}

/** Handles `SubagentStop`. Claude Code's internal agents, for example for a summary, fire only this hook and are ignored. */
export function handleSubagentStop(session: ClaudeSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id')) ?? ''
  const isJoined = session.callOfAgent.has(agentId)
  const child = session.children.get(agentId) ?? (isJoined ? startChild(session, at, { agentId, data }) : undefined)
  if (child !== undefined) endChild(child, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Handles `StopFailure` of a child, for which no other hook reports the end. */
export function handleSubagentFailure(session: ClaudeSession, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'agent_id')) ?? '')
  const reason = textOf(peek(data, 'error')) ?? 'unknown'
  if (child !== undefined) endChild(child, at, { outcome: 'failed', reason })
}

/** Ends the child of a synchronous delegating tool, in case no hook reported the child's end. */
export function endDelegatedChildren(call: ClaudeCall, at: number, response: unknown, hasFailed: boolean): void {
  if (!DELEGATING.has(call.name)) return
  if (peek(response, 'isAsync') === true || peek(response, 'status') === 'async_launched') return
  if (plainText(response)?.startsWith(LAUNCHED) === true) return
  endChildrenOf(call, at, hasFailed ? 'failed' : 'completed')
}

function endChildrenOf(call: ClaudeCall, at: number, outcome: TurnResult): void {
  for (const child of call.turn.session.children.values())
    if (child.callId === call.id) endChild(child, at, { outcome })
}

export function endChildrenOfLoop(loop: ClaudeLoop, at: number): void {
  for (const call of loop.calls) {
    const { batchEnd, sentOnAt } = call
    if (batchEnd !== undefined) endDelegatedChildren(call, batchEnd.at, batchEnd.result, false)
    else if (sentOnAt === undefined) endChildrenOf(call, at, 'interrupted')
  }
}

interface ChildEnd {
  readonly outcome: TurnResult
  readonly reason?: string
  readonly text?: unknown
}

export function endChild({ loop, task }: ClaudeChild, at: number, { outcome, reason, text }: ChildEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  loop.emitPrompt()
  endOpenRequest(loop, at, outcome === 'interrupted')
  endChildrenOfLoop(loop, at)
  endRemainingCalls(loop, at, outcome)
  loop.emitAnswer(at, text, loop.model)
  loop.emitEnd(at, { outcome, reason: reason ?? outcome, model: loop.model })
  task.emitEnd(at, { status: outcome, summary: text })
}

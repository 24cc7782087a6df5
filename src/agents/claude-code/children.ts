import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { childTask } from '../base/delegation.ts'
import { plainText } from '../base/messages.ts'
import { RecordScope } from '../base/records.ts'
import type { TurnResult } from '../base/turn.ts'
import { endRemainingCalls, LAUNCHED } from './calls.ts'
import { endOpenRequest } from './requests.ts'
import { type ClaudeCall, type ClaudeLoop, type ClaudeSession, DELEGATING } from './session.ts'

export function linkAgent(session: ClaudeSession, data: unknown): void {
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

interface ChildStart {
  readonly agentId: string
  readonly data: unknown
  /** The agent that started it, if it is known and the tool call is not. */
  readonly starter?: ClaudeLoop | undefined
}

export function startChild(session: ClaudeSession, at: number, { agentId, data, starter }: ChildStart): ClaudeLoop {
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
  if (child !== undefined) endLoop(child, at, { outcome: 'completed', text: peek(data, 'last_assistant_message') })
}

/** Handles `StopFailure` of a child, for which no other hook reports the end. */
export function handleSubagentFailure(session: ClaudeSession, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'agent_id')) ?? '')
  const reason = textOf(peek(data, 'error')) ?? 'unknown'
  if (child !== undefined) endLoop(child, at, { outcome: 'failed', reason })
}

/** Ends the child of a synchronous delegating tool, in case no hook reported the child's end. */
export function endDelegatedChildren(call: ClaudeCall, at: number, response: unknown, hasFailed: boolean): void {
  if (!DELEGATING.has(call.name)) return
  if (peek(response, 'isAsync') === true || peek(response, 'status') === 'async_launched') return
  if (plainText(response)?.startsWith(LAUNCHED) === true) return
  endChildrenOf(call, at, hasFailed ? 'failed' : 'completed')
}

function endChildrenOf(call: ClaudeCall, at: number, outcome: TurnResult): void {
  for (const child of call.turn.session.children.values()) if (child.callId === call.id) endLoop(child, at, { outcome })
}

function endChildrenOfLoop(loop: ClaudeLoop, at: number): void {
  for (const call of loop.calls) {
    const { batchEnd, sentOnAt } = call
    if (batchEnd !== undefined) endDelegatedChildren(call, batchEnd.at, batchEnd.result, false)
    else if (sentOnAt === undefined) endChildrenOf(call, at, 'interrupted')
  }
}

export function endLoop(loop: ClaudeLoop, at: number, end: LoopEnd): void {
  if (loop.hasEnded) return
  loop.hasEnded = true
  const { session } = loop
  if (session.main === loop) {
    session.main = undefined
    session.previous = loop
  }
  loop.emitPrompt()
  endOpenRequest(loop, at, end.outcome === 'interrupted')
  endChildrenOfLoop(loop, at)
  endRemainingCalls(loop, at, end.outcome)
  loop.emitLoopEnd(at, end)
}

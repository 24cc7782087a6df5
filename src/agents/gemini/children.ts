import { peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import type { TurnResult } from '../base/turn.ts'
import { endUnansweredRequest } from './requests.ts'
import { type GeminiCall, type GeminiChild, GeminiLoop, type GeminiSession, PLATFORM, PROVIDER } from './session.ts'
import { settleCalls } from './tools.ts'

const DELEGATING = 'invoke_agent'

/**
 * Returns the loop of a child agent, which begins with the first line of its file. Returns undefined for a child of an earlier
 * turn.
 */
export function childLoopFor(
  session: GeminiSession,
  at: number,
  agentId: string,
  data: unknown,
): GeminiLoop | undefined {
  const known = session.children.get(agentId)
  if (known !== undefined) return known.loop
  const { main } = session
  return main === undefined || at < main.startAt ? undefined : startChild(session, main, { at, agentId, data }).loop
}

interface ChildStart {
  readonly at: number
  readonly agentId: string
  readonly data: unknown
}

function startChild(session: GeminiSession, main: GeminiLoop, { at, agentId, data }: ChildStart): GeminiChild {
  const goal = textOf(peek(data, 'text'))
  const taken = new Set([...session.children.values()].map(child => child.call))
  const free = [...main.calls].filter(call => call.name === DELEGATING && call.state === 'running' && !taken.has(call))
  const asked = free.filter(call => goal !== undefined && peek(call.args, 'prompt') === goal)
  const call = asked[0] ?? free[0]
  const role = textOf(peek(call?.args, 'agent_name'))
  const parent_session_id = session.id
  const task = new DelegatedTask(session.records, at, {
    parent_session_id,
    parent_turn_id: main.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
    tool_call_id: call?.id,
  })
  const loop = new GeminiLoop(session, { sessionId: agentId, turnId: `${agentId}:1` }, at, goal)
  const child = { agentId, loop, task, call }
  session.children.set(agentId, child)
  task.emitStart(goal, asked.length === 1 ? undefined : 'inferred')
  loop.emit('on_session_start', at, { agent_name: role, provider: PROVIDER, platform: PLATFORM, parent_session_id })
  return child
}

export function endDelegation(session: GeminiSession, call: GeminiCall, at: number, response: unknown): void {
  const child = session.openChildren.find(one => one.call === call)
  if (child === undefined) return
  const reason = textOf(peek(peek(response, 'returnDisplay'), 'terminateReason'))
  const hasFailed = peek(response, 'error') !== undefined || (reason !== undefined && reason !== 'GOAL')
  const outcome = reason === 'ABORTED' ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  endChild(child, at, { outcome, reason, text: peek(peek(response, 'returnDisplay'), 'result') })
}

export function interruptChildren(session: GeminiSession, at: number): void {
  for (const child of session.openChildren) endChild(child, at, { outcome: 'interrupted' })
}

interface ChildEnd {
  readonly outcome: TurnResult
  readonly reason?: string | undefined
  readonly text?: unknown
}

function endChild({ loop, task }: GeminiChild, at: number, { outcome, reason, text }: ChildEnd): void {
  loop.hasEnded = true
  loop.emitPrompt()
  endUnansweredRequest(loop, at)
  settleCalls(loop, at, outcome)
  const answer = text ?? loop.answer
  loop.emitAnswer(at, outcome === 'completed' ? answer : undefined, loop.model)
  loop.emitEnd(at, { outcome, reason: reason ?? outcome, model: loop.model })
  task.emitEnd(at, { status: outcome, summary: answer })
}

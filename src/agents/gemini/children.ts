import { peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { childTask } from '../base/delegation.ts'
import { endUnansweredRequest } from './requests.ts'
import { type GeminiCall, GeminiLoop, type GeminiSession } from './session.ts'
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
  const { main } = session
  if (known !== undefined || main === undefined || at < main.startAt) return known
  const goal = textOf(peek(data, 'text'))
  const taken = new Set([...session.children.values()].map(child => child.delegatingCall))
  const free = [...main.calls].filter(call => call.name === DELEGATING && call.state === 'running' && !taken.has(call))
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

export function endDelegation(session: GeminiSession, call: GeminiCall, at: number, response: unknown): void {
  const child = session.openChildren.find(({ delegatingCall }) => delegatingCall === call)
  if (child === undefined) return
  const reason = textOf(peek(peek(response, 'returnDisplay'), 'terminateReason'))
  const hasFailed = peek(response, 'error') !== undefined || (reason !== undefined && reason !== 'GOAL')
  const outcome = reason === 'ABORTED' ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  endLoop(child, at, { outcome, reason, text: peek(peek(response, 'returnDisplay'), 'result') })
}

export function interruptChildren(session: GeminiSession, at: number): void {
  for (const child of session.openChildren) endLoop(child, at, { outcome: 'interrupted' })
}

/** Ends a turn with its children, or a child. */
export function endLoop(loop: GeminiLoop, at: number, { outcome, reason, text }: LoopEnd): void {
  const { session } = loop
  const answer = text ?? loop.answer
  loop.hasEnded = true
  loop.emitPrompt()
  if (loop === session.main) {
    session.main = undefined
    interruptChildren(session, at)
    session.unassignedCalls.clear()
  }
  endUnansweredRequest(loop, at)
  settleCalls(loop, at, outcome)
  loop.emitLoopEnd(at, { outcome, reason, text: outcome === 'completed' ? answer : undefined }, answer)
}

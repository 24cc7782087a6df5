import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import { childTask } from '../base/delegation.ts'
import { emitFailedRequest, endUnansweredRequest, startUnansweredRequest } from './requests.ts'
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

function interruptChildren(session: GeminiSession, at: number): void {
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

/** Handles `SessionStart`, a new process of the agent. A process that was killed has left its turn open. */
export function handleSessionStart(session: GeminiSession, _at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined && peek(data, 'source') === 'resume') {
    endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'abandoned' })
  }
}

export function handlePrompt(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  // A repeated delivery of the same hook.
  if (main !== undefined && main.startAt === at) return
  if (main !== undefined) endLoop(main, main.lastAt, { outcome: 'interrupted', reason: 'interrupted' })
  openTurn(session, at, peek(data, 'prompt'))
}

export function turnFor(session: GeminiSession, at: number): GeminiLoop {
  return session.main ?? openTurn(session, at, undefined)
}

function openTurn(session: GeminiSession, at: number, text: unknown): GeminiLoop {
  const loop = new GeminiLoop(session, { turnId: `${session.id}:${at}` }, at, text)
  session.main = loop
  session.isFinalized = false
  loop.announceSession()
  if (loop.model !== undefined) loop.emitPrompt()
  return loop
}

export function handleRequestError(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop.hasEnded || !session.isNew(id)) return
  emitFailedRequest(loop, at, textOf(peek(data, 'message')))
  if (loop === session.main) endLoop(loop, at, { outcome: 'failed', reason: 'failed' })
}

export function handleCancellation(loop: GeminiLoop, at: number, data: unknown): void {
  const { session } = loop
  const id = idOf(peek(data, 'id'))
  if (id === undefined || loop !== session.main || !session.isNew(id)) return
  endLoop(loop, at, { outcome: 'interrupted', reason: 'cancelled' })
}

/**
 * Handles `AfterAgent`. The file's answer is preferred, because the hook's text repeats parts. If a hook of another program makes
 * the agent go on, the continuation is a turn without a prompt.
 */
export function handleAgentEnd({ main }: GeminiSession, at: number, data: unknown): void {
  if (main !== undefined)
    endLoop(main, at, { outcome: 'completed', text: main.answer ?? peek(data, 'prompt_response') })
}

/** With this reason the session id is discarded. */
const CLEAR_REASON = 'clear'

/** Handles `SessionEnd`, which fires several times. In `gemini -p`, it is the last event of a request that failed finally. */
export function handleSessionEnd(session: GeminiSession, at: number, data: unknown): void {
  const { main } = session
  if (main !== undefined) {
    main.emitPrompt()
    startUnansweredRequest(main, at)
    interruptChildren(session, at)
    settleCalls(main, at)
    session.main = undefined
  }
  const reason = textOf(peek(data, 'reason'))
  // Other reasons end only the process: the session can be resumed, and its turns continue their numbers.
  if (session.isFinalized || (main === undefined && reason !== CLEAR_REASON)) return
  session.isFinalized = true
  session.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
}

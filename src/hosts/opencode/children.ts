import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation, HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { SessionStates } from '../session-states.ts'
import type { Session } from './session.ts'
import type { ToolCall } from './tools.ts'
import type { Turn, TurnOutcome } from './turn.ts'

/**
 * A child begins its work for this turn.
 *
 * @param call the tool call that asked for it; undefined when that is not known
 */
function delegate(
  child: Session,
  parent: Turn,
  call: ToolCall | undefined,
  at: number,
  correlation?: Correlation,
): HookRecord[] {
  if (child.delegation !== undefined) return []
  if (call !== undefined) call.childId = child.id
  const { session_id, turn_id } = parent.ids
  const startedAt = Math.min(at, Math.max(child.createdAt ?? at, call?.startedAt ?? 0))
  child.delegation = { parentSessionId: session_id, callId: call?.callId, startedAt }
  const payload = {
    session_id,
    turn_id,
    parent_session_id: session_id,
    parent_turn_id: turn_id,
    child_session_id: child.id,
    child_role: textOf(peek(call?.args, 'subagent_type')) ?? textOf(child.agent),
    child_goal: peek(call?.args, 'prompt'),
    tool_call_id: call?.callId,
  }
  return [hookRecord('subagent_start', startedAt, payload, correlation)]
}

/** A child has done its work, or will do it no more. */
export function returned(child: Session, at: number, { status, answer }: TurnOutcome): HookRecord[] {
  const { delegation } = child
  if (delegation === undefined) return []
  child.delegation = undefined
  const { parentSessionId, startedAt } = delegation
  return [
    hookRecord('subagent_stop', at, {
      parent_session_id: parentSessionId,
      child_session_id: child.id,
      child_status: status,
      child_summary: answer,
      duration_ms: at - startedAt,
    }),
  ]
}

/** A running tool says which session works for it. */
export function childOf(
  sessions: SessionStates<Session>,
  turn: Turn,
  call: ToolCall,
  at: number,
  state: unknown,
): HookRecord[] {
  const childId = idOf(peek(peek(state, 'metadata'), 'sessionId'))
  const parentId = turn.ids.session_id
  if (childId === undefined || childId === parentId || call.childId !== undefined) return []
  call.childId = childId
  const child = sessions.get(childId)
  child.parentId ??= parentId
  return delegate(child, turn, call, at)
}

/** A child that begins to work, while no tool has said that it is its. */
export function delegatedUnseen(sessions: SessionStates<Session>, child: Session, at: number): HookRecord[] {
  const { parentId, delegation, hadTurn } = child
  const parent = parentId === undefined || hadTurn ? undefined : sessions.look(parentId)?.turn
  if (parent === undefined || delegation !== undefined) return []
  const [call, ...others] = parent.calls.withoutChild()
  return delegate(child, parent, others.length === 0 ? call : undefined, at, 'inferred')
}

/** The tool is done, and its child never began. One that is at work, or about to be, goes on in the background. */
export function childDone(sessions: SessionStates<Session>, call: ToolCall, at: number, state: unknown): HookRecord[] {
  const child = call.childId === undefined ? undefined : sessions.look(call.childId)
  const isAtWork = child?.turn !== undefined || child?.prompts.last !== undefined
  if (child?.delegation?.callId !== call.callId || isAtWork) return []
  const status = peek(state, 'status') === 'completed' ? 'completed' : 'failed'
  return returned(child, at, { status, reason: undefined, answer: undefined })
}

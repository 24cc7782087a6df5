import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import { Delegation, type DelegationEnd } from '../base/delegation.ts'
import type { SessionStates } from '../session-states.ts'
import type { Session } from './session.ts'
import type { ToolCall } from './tools.ts'
import type { OpencodeTurn } from './turn.ts'

/**
 * A child begins its work for this turn.
 *
 * @param call the tool call that asked for it; undefined when that is not known
 */
function delegate(
  child: Session,
  parent: OpencodeTurn,
  call: ToolCall | undefined,
  at: number,
  correlation?: Correlation,
): void {
  if (child.delegation !== undefined) return
  if (call !== undefined) call.childId = child.id
  const startedAt = Math.min(at, Math.max(child.createdAt ?? at, call?.startAt ?? 0))
  child.delegation = new Delegation(parent.records, startedAt, {
    parent_session_id: parent.sessionId,
    parent_turn_id: parent.turnId,
    child_session_id: child.id,
    child_role: textOf(peek(call?.args, 'subagent_type')) ?? textOf(child.agent),
    tool_call_id: call?.id,
  })
  child.delegation.tellStart(peek(call?.args, 'prompt'), correlation)
}

/** A child has done its work, or will do it no more. */
export function returned(child: Session, at: number, { status, summary }: DelegationEnd): void {
  const { delegation } = child
  child.delegation = undefined
  delegation?.tellEnd(at, { status, summary, durationMillis: at - delegation.startAt })
}

/** A running tool says which session works for it. */
export function childOf(
  sessions: SessionStates<Session>,
  turn: OpencodeTurn,
  call: ToolCall,
  at: number,
  state: unknown,
): void {
  const childId = idOf(peek(peek(state, 'metadata'), 'sessionId'))
  if (childId === undefined || childId === turn.sessionId || call.childId !== undefined) return
  call.childId = childId
  const child = sessions.get(childId)
  child.parentId ??= turn.sessionId
  delegate(child, turn, call, at)
}

/** A child that begins to work, while no tool has said that it is its. */
export function delegatedUnseen(sessions: SessionStates<Session>, child: Session, at: number): void {
  const { parentId, delegation, hadTurn } = child
  const parent = parentId === undefined || hadTurn ? undefined : sessions.look(parentId)?.turn
  if (parent === undefined || delegation !== undefined) return
  const [call, ...others] = parent.calls.withoutChild()
  delegate(child, parent, others.length === 0 ? call : undefined, at, 'inferred')
}

/** The tool is done, and its child never began. One that is at work, or about to be, goes on in the background. */
export function childDone(sessions: SessionStates<Session>, call: ToolCall, at: number, state: unknown): void {
  const child = call.childId === undefined ? undefined : sessions.look(call.childId)
  const isAtWork = child?.turn !== undefined || child?.prompts.last !== undefined
  if (child?.delegation === undefined || child.delegation.ids.tool_call_id !== call.id || isAtWork) return
  returned(child, at, { status: peek(state, 'status') === 'completed' ? 'completed' : 'failed' })
}

import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import { DelegatedTask, type DelegatedTaskEnd } from '../base/delegation.ts'
import type { SessionStates } from '../session-states.ts'
import type { OpencodeSession } from './session.ts'
import type { OpencodeToolCall } from './tools.ts'
import type { OpencodeTurn } from './turn.ts'

/**
 * Starts a delegation to a child session for this turn.
 *
 * @param call the tool call that requested it; undefined if unknown
 */
function delegate(
  child: OpencodeSession,
  parent: OpencodeTurn,
  call: OpencodeToolCall | undefined,
  at: number,
  correlation?: Correlation,
): void {
  if (child.delegation !== undefined) return
  if (call !== undefined) call.childId = child.id
  const startedAt = Math.min(at, Math.max(child.createdAt ?? at, call?.startAt ?? 0))
  child.delegation = new DelegatedTask(parent.records, startedAt, {
    parent_session_id: parent.sessionId,
    parent_turn_id: parent.turnId,
    child_session_id: child.id,
    child_role: textOf(peek(call?.args, 'subagent_type')) ?? textOf(child.agent),
    tool_call_id: call?.id,
  })
  child.delegation.emitStart(peek(call?.args, 'prompt'), correlation)
}

export function endDelegation(child: OpencodeSession, at: number, { status, summary }: DelegatedTaskEnd): void {
  const { delegation } = child
  child.delegation = undefined
  delegation?.emitEnd(at, { status, summary, durationMillis: at - delegation.startAt })
}

export function joinChild(
  sessions: SessionStates<OpencodeSession>,
  turn: OpencodeTurn,
  call: OpencodeToolCall,
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

/** Starts a delegation to a child that begins to work before any tool has named it. */
export function inferDelegation(sessions: SessionStates<OpencodeSession>, child: OpencodeSession, at: number): void {
  const { parentId, delegation, hadTurn } = child
  const parent = parentId === undefined || hadTurn ? undefined : sessions.find(parentId)?.turn
  if (parent === undefined || delegation !== undefined) return
  const [call, ...others] = parent.calls.withoutChild()
  delegate(child, parent, others.length === 0 ? call : undefined, at, 'inferred')
}

/**
 * Ends the delegation of a tool that is done if its child never began. A child that is working, or about to, continues in the
 * background.
 */
export function endUnstartedChild(
  sessions: SessionStates<OpencodeSession>,
  call: OpencodeToolCall,
  at: number,
  state: unknown,
): void {
  const child = call.childId === undefined ? undefined : sessions.find(call.childId)
  const isAtWork = child?.turn !== undefined || child?.prompts.last !== undefined
  if (child?.delegation === undefined || child.delegation.ids.tool_call_id !== call.id || isAtWork) return
  endDelegation(child, at, { status: peek(state, 'status') === 'completed' ? 'completed' : 'failed' })
}

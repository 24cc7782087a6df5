import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { childTask, type DelegatedTask } from '../base/delegation.ts'
import { RecordScope } from '../base/records.ts'
import type { CodexCall, CodexLoop, CodexSession } from './session.ts'

const DELEGATING = /spawn_agent$/

/** Records the child agent that a call has started. The rollout usually reports it before any hook of the child fires. */
export function recordChildStart(call: CodexCall, at: number, agent: unknown): void {
  const { session } = call.turn
  const agentId = idOf(peek(agent, 'id'))
  const isKnown = agentId === undefined || !session.isNew(`agent ${agentId}`)
  session.delegatingCalls.set(keyOf(call), true)
  if (isKnown) return
  const task = childTask(call.turn, at, { agentId, role: textOf(peek(agent, 'role')), callId: call.id })
  task.emitStart(peek(call.args, 'message'))
  session.tasks.set(agentId, task)
}

export function openChild(session: CodexSession, agentId: string, loop: CodexLoop, data: unknown): void {
  const role = textOf(peek(data, 'agent_type'))
  const recorded = session.tasks.get(agentId)
  session.tasks.delete(agentId)
  loop.task = recorded ?? guessedTask(session, agentId, loop, role)
  const parent_session_id = loop.task.ids.parent_session_id
  loop.emit('on_session_start', loop.startAt, { agent_name: role, platform: session.platform, parent_session_id })
}

/** Guesses the call of a child before the rollout reports it: the newest delegating call that has started no other agent. */
function guessedTask(session: CodexSession, agentId: string, loop: CodexLoop, role: string | undefined): DelegatedTask {
  session.isNew(`agent ${agentId}`)
  const calls = [...(session.main?.calls.values() ?? [])]
  const call = calls.findLast(
    one =>
      one.state === 'running' && DELEGATING.test(textOf(one.name) ?? '') && !session.delegatingCalls.has(keyOf(one)),
  )
  if (call !== undefined) session.delegatingCalls.set(keyOf(call), true)
  const parent = session.main ?? new RecordScope(session.records, session.id)
  const task = childTask(parent, loop.startAt, { agentId, role, callId: call?.id })
  task.emitStart(peek(call?.args, 'message'), 'inferred')
  return task
}

function keyOf({ id, turn }: CodexCall): string {
  return `${turn.turnId} ${id}`
}

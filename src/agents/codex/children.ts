import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { type CodexCall, type CodexLoop, type CodexSession, PLATFORM } from './session.ts'

const DELEGATING = /spawn_agent$/

interface ChildStart {
  readonly agentId: string
  readonly role: string | undefined
  readonly call: CodexCall | undefined
  readonly parent: CodexLoop | undefined
}

/** Records the child agent that a call has started. The rollout usually reports it before any hook of the child fires. */
export function recordChildStart(call: CodexCall, at: number, agent: unknown): void {
  const { session } = call.turn
  const agentId = idOf(peek(agent, 'id'))
  const isKnown = agentId === undefined || !session.isNew(`agent ${agentId}`)
  session.delegatingCalls.set(keyOf(call), true)
  if (isKnown) return
  const task = createTask(session, at, { agentId, role: textOf(peek(agent, 'role')), call, parent: call.turn })
  task.emitStart(peek(call.args, 'message'))
  session.tasks.set(agentId, task)
}

export function openChild(session: CodexSession, agentId: string, loop: CodexLoop, data: unknown): void {
  const role = textOf(peek(data, 'agent_type'))
  const recorded = session.tasks.get(agentId)
  session.tasks.delete(agentId)
  loop.task = recorded ?? guessedTask(session, agentId, loop, role)
  const parent_session_id = loop.task.ids.parent_session_id
  loop.emit('on_session_start', loop.startAt, { agent_name: role, platform: PLATFORM, parent_session_id })
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
  const task = createTask(session, loop.startAt, { agentId, role, call, parent: session.main })
  task.emitStart(peek(call?.args, 'message'), 'inferred')
  return task
}

function createTask(session: CodexSession, at: number, { agentId, role, call, parent }: ChildStart): DelegatedTask {
  return new DelegatedTask(session.records, at, {
    parent_session_id: parent?.sessionId ?? session.id,
    parent_turn_id: parent?.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
    tool_call_id: call?.id,
  })
}

function keyOf({ id, turn }: CodexCall): string {
  return `${turn.turnId} ${id}`
}

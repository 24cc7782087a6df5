import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { tokensOf } from '../base/anthropic-usage.ts'
import { DelegatedTask } from '../base/delegation.ts'
import type { TurnResult } from '../base/turn.ts'
import { endCalls } from './calls.ts'
import { beginAttempt, endAttempts, PLATFORM, PROVIDER, tellPrompt } from './requests.ts'
import { type Call, type Child, Loop, type Session } from './session.ts'
import { larger } from './usage.ts'

const DELEGATING: ReadonlySet<unknown> = new Set(['Agent', 'Task'])
const CHILDREN_LIMIT = 1000

interface Start {
  readonly agentId: string
  readonly call: Call | undefined
  readonly role?: string | undefined
  readonly goal: unknown
  readonly parent?: Loop | undefined
  /** The call was guessed. */
  readonly isInferred?: boolean
}

/** Handles `task_started`, the only event with both a child agent and its tool call. */
export function taskStarted(session: Session, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'task_id'))
  const type = peek(data, 'task_type')
  if (agentId === undefined || (type !== undefined && type !== 'local_agent')) return
  const call = session.call(idOf(peek(data, 'tool_use_id')))
  const known = session.children.get(agentId)
  if (known?.loop !== undefined) {
    known.callId ??= call?.id
    return
  }
  const parent = session.children.get(idOf(peek(data, 'parent_task_id')) ?? '')?.loop
  const goal = peek(data, 'prompt') ?? peek(data, 'description')
  startChild(session, at, { agentId, call, role: textOf(peek(data, 'subagent_type')), goal, parent })
}

/** Handles `SubagentStart`, which has no tool call id. If it precedes `task_started`, the oldest matching call is used. */
export function subagentStarted(session: Session, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId === undefined || session.children.get(agentId)?.loop !== undefined) return
  const role = textOf(peek(data, 'agent_type'))
  const call = delegatingCall(session, role)
  startChild(session, at, { agentId, call, role, goal: peek(call?.args, 'prompt'), isInferred: true })
}

function delegatingCall(session: Session, role: string | undefined): Call | undefined {
  const taken = new Set([...session.children.values()].map(child => child.callId))
  for (const call of session.calls.values()) {
    const fits = DELEGATING.has(call.name) && call.state === 'running' && !taken.has(call.id)
    if (fits && (role === undefined || (textOf(peek(call.args, 'subagent_type')) ?? role) === role)) return call
  }
  return undefined
}

/**
 * Returns the loop of the agent that an event names; undefined if it has ended.
 *
 * @param callId the tool call id in the event
 */
export function loopOfAgent(
  session: Session,
  at: number,
  agent: { readonly agentId: string; readonly callId?: string | undefined; readonly role?: string | undefined },
): Loop | undefined {
  const child = session.children.get(agent.agentId)
  if (child !== undefined) return child.loop
  const call = session.call(agent.callId) ?? delegatingCall(session, agent.role)
  return startChild(session, at, { ...agent, call, goal: peek(call?.args, 'prompt'), isInferred: true })
}

function startChild(session: Session, at: number, { agentId, call, role, goal, parent, isInferred }: Start): Loop {
  const parentLoop = call?.turn ?? parent ?? session.main
  const parent_session_id = parentLoop?.sessionId ?? session.id
  const runs = (session.children.get(agentId)?.runs ?? 0) + 1
  const task = new DelegatedTask(session.records, at, {
    parent_session_id,
    parent_turn_id: parentLoop?.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
    tool_call_id: call?.id,
  })
  const loop = new Loop(session, { sessionId: agentId, turnId: `${agentId}:${runs}` }, at, goal)
  remember(session, { agentId, loop, task, runs, callId: call?.id, notified: undefined, handedBack: undefined })
  task.emitStart(goal, isInferred === true ? 'inferred' : undefined)
  loop.emit('on_session_start', at, { agent_name: role, provider: PROVIDER, platform: PLATFORM, parent_session_id })
  return loop
}

/** Stores a child. Idle children are kept to recognise late events; over the limit, the oldest idle one is dropped. */
function remember(session: Session, child: Child): void {
  session.children.delete(child.agentId)
  session.children.set(child.agentId, child)
  if (session.children.size <= CHILDREN_LIMIT) return
  for (const [id, { loop }] of session.children) {
    if (loop !== undefined) continue
    session.children.delete(id)
    return
  }
}

/**
 * Handles `SubagentStop`, which has the last answer; usage and status follow. The SDK's internal agents, for example for a
 * summary, fire only this hook and are ignored.
 */
export function subagentStopped(session: Session, at: number, data: unknown): void {
  const loop = session.children.get(idOf(peek(data, 'agent_id')) ?? '')?.loop
  if (loop !== undefined) loop.stopped = { at, text: peek(data, 'last_assistant_message') }
}

/** Handles `task_notification`: a background child has ended. The usage of a foreground child comes with its tool's result. */
export function taskNotified(session: Session, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'task_id')) ?? '')
  if (child?.loop === undefined) return
  child.notified = { at, data }
  const call = session.call(child.callId)
  if (call === undefined || call.state === 'ended') endChild(child, at)
}

/** Handles the end of a child's tool call: the child was launched in the background, or has ended. */
export function delegationReturned(call: Call, at: number, data: unknown): void {
  if (!DELEGATING.has(call.name)) return
  const response = peek(data, 'tool_response')
  if (peek(response, 'isAsync') === true || peek(response, 'status') === 'async_launched') return
  for (const child of call.turn.session.children.values()) {
    if (child.callId !== call.id || child.loop === undefined) continue
    child.handedBack = { at, response, hasFailed: response === undefined }
    // Without a notification, messages of the child may still be pending: the notification follows them.
    if (child.notified !== undefined) endChild(child, at)
  }
}

function outcomeOf(child: Child, loop: Loop): TurnResult {
  const said = peek(child.notified?.data, 'status')
  if (said === 'failed' || loop.failure !== undefined || child.handedBack?.hasFailed) return 'failed'
  if (said === 'completed' || child.handedBack !== undefined) return 'completed'
  return said === undefined && loop.stopped !== undefined ? 'completed' : 'interrupted'
}

export function endChild(child: Child, now: number): void {
  const { loop, notified } = child
  if (loop === undefined) return
  child.loop = undefined
  const outcome = outcomeOf(child, loop)
  const at = loop.stopped?.at ?? notified?.at ?? child.handedBack?.at ?? now
  const model = loop.usedModel
  tellPrompt(loop)
  if (outcome === 'completed') addLastAnswer(child, loop, at)
  endAttempts(loop, { at, isCut: outcome === 'interrupted', stopReason: 'end_turn' })
  endCalls(loop, at)
  const text = loop.stopped?.text
  loop.emitAnswer(at, text, model)
  loop.emitEnd(at, { outcome, reason: outcome === 'failed' ? (loop.failure ?? 'failed') : outcome, model })
  child.task.emitEnd(Math.max(at, notified?.at ?? at), {
    status: outcome,
    summary: text ?? textOf(peek(notified?.data, 'summary')),
    durationMillis: numberOf(peek(peek(notified?.data, 'usage'), 'duration_ms')),
  })
  child.notified = undefined
  child.handedBack = undefined
}

/**
 * Adds a child's last answer. For a foreground child, the SDK reports only its text and usage, and no message. For a background
 * child, it reports the size of the context at the end, which equals the tokens of the last request.
 */
function addLastAnswer(child: Child, loop: Loop, at: number): void {
  const text = loop.stopped?.text
  const isHidden = loop.askedAt !== undefined && textOf(text) !== undefined
  const last = isHidden ? beginAttempt(loop, at) : loop.open.at(-1)
  if (last === undefined) return
  if (isHidden) {
    last.endAt = at
    last.content.push({ type: 'text', text })
  }
  const used = tokensOf(peek(child.handedBack?.response, 'usage'))
  if (used !== undefined) last.tokens = larger(used, last.tokens)
  const context = numberOf(peek(peek(child.notified?.data, 'usage'), 'total_tokens'))
  if (used !== undefined || context === undefined || last.tokens === undefined || last.isExact) return
  const { prompt_tokens, output_tokens } = last.tokens
  const output = Math.max(output_tokens, context - prompt_tokens)
  last.tokens = { ...last.tokens, output_tokens: output, total_tokens: prompt_tokens + output }
}

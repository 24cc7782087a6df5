import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { hookRecord } from '../host-event.ts'
import { endCalls } from './calls.ts'
import { beginAttempt, endAttempts, modelOf, PLATFORM, PROVIDER, tellPrompt } from './requests.ts'
import { type Call, type Child, idsOf, type Loop, newLoop, type Out, type Session } from './session.ts'
import { larger, NO_TOKENS, tokensOf } from './usage.ts'

const DELEGATING: ReadonlySet<unknown> = new Set(['Agent', 'Task'])
const CHILDREN_LIMIT = 1000
const NONE: ReadonlySet<string> = new Set()

interface Start {
  readonly agentId: string
  readonly call: Call | undefined
  readonly role?: string | undefined
  readonly goal: unknown
  readonly parent?: Loop | undefined
  /** Which call it belongs to was worked out. */
  readonly isInferred?: boolean
}

/** `task_started`: the one event that says which tool call a child agent belongs to. */
export function taskStarted(out: Out, session: Session, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'task_id'))
  const type = peek(data, 'task_type')
  if (agentId === undefined || (type !== undefined && type !== 'local_agent')) return
  const call = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')
  const known = session.children.get(agentId)
  if (known?.loop !== undefined) {
    known.callId ??= call?.id
    return
  }
  const parent = session.children.get(idOf(peek(data, 'parent_task_id')) ?? '')?.loop
  const goal = peek(data, 'prompt') ?? peek(data, 'description')
  startChild(out, session, at, { agentId, call, role: textOf(peek(data, 'subagent_type')), goal, parent })
}

/** `SubagentStart`. It names no tool call: should it overtake `task_started`, the oldest one that fits is taken. */
export function subagentStarted(out: Out, session: Session, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId === undefined || session.children.get(agentId)?.loop !== undefined) return
  const role = textOf(peek(data, 'agent_type'))
  const call = delegatingCall(session, role)
  startChild(out, session, at, { agentId, call, role, goal: peek(call?.input, 'prompt'), isInferred: true })
}

function delegatingCall(session: Session, role: string | undefined): Call | undefined {
  const taken = new Set([...session.children.values()].map(child => child.callId))
  for (const call of session.calls.values()) {
    const fits = DELEGATING.has(call.name) && call.state === 'running' && !taken.has(call.id)
    if (fits && (role === undefined || (textOf(peek(call.input, 'subagent_type')) ?? role) === role)) return call
  }
  return undefined
}

/**
 * The loop of the agent that an event names; undefined for one that has ended.
 * @param callId the tool call that the event says it belongs to
 */
export function loopOfAgent(
  out: Out,
  session: Session,
  at: number,
  agent: { readonly agentId: string; readonly callId?: string | undefined; readonly role?: string | undefined },
): Loop | undefined {
  const child = session.children.get(agent.agentId)
  if (child !== undefined) return child.loop
  const call = session.calls.get(agent.callId ?? '') ?? delegatingCall(session, agent.role)
  return startChild(out, session, at, { ...agent, call, goal: peek(call?.input, 'prompt'), isInferred: true })
}

function startChild(out: Out, session: Session, at: number, start: Start): Loop {
  const { agentId, call, role, goal } = start
  const parentLoop = call?.loop ?? start.parent ?? session.main
  const runs = (session.children.get(agentId)?.runs ?? 0) + 1
  const child: Child = {
    agentId,
    loop: newLoop({ sessionId: agentId, turnId: `${agentId}:${runs}` }, at, goal, session.model),
    runs,
    callId: call?.id,
    role,
    parent: { sessionId: parentLoop?.sessionId ?? session.id, turnId: parentLoop?.turnId },
    notified: undefined,
    handedBack: undefined,
  }
  remember(session, child)
  const correlation = start.isInferred === true ? 'inferred' : undefined
  out.push(
    hookRecord(
      'subagent_start',
      at,
      { ...delegationIds(child), child_goal: goal, tool_call_id: call?.id },
      correlation,
    ),
  )
  const ids = idsOf(child.loop as Loop)
  out.push(
    hookRecord('on_session_start', at, {
      ...ids,
      agent_name: role,
      provider: PROVIDER,
      platform: PLATFORM,
      parent_session_id: child.parent.sessionId,
    }),
  )
  return child.loop as Loop
}

/** One that rests is kept to know what comes late for it; of very many the oldest is forgotten. */
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

function delegationIds({ agentId, parent, role }: Child): object {
  return {
    parent_session_id: parent.sessionId,
    parent_turn_id: parent.turnId,
    child_session_id: agentId,
    child_subagent_id: agentId,
    child_role: role,
  }
}

/**
 * `SubagentStop`: the last answer. What it used and how it ended follows. Of agents that the SDK uses for itself, such as
 * for a summary, only this is told: they are no children.
 */
export function subagentStopped(session: Session, at: number, data: unknown): void {
  const loop = session.children.get(idOf(peek(data, 'agent_id')) ?? '')?.loop
  if (loop !== undefined) loop.stopped = { at, text: peek(data, 'last_assistant_message') }
}

/** `task_notification`: a background child is over. One that its tool waits for hands its usage back with the tool. */
export function taskNotified(out: Out, session: Session, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'task_id')) ?? '')
  if (child?.loop === undefined) return
  child.notified = { at, data }
  const call = session.calls.get(child.callId ?? '')
  if (call === undefined || call.state === 'ended') endChild(out, session, child, at)
}

/** The tool call of a child has ended: because it was only launched, or because it is done. */
export function delegationReturned(out: Out, session: Session, call: Call, at: number, data: unknown): void {
  if (!DELEGATING.has(call.name)) return
  const response = peek(data, 'tool_response')
  if (peek(response, 'isAsync') === true || peek(response, 'status') === 'async_launched') return
  for (const child of session.children.values()) {
    if (child.callId !== call.id || child.loop === undefined) continue
    child.handedBack = { at, response, hasFailed: response === undefined }
    // Its messages may still be on their way: the notification comes behind them.
    if (child.notified !== undefined) endChild(out, session, child, at)
  }
}

type Status = 'completed' | 'failed' | 'interrupted'

function statusOf(child: Child, loop: Loop): Status {
  const said = peek(child.notified?.data, 'status')
  if (said === 'failed' || loop.failure !== undefined || child.handedBack?.hasFailed) return 'failed'
  if (said === 'completed' || child.handedBack !== undefined) return 'completed'
  return said === undefined && loop.stopped !== undefined ? 'completed' : 'interrupted'
}

export function endChild(out: Out, session: Session, child: Child, now: number): void {
  const { loop } = child
  if (loop === undefined) return
  child.loop = undefined
  const status = statusOf(child, loop)
  const at = loop.stopped?.at ?? child.notified?.at ?? child.handedBack?.at ?? now
  tellPrompt(out, loop)
  if (status === 'completed') addLastAnswer(out, child, loop, at)
  endAttempts(out, session, loop, { at, isCut: status === 'interrupted', stopReason: 'end_turn' })
  endCalls(out, session, loop, at, NONE)
  const text = loop.stopped?.text
  out.push(hookRecord('post_llm_call', at, { ...idsOf(loop), assistant_response: text, model: modelOf(loop) }))
  const exit = { turn_exit_reason: status === 'failed' ? (loop.failure ?? 'failed') : status }
  out.push(hookRecord('on_session_end', at, { ...idsOf(loop), [status]: true, ...exit, model: modelOf(loop) }))
  const data = child.notified?.data
  out.push(
    hookRecord('subagent_stop', Math.max(at, child.notified?.at ?? at), {
      ...delegationIds(child),
      child_status: status,
      child_summary: text ?? textOf(peek(data, 'summary')),
      duration_ms: numberOf(peek(peek(data, 'usage'), 'duration_ms')),
      tool_call_id: child.callId,
    }),
  )
  child.notified = undefined
  child.handedBack = undefined
}

/**
 * Of a child that its tool waits for, the last answer is no message: only its text and what it used are told. Of one in
 * the background the number of tokens in its context at the end is told, which is its last request.
 */
function addLastAnswer(out: Out, child: Child, loop: Loop, at: number): void {
  const text = loop.stopped?.text
  const isHidden = loop.askedAt !== undefined && textOf(text) !== undefined
  const last = isHidden ? beginAttempt(out, loop, at) : loop.open.at(-1)
  if (last === undefined) return
  if (isHidden) {
    last.endAt = at
    last.content.push({ type: 'text', text })
  }
  const used = tokensOf(peek(child.handedBack?.response, 'usage'))
  if (used !== undefined) last.tokens = larger(last.tokens ?? NO_TOKENS, used)
  const context = numberOf(peek(peek(child.notified?.data, 'usage'), 'total_tokens'))
  if (used !== undefined || context === undefined || last.tokens === undefined || last.isExact) return
  last.tokens = { ...last.tokens, output: Math.max(last.tokens.output, context - last.tokens.input) }
}

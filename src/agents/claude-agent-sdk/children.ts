import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { TurnResult } from '../base/turn.ts'
import { anthropicUsage } from '../base/usage.ts'
import { startChild } from '../claude-code/children.ts'
import { DELEGATING } from '../claude-code/session.ts'
import { endRemainingCalls } from './calls.ts'
import { endAttempts, larger } from './requests.ts'
import type { SdkLoop, SdkSession } from './session.ts'

/** Handles `task_started`, the only event with both a child agent and its tool call. */
export function handleTaskStarted(session: SdkSession, at: number, data: unknown): void {
  const agentId = idOf(peek(data, 'task_id'))
  const type = peek(data, 'task_type')
  if (agentId === undefined || (type !== undefined && type !== 'local_agent')) return
  const callId = idOf(peek(data, 'tool_use_id'))
  if (callId !== undefined) session.callOfAgent.set(agentId, callId)
  const known = session.children.get(agentId)
  const starter = session.children.get(idOf(peek(data, 'parent_task_id')) ?? '')
  if (known === undefined || known.hasEnded) startChild(session, at, { agentId, data, starter })
  else if (session.calls.has(callId ?? '')) known.callId ??= callId
}

/** Returns the loop of the agent that an event names; undefined if it has ended. */
export function loopOfAgent(session: SdkSession, at: number, agentId: string, data: unknown): SdkLoop | undefined {
  if (!session.children.has(agentId)) {
    const callId = idOf(peek(data, 'parent_tool_use_id'))
    if (callId !== undefined) session.callOfAgent.set(agentId, callId)
    startChild(session, at, { agentId, data })
  }
  return runningLoop(session, agentId)
}

function runningLoop(session: SdkSession, agentId: unknown): SdkLoop | undefined {
  const loop = session.children.get(idOf(agentId) ?? '')
  return loop?.hasEnded === true ? undefined : loop
}

/**
 * Handles `SubagentStop`, which has the last answer; usage and status follow. The SDK's internal agents, for example for a
 * summary, fire only this hook and are ignored.
 */
export function handleSubagentStop(session: SdkSession, at: number, data: unknown): void {
  const loop = runningLoop(session, peek(data, 'agent_id'))
  if (loop !== undefined) loop.stopped = { at, text: peek(data, 'last_assistant_message') }
}

/** Handles `task_notification`: a background child has ended. The usage of a foreground child comes with its tool's result. */
export function handleTaskNotification(session: SdkSession, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'task_id')) ?? '')
  if (child === undefined || child.hasEnded) return
  child.notified = { at, data }
  const call = session.calls.get(child.callId ?? '')
  if (call === undefined || call.state === 'ended') endChild(child, at)
}

/** Handles the end of a child's tool call: the child was launched in the background, or has ended. */
export function noteDelegationResult({ session }: SdkLoop, at: number, data: unknown): void {
  const call = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')
  if (call === undefined || !DELEGATING.has(call.name)) return
  const response = peek(data, 'tool_response')
  if (peek(response, 'isAsync') === true || peek(response, 'status') === 'async_launched') return
  for (const child of session.children.values()) {
    if (child.callId !== call.id || child.hasEnded) continue
    child.handedBack = { at, response, hasFailed: response === undefined }
    // Without a notification, messages of the child may still be pending: the notification follows them.
    if (child.notified !== undefined) endChild(child, at)
  }
}

function outcomeOf({ failure, notified, handedBack, stopped }: SdkLoop): TurnResult {
  const said = peek(notified?.data, 'status')
  if (said === 'failed' || failure !== undefined || handedBack?.hasFailed) return 'failed'
  if (said === 'completed' || handedBack !== undefined) return 'completed'
  return said === undefined && stopped !== undefined ? 'completed' : 'interrupted'
}

export function endChild(loop: SdkLoop, now: number): void {
  const { notified, model } = loop
  if (loop.hasEnded) return
  loop.hasEnded = true
  const outcome = outcomeOf(loop)
  const at = loop.stopped?.at ?? notified?.at ?? loop.handedBack?.at ?? now
  loop.emitPrompt()
  if (outcome === 'completed') addLastAnswer(loop, at)
  endAttempts(loop, { at, isCut: outcome === 'interrupted', stopReason: 'end_turn' })
  endRemainingCalls(loop, at)
  const text = loop.stopped?.text
  loop.emitAnswer(at, text, model)
  loop.emitEnd(at, { outcome, reason: outcome === 'failed' ? (loop.failure ?? 'failed') : outcome, model })
  loop.task?.emitEnd(Math.max(at, notified?.at ?? at), {
    status: outcome,
    summary: text ?? textOf(peek(notified?.data, 'summary')),
    durationMillis: numberOf(peek(peek(notified?.data, 'usage'), 'duration_ms')),
  })
  loop.notified = undefined
  loop.handedBack = undefined
}

/**
 * Adds a child's last answer. For a foreground child, the SDK reports only its text and usage, and no message. For a background
 * child, it reports the size of the context at the end, which equals the tokens of the last request.
 */
function addLastAnswer(loop: SdkLoop, at: number): void {
  const text = loop.stopped?.text
  const isHidden = loop.askedAt !== undefined && textOf(text) !== undefined
  const last = isHidden ? loop.beginAttempt(at) : loop.attempts.at(-1)
  if (last === undefined) return
  if (isHidden) {
    last.endAt = at
    last.content.push({ type: 'text', text })
  }
  const used = anthropicUsage(peek(loop.handedBack?.response, 'usage'))
  if (used !== undefined) last.tokens = larger(used, last.tokens)
  const context = numberOf(peek(peek(loop.notified?.data, 'usage'), 'total_tokens'))
  if (used !== undefined || context === undefined || last.tokens === undefined || last.isExact) return
  const { prompt_tokens, output_tokens } = last.tokens
  const output = Math.max(output_tokens, context - prompt_tokens)
  last.tokens = { ...last.tokens, output_tokens: output, total_tokens: prompt_tokens + output }
}

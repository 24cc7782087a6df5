import { elementsOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { LoopEnd } from '../base/agent-loop.ts'
import type { TurnResult } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { anthropicUsage, combineUsage, minus, NO_USAGE, plus, readUsage, type UsageCounts } from '../base/usage.ts'
import type { ClaudeCall } from '../claude-code/session.ts'
import {
  beginCompaction,
  delegatedChildren,
  finishCompaction,
  handlePrompt,
  handleSubagentStart,
  markEnded,
  startChild,
} from '../claude-code/turns.ts'
import { endRemainingCalls, handleToolResults } from './calls.ts'
import { endAttempts, larger } from './requests.ts'
import type { SdkLoop, SdkSession } from './session.ts'

const COUNTS = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadInputTokens',
  cacheWrite: 'cacheCreationInputTokens',
  reasoning: 'thinkingTokens',
}

/** Handles `task_started`, the only event with both a child agent and its tool call. */
function handleTaskStarted(session: SdkSession, at: number, data: unknown): void {
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

/**
 * Handles `SubagentStop`, which has the last answer; usage and status follow. The SDK's internal agents, for example for a
 * summary, fire only this hook and are ignored.
 */
function handleSubagentStop(session: SdkSession, at: number, data: unknown): void {
  const loop = session.children.get(idOf(peek(data, 'agent_id')) ?? '')
  if (loop?.hasEnded === false) loop.stopped = { at, text: peek(data, 'last_assistant_message') }
}

/** Handles `task_notification`: a background child has ended. The usage of a foreground child comes with its tool's result. */
function handleTaskNotification(session: SdkSession, at: number, data: unknown): void {
  const child = session.children.get(idOf(peek(data, 'task_id')) ?? '')
  if (child === undefined || child.hasEnded) return
  child.notified = { at, data }
  const call = session.calls.get(child.callId ?? '')
  if (call === undefined || call.state === 'ended') endChild(child, at)
}

/**
 * Handles the end of a child's tool call. A child launched in the background goes on. Without a notification, messages
 * of the child may still be pending: the notification follows them.
 */
export function noteDelegationResult(call: ClaudeCall, at: number, response: unknown): void {
  for (const child of delegatedChildren(call, response) as readonly SdkLoop[]) {
    if (child.hasEnded) continue
    child.handedBack = { at, response, hasFailed: response === undefined }
    if (child.notified !== undefined) endChild(child, at)
  }
}

function outcomeOf({ failure, notified, handedBack, stopped }: SdkLoop): TurnResult {
  const said = peek(notified?.data, 'status')
  if (said === 'failed' || failure !== undefined || handedBack?.hasFailed) return 'failed'
  if (said === 'completed' || handedBack !== undefined) return 'completed'
  return said === undefined && stopped !== undefined ? 'completed' : 'interrupted'
}

function endChild(loop: SdkLoop, now: number): void {
  if (loop.hasEnded) return
  const { failure, handedBack, notified, stopped } = loop
  const outcome = outcomeOf(loop)
  const at = stopped?.at ?? notified?.at ?? handedBack?.at ?? now
  const reason = outcome === 'failed' ? (failure ?? 'failed') : outcome
  const text = stopped?.text
  loop.emitPrompt()
  if (outcome === 'completed') addLastAnswer(loop, at)
  endLoop(loop, at, { outcome, reason, text }, { stop_reason: 'end_turn' })
  loop.task?.emitEnd(Math.max(at, notified?.at ?? at), {
    status: outcome,
    summary: text ?? textOf(peek(notified?.data, 'summary')),
    durationMillis: numberOf(peek(peek(notified?.data, 'usage'), 'duration_ms')),
  })
  loop.notified = undefined
  loop.handedBack = undefined
}

/** Ends the children of a session whose query is over, and its compaction. */
export function endChildren(session: SdkSession, at: number): void {
  for (const child of session.children.values()) endChild(child, at)
  emitCompaction(session, at)
}

function endLoop(loop: SdkLoop, at: number, { outcome, reason, text }: LoopEnd, result?: unknown): void {
  const denials = elementsOf(peek(result, 'permission_denials'))
  markEnded(loop)
  endAttempts(loop, at, result, outcome === 'interrupted')
  endRemainingCalls(loop, at, new Set(denials.map(denial => idOf(peek(denial, 'tool_use_id')) ?? '')))
  if (loop.agentId === undefined) settleTurn(loop, at, result)
  loop.emitAnswer(at, text, loop.model)
  loop.emitEnd(at, { outcome, reason, model: loop.model })
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
  if (used !== undefined) loop.countTokens(last, larger(used, last.tokens))
  const context = numberOf(peek(peek(loop.notified?.data, 'usage'), 'total_tokens'))
  if (used !== undefined || context === undefined || last.tokens === undefined || last.isExact) return
  const { prompt_tokens, output_tokens } = last.tokens
  const output = Math.max(output_tokens, context - prompt_tokens)
  loop.countTokens(last, { ...last.tokens, output_tokens: output, total_tokens: prompt_tokens + output })
}

export function openPendingTurn(session: SdkSession): void {
  const { prompt } = session
  session.prompt = undefined
  if (prompt === undefined) return
  handlePrompt(session, prompt.at, prompt.data)
  session.main?.emitPrompt()
}

/** Handles `result`: the end of the turn, with its usage. Some failed turns have the subtype `success`, too. */
export function handleResult(session: SdkSession, at: number, data: unknown): void {
  const loop = session.main
  if (loop === undefined) {
    // The result of a command such as `/compact`.
    settleTokens(session, data)
    emitCompaction(session, at)
    return
  }
  const reason = textOf(peek(data, 'terminal_reason')) ?? textOf(peek(data, 'subtype'))
  const isInterrupted = loop.isInterrupted || (reason?.startsWith('aborted') ?? false)
  const hasFailed = peek(data, 'is_error') === true || (textOf(peek(data, 'subtype')) ?? 'success') !== 'success'
  const outcome = isInterrupted ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  const text = outcome === 'completed' ? (textOf(peek(data, 'result')) ?? loop.stopped?.text) : undefined
  endLoop(loop, at, { outcome, reason, text }, data)
}

export function endWithoutResult({ main }: SdkSession, at: number, reason: string | undefined): void {
  if (main === undefined) return
  const { stopped, failure } = main
  if (failure !== undefined) endLoop(main, main.lastAt, { outcome: 'failed', reason: failure })
  else if (stopped === undefined) endLoop(main, at, { outcome: reason === 'error' ? 'failed' : 'interrupted', reason })
  else endLoop(main, stopped.at, { outcome: 'completed', reason: 'stop', text: stopped.text })
}

/** Ends all that a turn waited for: foreground children, which cannot run after their tool's turn, its compaction and its tokens. */
function settleTurn(loop: SdkLoop, at: number, result: unknown): void {
  const { session, turnId } = loop
  for (const child of session.children.values())
    if (child.task?.ids.parent_turn_id === turnId && child.handedBack !== undefined) endChild(child, at)
  settleTokens(session, result)
  emitCompaction(session, at)
  emitUnlisted(loop, at)
}

/** Adds the difference between the tokens that the SDK counted since the last result and those emitted. */
function settleTokens(session: SdkSession, result: unknown): void {
  const counted = tokensOfModels(peek(result, 'model_usage_since_last_result'))
  for (const loop of session.children.values()) {
    for (const attempt of loop.attempts) attempt.isExact ||= counted !== undefined
  }
  if (counted !== undefined)
    session.pendingTokens = combineUsage(session.pendingTokens, combineUsage(counted, session.counted, minus), plus)
  session.counted = NO_USAGE
}

function takePendingTokens(session: SdkSession): UsageCounts | undefined {
  const pending = larger(session.pendingTokens, NO_USAGE)
  if (pending.total_tokens === 0) return undefined
  session.pendingTokens = combineUsage(session.pendingTokens, NO_USAGE, Math.min)
  return pending
}

/**
 * Emits tokens that appear in no message as one auxiliary call of the turn, so that the sum of a trace equals the SDK's count.
 * Examples: output of children beyond the first token of each answer, titles, other auxiliary calls.
 */
function emitUnlisted(loop: SdkLoop, at: number): void {
  const usage = takePendingTokens(loop.session)
  if (usage === undefined) return
  const request = new ModelRequest(loop, at, { id: `${loop.turnId}:unlisted`, task: 'unlisted' })
  request.emitStart({ provider: loop.provider }, 'inferred')
  request.emitAnswer(at, { provider: loop.provider, usage }, 'inferred')
}

/** Handles `PreCompact`: the conversation is summarised by requests outside the loop. That of a child is not recorded. */
function startCompaction(session: SdkSession, at: number, data: unknown): void {
  if (peek(data, 'agent_id') !== undefined) return
  if (session.compactionEndAt !== undefined) emitCompaction(session, at)
  beginCompaction(session, at)
}

function endCompaction(session: SdkSession, at: number, data: unknown): void {
  if (session.compaction !== undefined && peek(data, 'agent_id') === undefined) session.compactionEndAt ??= at
}

/** Emits the compaction. If there are children, it has no usage, because the pending tokens cannot be attributed. */
function emitCompaction(session: SdkSession, at: number): void {
  if (session.compaction === undefined) return
  const usage = session.children.size === 0 ? takePendingTokens(session) : undefined
  finishCompaction(session, session.compactionEndAt ?? at, usage)
  session.compactionEndAt = undefined
}

function tokensOfModels(byModel: unknown): UsageCounts | undefined {
  if (typeof byModel !== 'object' || byModel === null) return undefined
  return Object.values(byModel).reduce<UsageCounts>(
    (all, usage) => combineUsage(all, readUsage(usage, COUNTS, { cacheIsOutside: true }) ?? NO_USAGE, plus),
    NO_USAGE,
  )
}

type SessionHandler = (session: SdkSession, at: number, data: unknown) => unknown

/** The events that are about a session as a whole, or name their child agent. */
export const OF_SESSION: Readonly<Record<string, SessionHandler>> = {
  'hook.SubagentStart': handleSubagentStart,
  'hook.SubagentStop': handleSubagentStop,
  'hook.PreCompact': startCompaction,
  'hook.PostCompact': endCompaction,
  'msg.user': handleToolResults,
  'msg.system.task_started': handleTaskStarted,
  'msg.system.task_notification': handleTaskNotification,
  'msg.system.compact_boundary': endCompaction,
}

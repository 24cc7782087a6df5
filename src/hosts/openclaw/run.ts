import { booleanOf, elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Call } from './calls.ts'
import { type Facts, saidAt } from './facts.ts'
import { MESSAGES_LIMIT, type Message, messageOf } from './messages.ts'
import { nameOf, type Session } from './sessions.ts'
import type { Tool } from './tools.ts'

/** One run of the agent: a user turn. OpenClaw gives it an id of its own, which all attempts of the run share. */
export interface Run {
  readonly id: string
  readonly session: Session
  /** As it was when the run began; the session can get another id in the middle of it. */
  readonly sessionId: string | undefined
  /** When it last showed a sign of life, epoch milliseconds. */
  lastAt: number
  model: unknown
  provider: unknown
  /** Whether the host lets us see the conversation. Without its permission we take no message's text, from no hook. */
  seesConversation: boolean
  messages: Message[]
  system: unknown
  toolCount: number | undefined
  /** By the host's call id, which it uses again for a retry: the newest. */
  readonly calls: Map<string, Call>
  callCount: number
  /** Calls that ended, and may not be told yet because more can be learned of them. */
  waiting: Call[]
  lastCall: Call | undefined
  failuresInARow: number
  hasUsage: boolean
  readonly tools: Map<string, Tool>
  /** Those of them whose end was not told. */
  readonly openTools: Set<Tool>
  /** Which call asked for a tool. */
  readonly askedBy: Map<string, Call>
  readonly approvals: Set<string>
  answer: string | undefined
  ending: Ending
  /** Whether the host tells the life of its runs, which says for certain when one is over. */
  hasLifecycle: boolean
  over: boolean
}

/** What was said of the run's end before we know that it is one. */
interface Ending {
  finalized?: boolean
  agentFailed?: boolean
  /** From the lifecycle of the run. */
  failed?: boolean
  interrupted?: boolean
  reason?: string
}

/** Tools and calls of one run that are remembered. */
const IDS_LIMIT = 10_000

export function newRun(id: string, session: Session, facts: Facts): Run {
  return {
    id,
    session,
    sessionId: nameOf(session),
    lastAt: facts.at,
    model: textOf(peek(facts.data, 'model')) ?? textOf(peek(facts.context, 'modelId')),
    provider: textOf(peek(facts.data, 'provider')) ?? textOf(peek(facts.context, 'modelProviderId')),
    seesConversation: false,
    messages: [],
    system: undefined,
    toolCount: undefined,
    calls: new Map(),
    callCount: 0,
    waiting: [],
    lastCall: undefined,
    failuresInARow: 0,
    hasUsage: false,
    tools: new Map(),
    openTools: new Set(),
    askedBy: new Map(),
    approvals: new Set(),
    answer: undefined,
    ending: {},
    hasLifecycle: false,
    over: false,
  }
}

export function idsOf(run: Run): { session_id: string | undefined; turn_id: string } {
  return { session_id: run.sessionId, turn_id: run.id }
}

/** Adds to a map of a run, within its limit. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size < IDS_LIMIT || map.has(key)) map.set(key, value)
}

/** Each run is told as a start of its session: in `agent --local` the host tells none. */
export function openingOf(run: Run, { at, data, context }: Facts, prompt: unknown): HookRecord[] {
  const trigger = peek(context, 'trigger')
  const platform = peek(context, 'messageProvider') ?? peek(context, 'channel')
  const sender = peek(context, 'senderId')
  return [
    hookRecord('on_session_start', at, {
      session_id: run.sessionId,
      turn_id: run.id,
      model: run.model,
      provider: run.provider,
      platform,
      sender_id: sender,
      parent_session_id: run.session.parentName,
      agent_name: peek(context, 'agentId') ?? peek(data, 'agentId'),
      trigger,
      session_type: trigger === 'heartbeat' ? trigger : undefined,
      job_id: peek(context, 'jobId'),
    }),
    hookRecord('pre_llm_call', at, {
      session_id: run.sessionId,
      turn_id: run.id,
      model: run.model,
      platform,
      sender_id: sender,
      user_message: prompt,
    }),
  ]
}

/** What the model is sent next: the conversation so far. Comes again for each attempt of the run. */
export function readInput(run: Run, data: unknown): void {
  run.seesConversation = true
  run.system = peek(data, 'systemPrompt')
  const tools = peek(data, 'tools')
  run.toolCount = isArray(tools) ? numberOf(peek(tools, 'length')) : undefined
  const history = elementsOf(peek(data, 'historyMessages'), MESSAGES_LIMIT, 'last')
  run.messages = history.map(messageOf)
  const prompt = peek(data, 'prompt')
  if (prompt !== undefined) run.messages.push({ role: 'user', content: prompt })
}

export function addMessage(run: Run, message: Message): void {
  if (!run.seesConversation) return
  run.messages.push(message)
  if (run.messages.length > 2 * MESSAGES_LIMIT) run.messages = run.messages.slice(-MESSAGES_LIMIT)
}

/**
 * The run's own word on its end. It is the last one when all attempts are over (`executionSettled`); an error without
 * that is followed by another attempt, or by nothing.
 *
 * @returns when the run ended, when this was the end
 */
export function readLifecycle(run: Run, { at, data }: Facts): number | undefined {
  const phase = peek(data, 'phase')
  if (phase !== 'end' && phase !== 'error') return undefined
  const isAborted = booleanOf(peek(data, 'aborted')) === true
  const observed = peek(data, 'errorObservation')
  const reason = idOf(peek(observed, 'failoverReason')) ?? idOf(peek(data, 'stopReason'))
  run.ending.interrupted = isAborted
  const hasError = phase === 'error' || textOf(peek(data, 'error')) !== undefined
  run.ending.failed = !isAborted && (hasError || run.lastCall?.failed === true)
  if (reason !== undefined) run.ending.reason = reason
  const text = textOf(peek(peek(data, 'terminalReply'), 'text'))
  if (run.seesConversation && text !== undefined) run.answer ??= text
  const isLast = phase === 'end' || peek(data, 'executionSettled') === true
  return isLast ? saidAt(peek(data, 'endedAt'), at) : undefined
}

/** The outcome is what happened: `agent_end` says success of a run whose only call failed. */
export function closingOf(run: Run, at: number, reason: string | undefined): HookRecord[] {
  const { ending, lastCall } = run
  const failed = ending.interrupted !== true && (ending.failed ?? (ending.agentFailed || lastCall?.failed === true))
  const isAnswered = ending.finalized === true || ending.failed === false || isLastWord(run)
  const interrupted = ending.interrupted === true || (!failed && !isAnswered)
  return [
    hookRecord('post_llm_call', at, {
      session_id: run.sessionId,
      turn_id: run.id,
      assistant_response: failed ? undefined : run.answer,
      model: run.model,
    }),
    hookRecord('on_session_end', at, {
      session_id: run.sessionId,
      turn_id: run.id,
      completed: !failed && !interrupted,
      interrupted,
      failed,
      turn_exit_reason: ending.reason ?? (interrupted ? reason : undefined),
      model: run.model,
    }),
  ]
}

/** A model call that went well and asked for no tool, or did not say: nothing was left to do. */
function isLastWord({ lastCall, tools }: Run): boolean {
  if (lastCall?.endAt === undefined || lastCall.failed || lastCall.asksForTools) return false
  for (const tool of tools.values()) if (tool.startAt >= lastCall.endAt) return false
  return true
}

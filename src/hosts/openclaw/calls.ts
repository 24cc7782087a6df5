import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import type { Facts } from './facts.ts'
import { messageOf } from './messages.ts'
import { addMessage, type Call, type Run, remember } from './state.ts'
import { usageOf } from './usage.ts'

function newCall(run: Run, { data }: Facts, startAt: number | undefined): Call {
  run.callCount += 1
  run.model = textOf(peek(data, 'model')) ?? run.model
  run.provider = textOf(peek(data, 'provider')) ?? run.provider
  const call: Call = {
    id: `${run.id}:${run.callCount}`,
    retry: run.failuresInARow,
    startAt,
    endAt: undefined,
    end: undefined,
    message: undefined,
    reply: undefined,
    failed: false,
    asksForTools: false,
  }
  remember(run.calls, callId(data), call)
  run.lastCall = call
  return call
}

function callId(data: unknown): string {
  return idOf(peek(data, 'callId')) ?? ''
}

/** `model_call_started`. */
export function startCall(run: Run, facts: Facts): HookRecord[] {
  const known = run.calls.get(callId(facts.data))
  if (known !== undefined && (known.startAt === facts.at || (known.endAt ?? 0) > facts.at)) return []
  const told = tellWaiting(run, { retried: true })
  // What was said of an end was said of an attempt that this one follows.
  run.ending = {}
  const call = newCall(run, facts, facts.at)
  const record = hookRecord('pre_api_request', facts.at, {
    session_id: run.sessionId,
    turn_id: run.id,
    api_request_id: call.id,
    retry_count: call.retry,
    model: run.model,
    provider: run.provider,
    api_call_count: run.callCount,
    api_mode: peek(facts.data, 'api'),
    tool_count: run.toolCount,
    message_count: run.seesConversation ? run.messages.length : undefined,
    request_messages: run.seesConversation ? run.messages : undefined,
    system_prompt: run.system,
  })
  return [...told, record]
}

/** `model_call_ended`. What the model said comes with its message, so the call is told with that. */
export function endCall(run: Run, facts: Facts): HookRecord[] {
  const known = run.calls.get(callId(facts.data))
  if (known?.endAt === facts.at) return []
  const isOpen = known !== undefined && known.endAt === undefined
  const call = isOpen ? known : newCall(run, facts, undefined)
  call.endAt = facts.at
  call.end = facts.data
  call.failed = peek(facts.data, 'outcome') === 'error'
  run.failuresInARow = call.failed ? run.failuresInARow + 1 : 0
  run.waiting.push(call)
  // Hooks can overlap: the message may have been quicker.
  return call.message === undefined || call.failed ? [] : tellWaiting(run, {})
}

/** An assistant's message: the answer of the call that has ended last, or is about to end. */
export function joinMessage(run: Run, message: unknown): HookRecord[] {
  const call = run.waiting.find(waiting => waiting.message === undefined) ?? openCall(run)
  if (call === undefined) return []
  const reply = messageOf(message)
  call.message = message
  call.reply = reply
  addMessage(run, reply)
  const { tool_calls: asked = [] } = reply
  call.asksForTools = asked.length > 0
  for (const { id } of asked) if (id !== undefined) remember(run.askedBy, id, call)
  if (run.seesConversation && !call.asksForTools) run.answer = textOf(reply.content) ?? run.answer
  if (call.endAt === undefined || call.failed) return []
  return tellWaiting(run, {})
}

function openCall({ lastCall }: Run): Call | undefined {
  return lastCall?.endAt === undefined && lastCall?.message === undefined ? lastCall : undefined
}

/** What became of a failed call, once that is known. */
interface Aftermath {
  readonly retried?: boolean
  readonly maxRetries?: unknown
  readonly reason?: unknown
  /** Tokens of the whole run, where no call told its own. */
  readonly runUsage?: unknown
}

/** Nothing more can be learned of the calls that have ended. */
export function tellWaiting(run: Run, aftermath: Aftermath): HookRecord[] {
  if (run.waiting.length === 0) return []
  const calls = run.waiting
  run.waiting = []
  return calls.map(call => {
    const record = call.failed ? failureOf(run, call, aftermath) : successOf(run, call, aftermath)
    forgetDetails(call)
    return record
  })
}

/** Calls are remembered until their run is over; what they said need not be. */
function forgetDetails(call: Call): void {
  call.end = undefined
  call.message = undefined
  call.reply = undefined
}

/** `llm_output`: its usage is the sum of the run's calls, so it counts only where none of them said its own. */
export function readRunUsage(run: Run, usage: unknown): HookRecord[] {
  const isOnlySource = !run.hasUsage && usageOf(usage) !== undefined
  if (run.waiting.some(({ failed }) => failed)) return []
  return tellWaiting(run, isOnlySource ? { runUsage: usage } : {})
}

/** Seconds. */
function durationOf({ end }: Call): number | undefined {
  const millis = numberOf(peek(end, 'durationMs'))
  return millis === undefined ? undefined : millis / 1000
}

/** Epoch seconds. */
function firstByteOf({ startAt, end }: Call): number | undefined {
  const millis = numberOf(peek(end, 'timeToFirstByteMs'))
  return millis === undefined || startAt === undefined ? undefined : (startAt + millis) / 1000
}

function successOf(run: Run, call: Call, { runUsage }: Aftermath): HookRecord {
  const { message, reply } = call
  const usage = usageOf(peek(message, 'usage')) ?? usageOf(runUsage)
  run.hasUsage ||= usage !== undefined
  const payload = {
    session_id: run.sessionId,
    turn_id: run.id,
    api_request_id: call.id,
    retry_count: call.retry,
    model: run.model,
    provider: run.provider,
    api_duration: durationOf(call),
    first_chunk_at: firstByteOf(call),
    finish_reason: peek(message, 'stopReason'),
    response_id: peek(message, 'responseId'),
    response_model: peek(message, 'responseModel'),
    usage,
    cost: peek(peek(message, 'usage'), 'cost'),
    assistant_tool_call_count: reply && (reply.tool_calls?.length ?? 0),
    response: run.seesConversation && reply !== undefined ? { message: reply } : undefined,
  }
  const isGuess = message === undefined ? usage !== undefined : !isOfCall(message, call)
  return hookRecord('post_api_request', call.endAt ?? run.lastAt, payload, isGuess ? 'inferred' : undefined)
}

/** The host stamps a message while its call is under way; where it does not fit, the order alone joins the two. */
function isOfCall(message: unknown, { startAt, endAt }: Call): boolean {
  const at = numberOf(peek(message, 'timestamp'))
  return at !== undefined && startAt !== undefined && endAt !== undefined && at >= startAt && at <= endAt
}

function failureOf(run: Run, call: Call, { retried, maxRetries, reason }: Aftermath): HookRecord {
  const { end, message } = call
  const kind = peek(end, 'failureKind')
  const type = textOf(peek(message, 'errorType')) ?? textOf(kind) ?? textOf(peek(end, 'errorCategory'))
  return hookRecord('api_request_error', call.endAt ?? run.lastAt, {
    session_id: run.sessionId,
    turn_id: run.id,
    api_request_id: call.id,
    retry_count: call.retry,
    model: run.model,
    provider: run.provider,
    api_duration: durationOf(call),
    status_code: numberOf(peek(message, 'errorCode')),
    max_retries: maxRetries,
    retryable: retried,
    reason: textOf(reason) ?? textOf(kind),
    error: { type, message: textOf(peek(message, 'errorMessage')) },
  })
}

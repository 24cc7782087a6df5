import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { RecordScope, type Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { readUsage, type UsageCounts } from '../base/usage.ts'
import { type Facts, messageOf, OpenClawCall, type OpenClawSession, type Run, remember } from './state.ts'

const CACHE_COUNTS = { cacheRead: 'cacheRead', cacheWrite: 'cacheWrite' }
const COUNTS = { input: 'input', output: 'output', ...CACHE_COUNTS, reasoning: 'reasoningTokens' }

function newCall(run: Run, { at, data }: Facts): OpenClawCall {
  run.model = textOf(peek(data, 'model')) ?? run.model
  run.provider = textOf(peek(data, 'provider')) ?? run.provider
  const call = new OpenClawCall(run, at, run.requests.nextNumbers({ keepsId: false }))
  remember(run.calls, callId(data), call)
  run.lastCall = call
  return call
}

function callId(data: unknown): string {
  return idOf(peek(data, 'callId')) ?? ''
}

function sentAt({ isStartEmitted: isTold, startAt }: OpenClawCall): number | undefined {
  return isTold ? startAt : undefined
}

export function startCall(run: Run, facts: Facts): void {
  const known = run.calls.get(callId(facts.data))
  if (known !== undefined && (sentAt(known) === facts.at || (known.endAt ?? 0) > facts.at)) return
  emitEndedCalls(run, { retried: true })
  // Discards an end that was reported for an earlier attempt.
  run.ending = {}
  newCall(run, facts).emitStart({
    model: run.model,
    provider: run.provider,
    api_mode: peek(facts.data, 'api'),
    tool_count: run.toolCount,
    message_count: run.seesConversation ? run.messages.length : undefined,
    request_messages: run.seesConversation ? run.messages : undefined,
    system_prompt: run.system,
  })
}

/** Handles `model_call_ended`. The call is emitted with its message, which arrives separately. */
export function endCall(run: Run, facts: Facts): void {
  const known = run.calls.get(callId(facts.data))
  if (known?.endAt === facts.at) return
  const isOpen = known !== undefined && known.endAt === undefined
  const call = isOpen ? known : newCall(run, facts)
  call.endAt = facts.at
  call.end = facts.data
  call.hasFailed = peek(facts.data, 'outcome') === 'error'
  run.requests.failures = call.hasFailed ? run.requests.failures + 1 : 0
  run.endedCalls.push(call)
  // Hooks can overlap: the message may have arrived first.
  if (call.message !== undefined && !call.hasFailed) emitEndedCalls(run, {})
}

/** Handles an assistant message: the answer of the last ended call, or of the open one. */
export function joinMessage(run: Run, message: unknown): void {
  const call = run.endedCalls.find(waiting => waiting.message === undefined) ?? openCall(run)
  if (call === undefined) return
  const reply = messageOf(message)
  call.message = message
  call.reply = reply
  run.addMessage(reply)
  const { tool_calls: asked = [] } = reply
  call.asksForTools = asked.length > 0
  for (const { id } of asked) if (id !== undefined) remember(run.requestingCalls, id, call)
  if (run.seesConversation && !call.asksForTools) run.answer = textOf(reply.content) ?? run.answer
  if (call.endAt !== undefined && !call.hasFailed) emitEndedCalls(run, {})
}

function openCall({ lastCall }: Run): OpenClawCall | undefined {
  return lastCall?.endAt === undefined && lastCall?.message === undefined ? lastCall : undefined
}

interface LaterFacts {
  readonly retried?: boolean
  readonly maxRetries?: unknown
  readonly reason?: unknown
  readonly runUsage?: UsageCounts | undefined
}

export function emitEndedCalls(run: Run, aftermath: LaterFacts): void {
  const calls = run.endedCalls
  run.endedCalls = []
  for (const call of calls) {
    if (call.hasFailed) emitFailure(run, call, aftermath)
    else emitAnswer(run, call, aftermath)
    // Calls are kept until their run ends; their contents are freed.
    call.end = undefined
    call.message = undefined
    call.reply = undefined
  }
}

/** Handles `llm_output`. Its usage is the sum of the run's calls, so it is used only if no call has its own. */
export function readRunUsage(run: Run, usage: unknown): void {
  if (run.endedCalls.some(({ hasFailed }) => hasFailed)) return
  emitEndedCalls(run, { runUsage: run.hasUsage ? undefined : callUsage(usage) })
}

/** OpenClaw's `input` excludes the cache, and its `output` includes reasoning. */
function callUsage(usage: unknown): UsageCounts | undefined {
  return readUsage(usage, COUNTS, { cacheIsOutside: true })
}

function durationOf({ end }: OpenClawCall): number | undefined {
  const millis = numberOf(peek(end, 'durationMs'))
  return millis === undefined ? undefined : millis / 1000
}

function emitAnswer(run: Run, call: OpenClawCall, { runUsage }: LaterFacts): void {
  const { message, reply, end } = call
  const usage = callUsage(peek(message, 'usage')) ?? runUsage
  run.hasUsage ||= usage !== undefined
  const untilFirstByte = numberOf(peek(end, 'timeToFirstByteMs'))
  if (untilFirstByte !== undefined && call.isStartEmitted) call.firstChunkAt = call.startAt + untilFirstByte
  const facts = {
    model: run.model,
    provider: run.provider,
    api_duration: durationOf(call),
    finish_reason: peek(message, 'stopReason'),
    response_id: peek(message, 'responseId'),
    response_model: peek(message, 'responseModel'),
    usage,
    cost: peek(peek(message, 'usage'), 'cost'),
    assistant_tool_call_count: reply && (reply.tool_calls?.length ?? 0),
    response: run.seesConversation && reply !== undefined ? { message: reply } : undefined,
  }
  const isGuess = message === undefined ? usage !== undefined : !isOfCall(message, call)
  call.emitAnswer(call.endAt ?? run.lastAt, facts, isGuess ? 'inferred' : undefined)
}

/** Returns true if the message's timestamp lies within the call. Otherwise the two are joined by order alone. */
function isOfCall(message: unknown, call: OpenClawCall): boolean {
  const at = numberOf(peek(message, 'timestamp'))
  const [from, to] = [sentAt(call), call.endAt]
  return at !== undefined && from !== undefined && to !== undefined && at >= from && at <= to
}

function emitFailure(run: Run, call: OpenClawCall, { retried, maxRetries, reason }: LaterFacts): void {
  const { end, message } = call
  const kind = peek(end, 'failureKind')
  const type = textOf(peek(message, 'errorType')) ?? textOf(kind) ?? textOf(peek(end, 'errorCategory'))
  call.emitFailure(call.endAt ?? run.lastAt, {
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

/** Handles `before_compaction`. Between two runs it belongs to no run. */
export function startCompaction(records: Records, session: OpenClawSession, { at, data }: Facts): void {
  if (session.compaction !== undefined) return
  session.compactionCount += 1
  const { run, name } = session
  const id = `${name ?? ''}:compaction:${session.compactionCount}`
  const request = new ModelRequest(run ?? new RecordScope(records, name), at, { id, task: 'compression' })
  session.compaction = { request, run }
  request.emitStart({
    model: run?.model,
    provider: run?.provider,
    message_count: numberOf(peek(data, 'compactingCount')) ?? numberOf(peek(data, 'messageCount')),
    approx_input_tokens: numberOf(peek(data, 'tokenCount')),
  })
}

export function endCompaction(session: OpenClawSession, at: number, failure?: string): void {
  const { compaction } = session
  session.compaction = undefined
  const { model, provider } = compaction?.run ?? {}
  compaction?.request.emitFailure(at, { model, provider, error_type: failure })
}

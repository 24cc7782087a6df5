import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { hookRecord } from '../host-event.ts'
import { endCalls } from './calls.ts'
import { endChild } from './children.ts'
import { countTokens, endAttempts, modelOf, PLATFORM, PROVIDER, tellPrompt } from './requests.ts'
import { idsOf, type Loop, newLoop, type Out, type Session } from './session.ts'
import {
  larger,
  minus,
  NO_TOKENS,
  plus,
  smaller,
  type Tokens,
  tokensOf,
  tokensOfModels,
  usagePayload,
} from './usage.ts'

const DENIALS_LIMIT = 1000

/** The turn of a prompt whose hook has fired; its model has been told by now. */
export function settlePrompt(out: Out, session: Session): void {
  const { prompt } = session
  if (prompt === undefined) return
  session.prompt = undefined
  openTurn(out, session, prompt.at, prompt.id, prompt.text)
}

export function openTurn(out: Out, session: Session, at: number, promptId: string | undefined, text: unknown): Loop {
  session.turns += 1
  const turnId = promptId ?? `${session.id}:${session.turns}`
  const loop = newLoop({ sessionId: session.id, turnId }, at, text, session.model)
  loop.promptId = promptId
  session.main = loop
  if (!session.isAnnounced) {
    session.isAnnounced = true
    const facts = { model: session.model, provider: PROVIDER, platform: PLATFORM }
    out.push(hookRecord('on_session_start', at, { ...idsOf(loop), ...facts }))
  }
  tellPrompt(out, loop)
  return loop
}

/** How a turn ended. */
interface TurnEnd {
  readonly at: number
  readonly outcome: 'completed' | 'failed' | 'interrupted'
  readonly reason: string | undefined
  readonly result?: unknown
}

/** `result`: the turn is over, and what it used is known. The subtype is `success` for some that failed, too. */
export function resultArrived(out: Out, session: Session, at: number, data: unknown): void {
  const loop = session.main
  if (loop === undefined) {
    // The answer to a command, such as `/compact`.
    settleTokens(session, data)
    tellCompaction(out, session, at)
    return
  }
  const reason = textOf(peek(data, 'terminal_reason')) ?? textOf(peek(data, 'subtype'))
  const isInterrupted = loop.isInterrupted || (reason?.startsWith('aborted') ?? false)
  const hasFailed = peek(data, 'is_error') === true || (textOf(peek(data, 'subtype')) ?? 'success') !== 'success'
  const outcome = isInterrupted ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  endTurn(out, session, loop, { at, outcome, reason, result: data })
}

/** There was no result: what is known is whether the agent had stopped by itself. */
export function endWithoutResult(out: Out, session: Session, at: number, reason: string | undefined): void {
  const loop = session.main
  if (loop === undefined) return
  const { stopped, failure } = loop
  if (failure !== undefined) endTurn(out, session, loop, { at: loop.lastAt, outcome: 'failed', reason: failure })
  else if (stopped !== undefined) endTurn(out, session, loop, { at: stopped.at, outcome: 'completed', reason: 'stop' })
  else endTurn(out, session, loop, { at, outcome: reason === 'error' ? 'failed' : 'interrupted', reason })
}

function endTurn(out: Out, session: Session, loop: Loop, end: TurnEnd): void {
  const { at, outcome, reason, result } = end
  session.main = undefined
  session.endedPromptId = loop.promptId
  endAttempts(out, session, loop, {
    at,
    stopReason: textOf(peek(result, 'stop_reason')),
    total: tokensOf(peek(result, 'usage')),
    isCut: outcome === 'interrupted',
  })
  endCalls(out, session, loop, at, deniedIn(result))
  endForegroundChildren(out, session, loop, at)
  settleTokens(session, result)
  tellCompaction(out, session, at)
  tellUnlisted(out, session, loop, at)
  const answer = outcome === 'completed' ? (textOf(peek(result, 'result')) ?? loop.stopped?.text) : undefined
  out.push(hookRecord('post_llm_call', at, { ...idsOf(loop), assistant_response: answer, model: modelOf(loop) }))
  const facts = { [outcome]: true, turn_exit_reason: reason, model: modelOf(loop) }
  out.push(hookRecord('on_session_end', at, { ...idsOf(loop), ...facts }))
}

function deniedIn(result: unknown): ReadonlySet<string> {
  const denials = elementsOf(peek(result, 'permission_denials'), DENIALS_LIMIT)
  return new Set(denials.map(denial => idOf(peek(denial, 'tool_use_id')) ?? ''))
}

/** A child that its tool waited for cannot be at work when the turn of that tool is over. */
function endForegroundChildren(out: Out, session: Session, loop: Loop, at: number): void {
  for (const child of session.children.values()) {
    const isOfTurn = child.parent.turnId === loop.turnId && child.handedBack !== undefined
    if (isOfTurn) endChild(out, session, child, at)
  }
}

/** What the SDK has counted since the result before, against what was told of it. */
function settleTokens(session: Session, result: unknown): void {
  const counted = tokensOfModels(peek(result, 'model_usage_since_last_result'))
  for (const { loop: child } of session.children.values()) {
    for (const attempt of child?.open ?? []) {
      if (child === undefined) continue
      countTokens(session, child, attempt)
      attempt.isExact = counted !== undefined || attempt.isExact
    }
  }
  if (counted !== undefined) session.owed = plus(session.owed, minus(counted, session.counted))
  session.counted = NO_TOKENS
}

function takeOwed(session: Session): Tokens | undefined {
  const owed = larger(session.owed, NO_TOKENS)
  if (owed.input + owed.output === 0) return undefined
  session.owed = smaller(session.owed, NO_TOKENS)
  return owed
}

/**
 * The SDK counts what it shows in no message: what children wrote beyond the first token of each answer, titles, other
 * side calls. It is told as one side call of the turn, so that the sum over a trace is what the SDK counted.
 */
function tellUnlisted(out: Out, session: Session, loop: Loop, at: number): void {
  const owed = takeOwed(session)
  if (owed === undefined) return
  const ids = { ...idsOf(loop), api_request_id: `${loop.turnId}:unlisted`, aux_task: 'unlisted', provider: PROVIDER }
  out.push(hookRecord('pre_auxiliary_call', at, ids, 'inferred'))
  out.push(hookRecord('post_auxiliary_call', at, { ...ids, usage: usagePayload(owed) }, 'inferred'))
}

/** `PreCompact`: the conversation is about to be summarised, by requests that are not part of the loop. */
export function startCompaction(out: Out, session: Session, at: number): void {
  if (session.compaction !== undefined && session.compaction.endAt === undefined) return
  tellCompaction(out, session, at)
  session.compactions += 1
  const turnId = session.main?.turnId
  session.compaction = { id: `${session.id}:compaction:${session.compactions}`, turnId, endAt: undefined }
  out.push(hookRecord('pre_auxiliary_call', at, compactionIds(session, session.compaction)))
}

/** `PostCompact`, `compact_boundary`. What it used is known with the next result. */
export function endCompaction(session: Session, at: number): void {
  if (session.compaction !== undefined) session.compaction.endAt ??= at
}

/** Where there are children, nobody knows which of what is owed is whose. */
export function tellCompaction(out: Out, session: Session, at: number): void {
  const { compaction } = session
  if (compaction === undefined) return
  session.compaction = undefined
  const usage = session.children.size === 0 ? takeOwed(session) : undefined
  const payload = { ...compactionIds(session, compaction), usage: usage && usagePayload(usage) }
  out.push(hookRecord('post_auxiliary_call', compaction.endAt ?? at, payload, usage && 'inferred'))
}

function compactionIds(session: Session, compaction: NonNullable<Session['compaction']>): object {
  const turn = compaction.turnId === undefined ? {} : { turn_id: compaction.turnId }
  return { session_id: session.id, ...turn, api_request_id: compaction.id, aux_task: 'compression', provider: PROVIDER }
}

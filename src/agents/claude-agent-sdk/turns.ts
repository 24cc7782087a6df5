import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { tokensOf } from '../base/anthropic-usage.ts'
import { RecordScope } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import type { TurnResult } from '../base/turn.ts'
import { combineUsage, minus, NO_USAGE, plus, type TokenUsage } from '../base/usage.ts'
import { endCalls } from './calls.ts'
import { endChild } from './children.ts'
import { countTokens, endAttempts, PLATFORM, PROVIDER, tellPrompt } from './requests.ts'
import { Loop, type Session } from './session.ts'
import { larger, tokensOfModels } from './usage.ts'

const DENIALS_LIMIT = 1000

/** Opens the turn of a pending prompt; its model is known by now. */
export function settlePrompt(session: Session): void {
  const { prompt } = session
  if (prompt === undefined) return
  session.prompt = undefined
  openTurn(session, prompt.at, prompt.id, prompt.text)
}

export function openTurn(session: Session, at: number, promptId: string | undefined, text: unknown): Loop {
  session.turns += 1
  const turnId = promptId ?? `${session.id}:${session.turns}`
  const loop = new Loop(session, { sessionId: session.id, turnId }, at, text)
  loop.promptId = promptId
  session.main = loop
  if (!session.isAnnounced) {
    session.isAnnounced = true
    loop.emit('on_session_start', at, { model: session.model, provider: PROVIDER, platform: PLATFORM })
  }
  tellPrompt(loop)
  return loop
}

interface LoopOver {
  readonly at: number
  readonly outcome: TurnResult
  readonly reason: string | undefined
  readonly result?: unknown
}

/** Handles `result`: the end of the turn, with its usage. Some failed turns have the subtype `success`, too. */
export function resultArrived(session: Session, at: number, data: unknown): void {
  const loop = session.main
  if (loop === undefined) {
    // The result of a command such as `/compact`.
    settleTokens(session, data)
    tellCompaction(session, at)
    return
  }
  const reason = textOf(peek(data, 'terminal_reason')) ?? textOf(peek(data, 'subtype'))
  const isInterrupted = loop.isInterrupted || (reason?.startsWith('aborted') ?? false)
  const hasFailed = peek(data, 'is_error') === true || (textOf(peek(data, 'subtype')) ?? 'success') !== 'success'
  const outcome = isInterrupted ? 'interrupted' : hasFailed ? 'failed' : 'completed'
  endTurn(loop, { at, outcome, reason, result: data })
}

/** Ends a turn without a result. The outcome depends on whether the agent had stopped by itself. */
export function endWithoutResult({ main }: Session, at: number, reason: string | undefined): void {
  if (main === undefined) return
  const { stopped, failure } = main
  if (failure !== undefined) endTurn(main, { at: main.lastAt, outcome: 'failed', reason: failure })
  else if (stopped !== undefined) endTurn(main, { at: stopped.at, outcome: 'completed', reason: 'stop' })
  else endTurn(main, { at, outcome: reason === 'error' ? 'failed' : 'interrupted', reason })
}

function endTurn(loop: Loop, { at, outcome, reason, result }: LoopOver): void {
  const { session } = loop
  session.main = undefined
  session.endedPromptId = loop.promptId
  endAttempts(loop, {
    at,
    stopReason: textOf(peek(result, 'stop_reason')),
    total: tokensOf(peek(result, 'usage')),
    isCut: outcome === 'interrupted',
  })
  endCalls(loop, at, deniedIn(result))
  endForegroundChildren(loop, at)
  settleTokens(session, result)
  tellCompaction(session, at)
  tellUnlisted(loop, at)
  const answer = outcome === 'completed' ? (textOf(peek(result, 'result')) ?? loop.stopped?.text) : undefined
  const model = loop.usedModel
  loop.emitAnswer(at, answer, model)
  loop.emitEnd(at, { outcome, reason, model })
}

function deniedIn(result: unknown): ReadonlySet<string> {
  const denials = elementsOf(peek(result, 'permission_denials'), DENIALS_LIMIT)
  return new Set(denials.map(denial => idOf(peek(denial, 'tool_use_id')) ?? ''))
}

/** Ends foreground children: they cannot run after their tool's turn. */
function endForegroundChildren({ session, turnId }: Loop, at: number): void {
  for (const child of session.children.values()) {
    if (child.task.ids.parent_turn_id === turnId && child.handedBack !== undefined) endChild(child, at)
  }
}

/** Adds the difference between the tokens that the SDK counted since the last result and those emitted. */
function settleTokens(session: Session, result: unknown): void {
  const counted = tokensOfModels(peek(result, 'model_usage_since_last_result'))
  for (const { loop: child } of session.children.values()) {
    for (const attempt of child?.open ?? []) {
      if (child === undefined) continue
      countTokens(child, attempt)
      attempt.isExact = counted !== undefined || attempt.isExact
    }
  }
  if (counted !== undefined)
    session.owed = combineUsage(session.owed, combineUsage(counted, session.counted, minus), plus)
  session.counted = NO_USAGE
}

function takeOwed(session: Session): TokenUsage | undefined {
  const owed = larger(session.owed, NO_USAGE)
  if (owed.total_tokens === 0) return undefined
  session.owed = combineUsage(session.owed, NO_USAGE, Math.min)
  return owed
}

/**
 * Emits tokens that appear in no message as one auxiliary call of the turn, so that the sum of a trace equals the SDK's count.
 * Examples: output of children beyond the first token of each answer, titles, other auxiliary calls.
 */
function tellUnlisted(loop: Loop, at: number): void {
  const usage = takeOwed(loop.session)
  if (usage === undefined) return
  const request = new ModelRequest(loop, at, { id: `${loop.turnId}:unlisted`, task: 'unlisted' })
  request.emitStart({ provider: PROVIDER }, 'inferred')
  request.emitAnswer(at, { provider: PROVIDER, usage }, 'inferred')
}

/** Handles `PreCompact`: the conversation is summarised by requests outside the loop. */
export function startCompaction(session: Session, at: number): void {
  if (session.compaction !== undefined && session.compaction.endAt === undefined) return
  tellCompaction(session, at)
  session.compactions += 1
  const scope = session.main ?? new RecordScope(session.records, session.id)
  const id = `${session.id}:compaction:${session.compactions}`
  const request = new ModelRequest(scope, at, { id, task: 'compression' })
  session.compaction = { request, endAt: undefined }
  request.emitStart({ provider: PROVIDER })
}

/** Handles `PostCompact` and `compact_boundary`. The usage is known with the next result. */
export function endCompaction(session: Session, at: number): void {
  if (session.compaction !== undefined) session.compaction.endAt ??= at
}

/** Emits the compaction. If there are children, it has no usage, because the pending tokens cannot be attributed. */
export function tellCompaction(session: Session, at: number): void {
  const { compaction } = session
  if (compaction === undefined) return
  session.compaction = undefined
  const usage = session.children.size === 0 ? takeOwed(session) : undefined
  compaction.request.emitAnswer(compaction.endAt ?? at, { provider: PROVIDER, usage }, usage && 'inferred')
}

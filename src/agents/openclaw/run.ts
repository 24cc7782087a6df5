import { booleanOf, elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { plausibleTime } from '../base/event-machine.ts'
import { SessionStates } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { emitEndedCalls, endCompaction } from './requests.ts'
import { type Facts, MESSAGES_LIMIT, messageOf, OpenClawSession, Run, Sessions } from './state.ts'
import { cancelTools, settleTools } from './tools.ts'

/** Limit of remembered runs, including ended ones: late events must not open them again. */
const RUNS_LIMIT = 2000

interface Entry {
  run?: Run
  begunAt?: number
}

export class RunBook {
  readonly records: Records
  readonly sessions: Sessions = new Sessions()
  readonly #runs = new SessionStates((): Entry => ({}), RUNS_LIMIT)

  constructor(records: Records) {
    this.records = records
  }

  findRun(facts: Facts): Run | undefined {
    const { runId } = facts
    const run = runId === undefined ? this.sessions.of(facts)?.run : this.#runs.find(runId)?.run
    if (run === undefined || run.isOver) return undefined
    run.lastAt = Math.max(run.lastAt, facts.at)
    return run
  }

  /** Like `find`, but starts an unknown run. Only for events that a run must cause. */
  openedRun(facts: Facts, prompt?: unknown): Run | undefined {
    const known = this.findRun(facts)
    if (known !== undefined || facts.runId === undefined) return known
    const entry = this.#runs.get(facts.runId)
    if (entry.run !== undefined) return undefined
    const session = this.sessions.of(facts) ?? new OpenClawSession()
    if (session.run !== undefined) this.finishRun(session.run, session.run.lastAt)
    const run = new Run(this.records, facts.runId, session, facts, entry.begunAt !== undefined)
    entry.run = run
    session.run = run
    openRun(run, Math.min(entry.begunAt ?? facts.at, facts.at), facts, prompt)
    return run
  }

  /**
   * Notes the start of a run. Its first records are emitted with a later event that has more facts, usually the start of a model
   * call.
   */
  announceRun(facts: Facts): void {
    const known = this.findRun(facts)
    if (known !== undefined) known.hasLifecycle = true
    else if (facts.runId !== undefined) this.#runs.get(facts.runId).begunAt ??= facts.at
  }

  isAnnounced({ runId }: Facts): boolean {
    const entry = runId === undefined ? undefined : this.#runs.find(runId)
    return entry?.run === undefined && entry?.begunAt !== undefined
  }

  finishRun(run: Run, at: number, reason?: string): void {
    if (run.isOver) return
    run.isOver = true
    const { session } = run
    emitEndedCalls(run, {})
    settleTools(run)
    if (session.compaction?.run === run) endCompaction(session, at, 'unfinished')
    if (run.ending.interrupted === true || reason !== undefined) cancelTools(run, at)
    closeRun(run, at, reason)
    if (session.run === run) session.run = undefined
    session.lastRun = run
    run.releaseContent()
  }

  finishAll(reason: string): void {
    for (const { run } of this.sessions.values()) if (run !== undefined) this.finishRun(run, run.lastAt, reason)
  }
}

/** Emits a session start for each run: `agent --local` has no such hook. */
function openRun(run: Run, at: number, { data, context }: Facts, prompt: unknown): void {
  const { model, provider } = run
  const trigger = peek(context, 'trigger')
  const platform = peek(context, 'messageProvider') ?? peek(context, 'channel')
  const sender_id = peek(context, 'senderId')
  run.emit('on_session_start', at, {
    model,
    provider,
    platform,
    sender_id,
    parent_session_id: run.session.parentName,
    agent_name: peek(context, 'agentId') ?? peek(data, 'agentId'),
    trigger,
    session_type: trigger === 'heartbeat' ? trigger : undefined,
    job_id: peek(context, 'jobId'),
    cwd: peek(context, 'workspaceDir'),
  })
  run.emit('pre_llm_call', at, { model, platform, sender_id, user_message: prompt })
}

/** Reads the next input of the model: the conversation so far. Emitted again for each attempt of the run. */
export function readInput(run: Run, data: unknown): void {
  run.seesConversation = true
  run.system = peek(data, 'systemPrompt')
  const tools = peek(data, 'tools')
  run.toolCount = isArray(tools) ? numberOf(peek(tools, 'length')) : undefined
  run.messages = elementsOf(peek(data, 'historyMessages'), MESSAGES_LIMIT, 'last').map(messageOf)
  const prompt = peek(data, 'prompt')
  if (prompt !== undefined) run.messages.push({ role: 'user', content: prompt })
}

/**
 * Reads the run's own end. It is final if all attempts have settled (`executionSettled`). An error without that flag may be
 * followed by another attempt.
 *
 * @returns the time of the end, if it is final
 */
export function readLifecycle(run: Run, { at, data }: Facts): number | undefined {
  const phase = peek(data, 'phase')
  if (phase !== 'end' && phase !== 'error') return undefined
  const isAborted = booleanOf(peek(data, 'aborted')) === true
  const observed = peek(data, 'errorObservation')
  const reason = idOf(peek(observed, 'failoverReason')) ?? idOf(peek(data, 'stopReason'))
  run.ending.interrupted = isAborted
  const hasError = phase === 'error' || textOf(peek(data, 'error')) !== undefined
  run.ending.failed = !isAborted && (hasError || run.lastCall?.hasFailed === true)
  if (reason !== undefined) run.ending.reason = reason
  const text = textOf(peek(peek(data, 'terminalReply'), 'text'))
  if (run.seesConversation && text !== undefined) run.answer ??= text
  const isLast = phase === 'end' || peek(data, 'executionSettled') === true
  return isLast ? plausibleTime(peek(data, 'endedAt'), at) : undefined
}

/** Ends the run. The outcome is derived from the events, because `agent_end` reports success even if the only call failed. */
function closeRun(run: Run, at: number, reason: string | undefined): void {
  const { ending, lastCall, model } = run
  const failed = ending.interrupted !== true && (ending.failed ?? (ending.agentFailed || lastCall?.hasFailed === true))
  const isAnswered = ending.finalized === true || ending.failed === false || isLastWord(run)
  const interrupted = ending.interrupted === true || (!failed && !isAnswered)
  run.emitAnswer(at, failed ? undefined : run.answer, model)
  const outcome = failed ? 'failed' : interrupted ? 'interrupted' : 'completed'
  run.emitEnd(at, { outcome, reason: ending.reason ?? (interrupted ? reason : undefined), model })
}

function isLastWord({ lastCall, tools }: Run): boolean {
  if (lastCall?.endAt === undefined || lastCall.hasFailed || lastCall.asksForTools) return false
  for (const tool of tools.values()) if (tool.startAt >= lastCall.endAt) return false
  return true
}

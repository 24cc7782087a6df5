import type { Records } from '../base/records.ts'
import { SessionStates } from '../session-states.ts'
import { emitEndedCalls } from './calls.ts'
import type { Facts } from './facts.ts'
import { closeRun, openRun } from './run.ts'
import { endCompaction } from './side-work.ts'
import { OpenClawSession, Run, Sessions } from './state.ts'
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

import type { HookRecord } from '../../contract/index.ts'
import { SessionStates } from '../session-states.ts'
import { tellWaiting } from './calls.ts'
import type { Facts } from './facts.ts'
import { closingOf, openingOf } from './run.ts'
import { Sessions } from './sessions.ts'
import { endCompaction } from './side-work.ts'
import { newRun, newSession, type Run } from './state.ts'
import { cancelTools, settleTools } from './tools.ts'

/** Runs that are remembered, also when they are over: what comes late must not open them again. */
const RUNS_LIMIT = 2000

interface Entry {
  run?: Run
  /** When it was said to begin, by an event that does not say with which model. */
  begunAt?: number
}

/** Which runs there are, and when they begin and end. */
export class RunBook {
  readonly sessions: Sessions = new Sessions()
  readonly #runs = new SessionStates((): Entry => ({}), RUNS_LIMIT)

  /** The run that an event is about, while it is under way. */
  find(facts: Facts): Run | undefined {
    const { runId } = facts
    const run = runId === undefined ? this.sessions.of(facts)?.run : this.#runs.look(runId)?.run
    if (run === undefined || run.over) return undefined
    run.lastAt = Math.max(run.lastAt, facts.at)
    return run
  }

  /**
   * The same for an event that only a run can cause: one that was not heard of begins here.
   *
   * @param then what the event means to its run; not asked where the run is over, or is not named
   */
  in(facts: Facts, then: (run: Run) => HookRecord[], prompt?: unknown): HookRecord[] {
    const known = this.find(facts)
    if (known !== undefined) return then(known)
    if (facts.runId === undefined) return []
    const entry = this.#runs.get(facts.runId)
    if (entry.run !== undefined) return []
    const session = this.sessions.of(facts) ?? newSession()
    const before = session.run === undefined ? [] : this.finish(session.run, session.run.lastAt)
    const run = newRun(facts.runId, session, facts)
    run.hasLifecycle = entry.begunAt !== undefined
    entry.run = run
    session.run = run
    const at = Math.min(entry.begunAt ?? facts.at, facts.at)
    return [...before, ...openingOf(run, { ...facts, at }, prompt), ...then(run)]
  }

  /** A run begins. Its first records wait for the event that says more, mostly the start of a model call. */
  announce(facts: Facts): void {
    const known = this.find(facts)
    if (known !== undefined) known.hasLifecycle = true
    else if (facts.runId !== undefined) this.#runs.get(facts.runId).begunAt ??= facts.at
  }

  /** Whether nothing is known of a run but that it has begun. */
  isAnnounced({ runId }: Facts): boolean {
    const entry = runId === undefined ? undefined : this.#runs.look(runId)
    return entry?.run === undefined && entry?.begunAt !== undefined
  }

  /**
   * @param at when it ended, epoch milliseconds
   * @param reason why, where the run itself did not say
   */
  finish(run: Run, at: number, reason?: string): HookRecord[] {
    if (run.over) return []
    run.over = true
    const { session } = run
    const wasStopped = run.ending.interrupted === true || reason !== undefined
    const records = [...tellWaiting(run, {}), ...settleTools(run)]
    if (session.compaction?.run === run) records.push(...endCompaction(session, at, 'unfinished'))
    if (wasStopped) records.push(...cancelTools(run, at))
    records.push(...closingOf(run, at, reason))
    if (session.run === run) session.run = undefined
    session.lastRun = run
    forgetDetails(run)
    return records
  }

  /** All that are under way, at the time of their last sign of life. */
  finishAll(reason: string): HookRecord[] {
    const open = this.sessions.values().flatMap(({ run }) => run ?? [])
    return open.flatMap(run => this.finish(run, run.lastAt, reason))
  }
}

/** A run that is over is remembered by its id; its conversation is not. */
function forgetDetails(run: Run): void {
  run.messages = []
  run.system = undefined
  run.lastCall = undefined
  run.answer = undefined
  run.calls.clear()
  run.tools.clear()
  run.openTools.clear()
  run.askedBy.clear()
  run.approvals.clear()
}

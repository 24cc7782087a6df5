import type { FinalStatus, IncompleteReason, SessionEnd, SpanKindName } from '../contract/index.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'

export interface TurnOutcome {
  readonly at: number
  readonly finalStatus: FinalStatus
  readonly payload?: SessionEnd
  /** Mark of the open spans below the root. */
  readonly descendants: IncompleteReason
  /** Mark of the root, if hookspan ends it without a record of the host. */
  readonly root?: IncompleteReason
  readonly rootStatus?: 'derived' | 'unset'
}

const WORK: readonly SpanKindName[] = ['api', 'tool', 'subagent', 'approval', 'auxiliary', 'hook']

/** Returns true if anything is open in a turn besides its root, its loop and its skills. */
export function isWorking(turn: TrackedTurn): boolean {
  return WORK.some(kind => turn.innermost(kind) !== undefined)
}

export function isIdle(turn: TrackedTurn): boolean {
  return turn.openCount <= 1
}

/** Kinds that stay open without work in progress, for example between two requests of the loop. */
const IDLE_KINDS: ReadonlySet<SpanKindName> = new Set(['session', 'llm', 'skill'])

/** Returns true if a process or the user is working on an open span. Silence is no end then. */
export function isAtWork(turn: TrackedTurn): boolean {
  return !isFailed(turn) && turn.hasOpen(isWork)
}

function isWork({ kind, followedAt }: TrackedSpan): boolean {
  return !IDLE_KINDS.has(kind) && followedAt === undefined
}

function waitsFor(turn: TrackedTurn, kind: 'api' | 'llm'): boolean {
  const open = turn.innermost(kind)
  return open !== undefined && open.followedAt === undefined
}

/**
 * Returns true if the turn has stopped at a failed request. It failed for good, or it was begun again after an attempt
 * without an answer and got none then. Such answers were unusable, and hosts report nothing of them.
 */
export function isFailed(turn: TrackedTurn): boolean {
  if (turn.deadEnd !== undefined) return true
  const open = turn.innermost('api')
  const before = open === undefined ? undefined : turn.history.ended(open.slot)
  return before !== undefined && !before.byHost
}

/**
 * Returns true if no further hook is expected of a turn whose end was not reported. Its request failed for good, or it
 * has its answer and its host reports no sessions.
 */
export function isPresumedOver(turn: TrackedTurn, areSessionsReported: boolean): boolean {
  const isSettled = turn.deadEnd?.isReported === true || (turn.answeredAt !== undefined && !areSessionsReported)
  return isSettled && turn.root !== undefined && !turn.hasEnded && !isWorking(turn)
}

/** Corrects the end of a turn if its records prove more than the event that ended it. */
export function provenEnd(turn: TrackedTurn, outcome: TurnOutcome): TurnOutcome {
  if (turn.root === undefined) return outcome
  if (isFailed(turn) && outcome.payload?.interrupted !== true) {
    const at = outcome.payload === undefined ? turn.activityAt : outcome.at
    return {
      ...(outcome.payload && { payload: outcome.payload }),
      at,
      finalStatus: 'failed',
      descendants: 'turn_ended',
    }
  }
  // The answer is reported only for turns that succeeded.
  if (turn.answeredAt !== undefined && outcome.payload === undefined) {
    return { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' }
  }
  if (turn.isBackground && isIdle(turn) && outcome.payload === undefined) {
    return { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' }
  }
  if (!waitsFor(turn, 'api')) return outcome
  // Closing a session while a request is pending is a decision of the user, but the turn did not succeed.
  if (outcome.finalStatus === 'finalized' || outcome.finalStatus === 'reset') return { ...outcome, rootStatus: 'unset' }
  // A child killed by its parent's exit is reported as completed.
  const isKilled = outcome.finalStatus === 'completed' && turn.delegation !== undefined && waitsFor(turn, 'llm')
  return isKilled ? { ...outcome, finalStatus: 'interrupted' } : outcome
}

import type { FinalStatus, IncompleteReason, SessionEnd, SpanKindName } from '../contract/index.ts'
import type { OpenSpan, Turn } from './turn.ts'

/** How a turn came to its end. */
export interface TurnOver {
  readonly at: number
  readonly finalStatus: FinalStatus
  readonly payload?: SessionEnd
  /** Mark of the open spans below the root. */
  readonly descendants: IncompleteReason
  /** Mark of the root, when we end it on no word of the host. */
  readonly root?: IncompleteReason
  readonly rootStatus?: 'drawn' | 'unset'
}

const WORK: readonly SpanKindName[] = ['api', 'tool', 'subagent', 'approval', 'auxiliary', 'hook']

/** Whether anything is open in a turn beside its root, its loop and its skills. */
export function isWorking(turn: Turn): boolean {
  return WORK.some(kind => turn.innermost(kind) !== undefined)
}

/** Whether nothing but the root is open. */
export function isIdle(turn: Turn): boolean {
  return turn.openCount <= 1
}

/** Kinds that are open while nobody is at work: between two requests of the loop, say. */
const IDLE_KINDS: ReadonlySet<SpanKindName> = new Set(['session', 'llm', 'skill'])

/** Whether something is open in the turn that a process or a user is at: silence is no end then. */
export function isAtWork(turn: Turn): boolean {
  return !isFailed(turn) && turn.hasOpen(isWork)
}

function isWork({ kind, followedAt }: OpenSpan): boolean {
  return !IDLE_KINDS.has(kind) && followedAt === undefined
}

function waitsFor(turn: Turn, kind: 'api' | 'llm'): boolean {
  const open = turn.innermost(kind)
  return open !== undefined && open.followedAt === undefined
}

/**
 * The turn stands at a request that failed for good, or at one that was begun again because its first attempt got no answer
 * and got none then: answers that could not be used, of which hosts tell nothing.
 */
export function isFailed(turn: Turn): boolean {
  if (turn.deadEnd !== undefined) return true
  const open = turn.innermost('api')
  const before = open === undefined ? undefined : turn.memory.ended(open.slot)
  return before !== undefined && !before.byHost
}

/**
 * Whether nothing more is to be expected of a turn whose end no hook has reported: it stands at a request that failed for good,
 * or has its answer and its host reports no sessions.
 */
export function isPresumedOver(turn: Turn, areSessionsReported: boolean): boolean {
  const isSettled = turn.deadEnd?.isReported === true || (turn.answeredAt !== undefined && !areSessionsReported)
  return isSettled && turn.root !== undefined && !turn.over && !isWorking(turn)
}

/** What the records of a turn prove of its end, where that is more than what it was ended by. */
export function provenEnd(turn: Turn, told: TurnOver): TurnOver {
  if (turn.root === undefined) return told
  if (isFailed(turn) && told.payload?.interrupted !== true) {
    const at = told.payload === undefined ? turn.activityAt : told.at
    return { ...(told.payload && { payload: told.payload }), at, finalStatus: 'failed', descendants: 'turn_ended' }
  }
  // The answer is reported of turns that went well, and of no other.
  if (turn.answeredAt !== undefined && told.payload === undefined) {
    return { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' }
  }
  if (turn.isBackground && isIdle(turn) && told.payload === undefined) {
    return { at: turn.activityAt, finalStatus: 'completed', descendants: 'turn_ended' }
  }
  if (!waitsFor(turn, 'api')) return told
  // Whoever closes a session while a request waits for its answer decides so; but nothing went well.
  if (told.finalStatus === 'finalized' || told.finalStatus === 'reset') return { ...told, rootStatus: 'unset' }
  // A child that its parent's exit has killed says that it has completed.
  const isKilled = told.finalStatus === 'completed' && turn.delegation !== undefined && waitsFor(turn, 'llm')
  return isKilled ? { ...told, finalStatus: 'interrupted' } : told
}

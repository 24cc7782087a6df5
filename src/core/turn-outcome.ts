import { numberOf } from '../contract/foreign.ts'
import type { ApiError, FinalStatus, IncompleteReason, SessionEnd } from '../contract/index.ts'
import { apiErrorType } from '../spans/api-facts.ts'
import type { Draw, Fired } from '../spans/span-definition.ts'
import type { Turn } from './turn.ts'

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

/** What goes on in a turn after a failed request; a side call is made of failed turns, too. */
const GOES_ON: ReadonlySet<string> = new Set([
  'pre_llm_call',
  'pre_api_request',
  'post_api_request',
  'pre_tool_call',
  'post_llm_call',
  'subagent_start',
  'pre_approval_request',
])

/** The host does not try again: it says so, or has used up what it may. Where it says neither, what follows will tell. */
function isFinal({ retryable, retry_count, max_retries }: ApiError): boolean {
  const most = numberOf(max_retries)
  return retryable !== true || (most !== undefined && (numberOf(retry_count) ?? 0) + 1 >= most)
}

/** Keeps whether the turn stands at a request that failed for good. Many a host says no more of such a turn. */
export function noteDeadEnd(turn: Turn, fired: Fired<unknown>, draw: Draw): void {
  if (fired.hook === 'api_request_error') {
    if (fired.at < turn.activityAt) return
    const payload = fired.payload as ApiError
    turn.deadEnd = isFinal(payload) ? { type: apiErrorType(payload, draw), at: fired.at } : undefined
  } else if (turn.deadEnd !== undefined && fired.at >= turn.deadEnd.at && GOES_ON.has(fired.hook)) {
    turn.deadEnd = undefined
  }
}

/** Whether nothing but the root is open. */
export function isIdle(turn: Turn): boolean {
  return turn.open.size <= 1
}

function waitsFor(turn: Turn, kind: 'api' | 'llm'): boolean {
  const open = turn.stack.innermost(kind)
  return open !== undefined && open.followedAt === undefined
}

/**
 * The turn stands at a request that failed for good, or at one that was begun again because its first attempt got no answer
 * and got none then: answers that could not be used, of which hosts tell nothing.
 */
export function isFailed(turn: Turn): boolean {
  if (turn.deadEnd !== undefined) return true
  const open = turn.stack.innermost('api')
  const before = open === undefined ? undefined : turn.ended.get(open.key)
  return before !== undefined && !before.byHost
}

/** What the records of a turn prove of its end, where that is more than what it was ended by. */
export function provenEnd(turn: Turn, told: TurnOver): TurnOver {
  if (turn.root === undefined) return told
  if (isFailed(turn) && told.payload?.interrupted !== true) {
    const at = told.payload === undefined ? turn.activityAt : told.at
    return { ...(told.payload && { payload: told.payload }), at, finalStatus: 'failed', descendants: 'turn_ended' }
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

import type { OpenTrace } from '../view/api.ts'
import { HUNG_FROM_MILLIS, type OpenState, URGENCY } from '../viewer/open-turns.ts'

/** As `hookspan top` tells them. */
export function stateOf({ state, isWaitingForPerson, silentSince }: OpenTrace, now: number): OpenState {
  if (state === 'owner-dead') return state
  if (isWaitingForPerson) return 'waiting'
  return now - silentSince >= HUNG_FROM_MILLIS ? 'hung' : 'running'
}

/** What goes on, and what of it waits for a person; what a dead process left is neither. */
export function countOpen(open: readonly OpenTrace[]): { readonly living: number; readonly waiting: number } {
  const living = open.filter(({ state }) => state === 'open')
  return { living: living.length, waiting: living.filter(({ isWaitingForPerson }) => isWaitingForPerson).length }
}

/** For a sort; of the same state what is open for longest comes first. */
export function byUrgency(now: number): (a: OpenTrace, b: OpenTrace) => number {
  return (a, b) => URGENCY.indexOf(stateOf(a, now)) - URGENCY.indexOf(stateOf(b, now)) || a.openSince - b.openSince
}

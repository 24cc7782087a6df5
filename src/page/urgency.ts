import type { OpenTrace } from '../view/api.ts'
import { HUNG_FROM_MILLIS, type OpenState } from '../viewer/open-turns.ts'

/** As `hookspan top` tells them, and in its order: what is worth a look comes first. */
const ORDER: readonly OpenState[] = ['hung', 'waiting', 'running', 'owner-dead']

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
  return (a, b) => ORDER.indexOf(stateOf(a, now)) - ORDER.indexOf(stateOf(b, now)) || a.openSince - b.openSince
}

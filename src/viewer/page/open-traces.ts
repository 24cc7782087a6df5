import { type OpenState, openState, URGENCY } from '../../reading/open-turns.ts'
import type { OpenTraceRow } from '../server/api.ts'

export function stateOf({ state, waitingSince, silentSince }: OpenTraceRow, now: number): OpenState {
  const isOwnerDead = state === 'owner-dead'
  return openState({ isOwnerDead, isWaitingForPerson: waitingSince !== undefined, silentMillis: now - silentSince })
}

/** Counts the open turns, and those of them that wait for the user. Turns of dead processes are not counted. */
export function countOpen(open: readonly OpenTraceRow[]): { readonly living: number; readonly waiting: number } {
  const living = open.filter(({ state }) => state === 'open')
  return { living: living.length, waiting: living.filter(({ waitingSince }) => waitingSince !== undefined).length }
}

/** `(1) waiting for approval · Sessions · hookspan`. A disconnected page cannot know what is open, so it shows only that. */
export function tabTitle(open: readonly OpenTraceRow[], isConnected: boolean, page = ''): string {
  const { living, waiting } = countOpen(open)
  const what = waiting > 0 ? `(${waiting}) waiting for approval` : living > 0 ? `${living} open` : ''
  const title = isConnected ? what : 'not connected'
  return [title, page, 'hookspan'].filter(part => part !== '').join(' · ')
}

export function byUrgency(now: number): (a: OpenTraceRow, b: OpenTraceRow) => number {
  return (a, b) => URGENCY.indexOf(stateOf(a, now)) - URGENCY.indexOf(stateOf(b, now)) || a.openSince - b.openSince
}

import { signal } from '@preact/signals'
import type { OpenTrace, SourceStatus } from '../view/api.ts'

/** What the page knows of the server, whatever view is shown. */

/** `refused`: the token is no longer good, which no waiting mends. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'refused'

export const connection = signal<ConnectionState>('connecting')
export const openTraces = signal<readonly OpenTrace[] | undefined>(undefined)
export const source = signal<SourceStatus | undefined>(undefined)
/**
 * The server's clock, epoch milliseconds. All ages and open bars follow it. It advances once a second while the page is visible
 * and connected, and stands still otherwise: without a server, nobody knows whether a turn still runs.
 */
export const now = signal(Date.now())

type Listener = (traceIds: readonly string[] | undefined) => void
const listeners = new Set<Listener>()

/**
 * Calls the listener with the ids of changed traces; with an empty list if they are too many to be named; with undefined if
 * anything may have changed. Returns a function that removes it.
 */
export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function notifyListeners(traceIds: readonly string[] | undefined): void {
  for (const listener of listeners) listener(traceIds)
}

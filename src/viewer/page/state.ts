import { signal } from '@preact/signals'
import type { OpenTraceRow, SourceStatus } from '../server/api.ts'

/** `refused`: the token is invalid, so retrying does not help. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'refused'

export const connection = signal<ConnectionState>('connecting')
export const openTraces = signal<readonly OpenTraceRow[] | undefined>(undefined)
export const source = signal<SourceStatus | undefined>(undefined)
/**
 * The server's clock, epoch milliseconds. All ages and open bars follow it. It advances once a second while the page is visible
 * and connected. It stands still otherwise: without a server, it is unknown whether a turn still runs.
 */
export const now = signal(Date.now())

export const pageTitle = signal('')

type Listener = (traceIds: readonly string[] | undefined) => void
const listeners = new Set<Listener>()

/**
 * Calls the listener with the ids of changed traces. The list is empty if there are too many to list, and undefined if anything
 * may have changed. Returns a function that removes the listener.
 */
export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function notifyListeners(traceIds: readonly string[] | undefined): void {
  for (const listener of listeners) listener(traceIds)
}

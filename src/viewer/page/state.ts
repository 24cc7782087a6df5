import { signal } from '@preact/signals'
import type { OpenTraceRow, SourceStatus } from '../server/api.ts'

/** `refused`: the token is invalid, so retrying does not help. */
export const connection = signal<'connecting' | 'live' | 'lost' | 'refused'>('connecting')
export const openTraces = signal<readonly OpenTraceRow[] | undefined>(undefined)
export const source = signal<SourceStatus | undefined>(undefined)
/**
 * The server's clock, epoch milliseconds. All ages and open bars follow it. It advances once a second while the page is visible
 * and connected. It stands still otherwise: without a server, it is unknown whether a turn still runs.
 */
export const now = signal(Date.now())

export const pageTitle = signal('')

/** Called with the ids of changed traces: empty if there are too many to list, undefined if anything may have changed. */
export const changeListeners = new Set<(traceIds: readonly string[] | undefined) => void>()

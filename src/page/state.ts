import { signal } from '@preact/signals'
import type { OpenTrace, SourceStatus } from '../view/api.ts'
import { askLive, NotAnswered } from './ask.ts'
import { forgetToken } from './token.ts'

/** What the page knows of the server, whatever view is shown. */

/** `refused`: the token is no longer good, which no waiting mends. */
export const connection = signal<'connecting' | 'live' | 'lost' | 'refused'>('connecting')
export const openTraces = signal<readonly OpenTrace[] | undefined>(undefined)
export const source = signal<SourceStatus | undefined>(undefined)
/** The server's clock, in epoch milliseconds; moves once a second, for all that ticks. */
export const now = signal(Date.now())

let offset = 0
type Listener = (traceIds: readonly string[] | undefined) => void
const listeners = new Set<Listener>()

/** Tells of traces that have changed, of any (an empty list), and of all (undefined) after a time in which nothing was heard. @returns what ends it */
export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const TICK_MILLIS = 1_000
const AGAIN_MILLIS = 2_000
/** A tab that nobody looks at lets go of its connection: a browser has six for all of them. */
const HIDDEN_MILLIS = 20_000

/** Listens for as long as the page is there. */
export function startState(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now() + offset
  }, TICK_MILLIS)
  void listenForEver()
}

async function listenForEver(): Promise<void> {
  for (;;) {
    await visible()
    const hidden = new AbortController()
    const unwatch = abortWhenHidden(hidden)
    try {
      await listen(hidden.signal)
      connection.value = 'lost'
    } catch (error) {
      if (!hidden.signal.aborted) connection.value = isRefusal(error) ? 'refused' : 'lost'
    }
    unwatch()
    if (connection.value === 'refused') return forgetToken()
    await new Promise(resolve => setTimeout(resolve, AGAIN_MILLIS))
  }
}

async function listen(until: AbortSignal): Promise<void> {
  let isFirst = true
  for await (const line of askLive(until)) {
    offset = line.now - Date.now()
    now.value = line.now
    connection.value = 'live'
    if (line.open !== undefined) openTraces.value = line.open
    if (line.source !== undefined) source.value = line.source
    if (isFirst) for (const listener of listeners) listener(undefined)
    else if (line.changed !== undefined) for (const listener of listeners) listener(line.changed)
    isFirst = false
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof NotAnswered && (error.status === 401 || error.status === 403)
}

function visible(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise(resolve => document.addEventListener('visibilitychange', () => resolve(), { once: true }))
}

function abortWhenHidden(controller: AbortController): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(() => controller.abort(), HIDDEN_MILLIS)
  }
  document.addEventListener('visibilitychange', look)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

import { useEffect, useRef, useState } from 'preact/hooks'
import type { FoundSpans, TraceView } from '../server/api.ts'
import { fetchJson, problemOf, ViewerRequestError } from './requests.ts'
import { changeListeners, pageTitle, source } from './state.ts'

export type Loaded<Shape> = Readonly<{ value: Shape | undefined; problem: string | undefined }>

export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) pageTitle.value = title
  }, [title])
}

export function tracePath(traceId: string): string {
  return `/api/traces/${encodeURIComponent(traceId)}`
}

const MIN_PAUSE_MILLIS = 1_000
/** Pause after a 404. While the server reads the log, the data may come any second. */
const MISSING_PAUSE_MILLIS = 10_000
/** Slow paths are loaded less often: the pause is at least three times the duration of a load. */
const PAUSE_FACTOR = 3
/** If keys change faster, only the last is loaded. */
const TYPING_MILLIS = 300

/**
 * Loads a path from the server, and reloads it on changes.
 *
 * @param path undefined = nothing to load yet
 * @param traceIds the traces whose changes affect the path; undefined = every change does
 */
export function useLoaded<Shape>(path: string | undefined, traceIds?: readonly string[]): Loaded<Shape> {
  return useReloaded(path, signal => fetchJson<Shape>(path ?? '', signal), traceIds)
}

function useReloaded<Shape>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<Shape>,
  traceIds: readonly string[] | undefined,
): Loaded<Shape> {
  const changedAt = useRef(Number.NEGATIVE_INFINITY)
  const [loaded, setLoaded] = useState<Loaded<Shape> & { readonly key?: string }>(NOTHING)
  useEffect(() => {
    if (key === undefined) return undefined
    const ending = new AbortController()
    const { signal } = ending
    let [isBusy, isStale] = [false, false]
    let value: Shape | undefined
    const reload = async (): Promise<void> => {
      isStale = isBusy
      if (isBusy || signal.aborted) return
      isBusy = true
      const startedAt = performance.now()
      let problem: string | undefined
      let isMissing = false
      try {
        value = await load(signal)
      } catch (error) {
        problem = problemOf(error)
        const isRead = source.value?.indexedBytes === source.value?.bytes
        isMissing = isRead && error instanceof ViewerRequestError && error.status === 404
      }
      if (signal.aborted) return
      setLoaded({ key, value, problem })
      const pause = isMissing ? MISSING_PAUSE_MILLIS : (performance.now() - startedAt) * PAUSE_FACTOR
      await new Promise(resolve => setTimeout(resolve, Math.max(MIN_PAUSE_MILLIS, pause)))
      isBusy = false
      if (isStale) void reload()
    }
    const isTyping = performance.now() - changedAt.current < TYPING_MILLIS
    changedAt.current = performance.now()
    const timer = isTyping ? setTimeout(() => void reload(), TYPING_MILLIS) : void reload()
    const listener = (ids: readonly string[] | undefined): void => {
      if (ids === undefined || ids.length === 0 || traceIds === undefined || traceIds.some(id => ids.includes(id)))
        void reload()
    }
    changeListeners.add(listener)
    return () => {
      changeListeners.delete(listener)
      clearTimeout(timer)
      ending.abort()
    }
    // `load` and `traceIds` depend only on the key.
  }, [key])
  // If only the query changed, the previous value stays until the new one has loaded.
  return pathOnly(loaded.key) === pathOnly(key) ? loaded : NOTHING
}

const NOTHING = { value: undefined, problem: undefined }

function pathOnly(key: string | undefined): string | undefined {
  return key?.split('?', 1)[0]
}

const NO_HITS: readonly string[] = []

/** The page reports elsewhere that the viewer does not respond. */
export function useSearchHits(text: string, { turn }: TraceView): readonly string[] {
  const wanted = text.trim().toLowerCase()
  const key = wanted === '' ? undefined : `${tracePath(turn.traceId)}/find?text=${encodeURIComponent(wanted)}`
  return useLoaded<FoundSpans>(key, [turn.traceId]).value?.spanIds ?? NO_HITS
}

const NO_TRACES: ReadonlyMap<string, TraceView> = new Map()

export function useChildTraces(traceIds: readonly string[] = []): ReadonlyMap<string, TraceView> {
  const load = async (signal: AbortSignal): Promise<ReadonlyMap<string, TraceView>> => {
    const asked = traceIds.map(id => fetchJson<TraceView>(tracePath(id), signal))
    const answers = await Promise.allSettled(asked)
    const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []))
    return new Map(found.map(view => [view.turn.traceId, view]))
  }
  return useReloaded(traceIds.length === 0 ? undefined : `?${traceIds}`, load, traceIds).value ?? NO_TRACES
}

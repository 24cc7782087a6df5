import { useEffect, useState } from 'preact/hooks'
import type { FoundSpans, TraceView } from '../server/api.ts'
import { fetchJson, ViewerRequestError } from './requests.ts'
import { onChange, pageTitle } from './state.ts'

export interface Loaded<Shape> {
  readonly value: Shape | undefined
  readonly problem: string | undefined
}

export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) pageTitle.value = title
  }, [title])
}

const MIN_PAUSE_MILLIS = 1_000
/** Pause after a 404: the server may still find the data while it reads older files. */
const MISSING_PAUSE_MILLIS = 10_000
/** Slow paths are loaded less often: the pause is at least three times the duration of a load. */
const PAUSE_FACTOR = 3

/**
 * Loads a path from the server, and reloads it on changes.
 *
 * @param path undefined = nothing to load yet
 * @param isTouched whether a change of these traces affects the path; undefined = every change does
 */
export function useLoaded<Shape>(
  path: string | undefined,
  isTouched?: (traceIds: readonly string[]) => boolean,
): Loaded<Shape> {
  const [loaded, setLoaded] = useState<Loaded<Shape> & { readonly path?: string | undefined }>({
    value: undefined,
    problem: undefined,
  })
  useEffect(() => {
    if (path === undefined) return undefined
    const reading = new PathLoader<Shape>(path, change => setLoaded(change))
    reading.load()
    const unlisten = onChange(ids => {
      if (ids === undefined || ids.length === 0 || isTouched === undefined || isTouched(ids)) reading.load()
    })
    return () => {
      unlisten()
      reading.abort()
    }
    // `isTouched` depends only on the path.
  }, [path])
  // If only the query changed, the previous value stays until the new one has loaded.
  return pathOnly(loaded.path) === pathOnly(path) ? loaded : { value: undefined, problem: undefined }
}

function pathOnly(path: string | undefined): string | undefined {
  return path?.split('?', 1)[0]
}

type State<Shape> = Loaded<Shape> & { readonly path: string }

class PathLoader<Shape> {
  readonly #path: string
  readonly #setState: (state: State<Shape>) => void
  readonly #ending = new AbortController()
  #value: Shape | undefined
  #isBusy = false
  #isStale = false
  #isMissing = false

  constructor(path: string, tell: (state: State<Shape>) => void) {
    this.#path = path
    this.#setState = tell
  }

  load(): void {
    if (this.#isBusy) {
      this.#isStale = true
      return
    }
    this.#isBusy = true
    void this.#loadOnce().then(async millis => {
      const rest = this.#isMissing ? MISSING_PAUSE_MILLIS : Math.max(MIN_PAUSE_MILLIS, millis * PAUSE_FACTOR)
      await new Promise(resolve => setTimeout(resolve, rest))
      this.#isBusy = false
      if (!this.#isStale || this.#ending.signal.aborted) return
      this.#isStale = false
      this.load()
    })
  }

  abort(): void {
    this.#ending.abort()
  }

  async #loadOnce(): Promise<number> {
    const startedAt = performance.now()
    const { signal } = this.#ending
    try {
      this.#value = await fetchJson<Shape>(this.#path, signal)
      this.#isMissing = false
      if (!signal.aborted) this.#setState({ path: this.#path, value: this.#value, problem: undefined })
    } catch (error) {
      this.#isMissing = error instanceof ViewerRequestError && error.status === 404
      const problem = error instanceof ViewerRequestError ? error.message : 'Loading failed.'
      if (!signal.aborted) this.#setState({ path: this.#path, value: this.#value, problem })
    }
    return performance.now() - startedAt
  }
}

const NO_HITS: readonly string[] = []
const TYPING_MILLIS = 200

export function useSearchHits(path: string, text: string, view: TraceView): readonly string[] {
  const [found, setFound] = useState<readonly string[]>(NO_HITS)
  const wanted = text.trim().toLowerCase()
  useEffect(() => {
    if (wanted === '') {
      setFound(NO_HITS)
      return undefined
    }
    const ending = new AbortController()
    const timer = setTimeout(() => {
      fetchJson<FoundSpans>(`${path}/find?text=${encodeURIComponent(wanted)}`, ending.signal)
        .then(({ spanIds }) => setFound(spanIds))
        // The page reports elsewhere that the viewer does not respond.
        .catch(() => undefined)
    }, TYPING_MILLIS)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [path, wanted, view.rows.length])
  return found
}

const RELOAD_DELAY_MILLIS = 1_000
const NO_TRACES: ReadonlyMap<string, TraceView> = new Map()

export function useChildTraces(traceIds: readonly string[] | undefined): ReadonlyMap<string, TraceView> {
  const [views, setViews] = useState(NO_TRACES)
  const key = traceIds?.join(',') ?? ''
  useEffect(() => {
    const ids = key === '' ? [] : key.split(',')
    const ending = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      timer = undefined
      const asked = ids.map(id => fetchJson<TraceView>(`/api/traces/${encodeURIComponent(id)}`, ending.signal))
      const answers = await Promise.allSettled(asked)
      const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []))
      if (!ending.signal.aborted) setViews(new Map(found.map(view => [view.turn.traceId, view])))
    }
    if (ids.length === 0) setViews(NO_TRACES)
    else void read()
    const unlisten = onChange(changed => {
      const isTouched = changed === undefined || changed.length === 0 || ids.some(id => changed.includes(id))
      if (isTouched && ids.length > 0) timer ??= setTimeout(() => void read(), RELOAD_DELAY_MILLIS)
    })
    return () => {
      unlisten()
      clearTimeout(timer)
      ending.abort()
    }
  }, [key])
  return views
}

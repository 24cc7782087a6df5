import { useEffect, useState } from 'preact/hooks'
import { fetchJson, RequestError } from './ask.ts'
import { onChange } from './state.ts'

export interface Loaded<Shape> {
  /** The latest value, kept while a newer one loads. */
  readonly value: Shape | undefined
  readonly problem: string | undefined
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
      this.#isMissing = error instanceof RequestError && error.status === 404
      const problem = error instanceof RequestError ? error.message : 'This could not be read.'
      if (!signal.aborted) this.#setState({ path: this.#path, value: this.#value, problem })
    }
    return performance.now() - startedAt
  }
}

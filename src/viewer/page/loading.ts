import { useEffect, useState } from 'preact/hooks'
import { ask, NotAnswered } from './ask.ts'
import { onChange } from './state.ts'

export interface Loaded<Shape> {
  /** The latest value, kept while a newer one loads. */
  readonly value: Shape | undefined
  readonly problem: string | undefined
}

const REST_MILLIS = 1_000
/** Pause after a 404: the server may still find the data while it reads older files. */
const MISSING_REST_MILLIS = 10_000
/** Slow paths are loaded less often: the pause is at least three times the duration of a load. */
const SHARE = 3

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
    const reading = new Reading<Shape>(path, change => setLoaded(change))
    reading.read()
    const unlisten = onChange(ids => {
      if (ids === undefined || ids.length === 0 || isTouched === undefined || isTouched(ids)) reading.read()
    })
    return () => {
      unlisten()
      reading.end()
    }
    // `isTouched` depends only on the path.
  }, [path])
  // If only the query changed, the previous value stays until the new one has loaded.
  return placeIn(loaded.path) === placeIn(path) ? loaded : { value: undefined, problem: undefined }
}

function placeIn(path: string | undefined): string | undefined {
  return path?.split('?', 1)[0]
}

type State<Shape> = Loaded<Shape> & { readonly path: string }

class Reading<Shape> {
  readonly #path: string
  readonly #tell: (state: State<Shape>) => void
  readonly #ending = new AbortController()
  #value: Shape | undefined
  #isBusy = false
  #isStale = false
  #isMissing = false

  constructor(path: string, tell: (state: State<Shape>) => void) {
    this.#path = path
    this.#tell = tell
  }

  read(): void {
    if (this.#isBusy) {
      this.#isStale = true
      return
    }
    this.#isBusy = true
    void this.#readOnce().then(async millis => {
      const rest = this.#isMissing ? MISSING_REST_MILLIS : Math.max(REST_MILLIS, millis * SHARE)
      await new Promise(resolve => setTimeout(resolve, rest))
      this.#isBusy = false
      if (!this.#isStale || this.#ending.signal.aborted) return
      this.#isStale = false
      this.read()
    })
  }

  end(): void {
    this.#ending.abort()
  }

  async #readOnce(): Promise<number> {
    const startedAt = performance.now()
    const { signal } = this.#ending
    try {
      this.#value = await ask<Shape>(this.#path, signal)
      this.#isMissing = false
      if (!signal.aborted) this.#tell({ path: this.#path, value: this.#value, problem: undefined })
    } catch (error) {
      this.#isMissing = error instanceof NotAnswered && error.status === 404
      const problem = error instanceof NotAnswered ? error.message : 'This could not be read.'
      if (!signal.aborted) this.#tell({ path: this.#path, value: this.#value, problem })
    }
    return performance.now() - startedAt
  }
}

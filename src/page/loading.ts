import { useEffect, useState } from 'preact/hooks'
import { ask, NotAnswered } from './ask.ts'
import { onChange } from './state.ts'

export interface Loaded<Shape> {
  /** What came last; also while something newer is under way. */
  readonly value: Shape | undefined
  readonly problem: string | undefined
}

/** Between two readings of what changes all the time. */
const REST_MILLIS = 1_000
/** What the server does not have may still come, while it reads older files. */
const MISSING_REST_MILLIS = 10_000
/** What takes long to read is read less often: at most a fourth of the time goes into it. */
const SHARE = 3

/**
 * What the server has at a path, read again as it changes.
 *
 * @param path undefined = nothing yet
 * @param isTouched whether a change of these traces is one of this; undefined = whatever changes
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
    // What is touched follows from the path.
  }, [path])
  // Asked otherwise, what was answered before stands until the answer comes.
  return placeIn(loaded.path) === placeIn(path) ? loaded : { value: undefined, problem: undefined }
}

function placeIn(path: string | undefined): string | undefined {
  return path?.split('?', 1)[0]
}

type State<Shape> = Loaded<Shape> & { readonly path: string }

/** Reads one path, one reading at a time, and rests between two of them. */
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

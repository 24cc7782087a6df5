import { useEffect, useState } from 'preact/hooks'
import type { Found, TraceView } from '../view/api.ts'
import { ask } from './ask.ts'

const NOTHING: readonly string[] = []
const TYPING_MILLIS = 200

/** Ids of the spans of a turn that hold a text, in the order of the tree. What is on the rows is found at once, all else by the server. */
export function useFound(path: string, text: string, view: TraceView): readonly string[] {
  const [found, setFound] = useState<readonly string[]>(NOTHING)
  const wanted = text.trim().toLowerCase()
  useEffect(() => {
    if (wanted === '') {
      setFound(NOTHING)
      return undefined
    }
    const ending = new AbortController()
    const timer = setTimeout(() => {
      ask<Found>(`${path}/find?text=${encodeURIComponent(wanted)}`, ending.signal)
        .then(({ spanIds }) => setFound(spanIds))
        // The page says elsewhere that the viewer does not answer.
        .catch(() => undefined)
    }, TYPING_MILLIS)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [path, wanted, view.rows.length])
  return found
}

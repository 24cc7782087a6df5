import { useEffect, useState } from 'preact/hooks'
import type { FoundSpans, TraceView } from '../server/api.ts'
import { ask } from './ask.ts'

const NOTHING: readonly string[] = []
const TYPING_MILLIS = 200

/** Ids of the spans of a turn that contain a text, in tree order, from the server. */
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
      ask<FoundSpans>(`${path}/find?text=${encodeURIComponent(wanted)}`, ending.signal)
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

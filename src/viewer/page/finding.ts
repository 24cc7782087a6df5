import { useEffect, useState } from 'preact/hooks'
import type { Found, TraceView } from '../server/api.ts'
import { fetchJson } from './ask.ts'

const NO_HITS: readonly string[] = []
const TYPING_MILLIS = 200

/** Ids of the spans of a turn that contain a text, in tree order, from the server. */
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
      fetchJson<Found>(`${path}/find?text=${encodeURIComponent(wanted)}`, ending.signal)
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

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { TraceView } from '../server/api.ts'
import { countOf } from './words.ts'

/** Limits the announcements, so that they do not drown out the rest of the page in a screen reader. */
const ANNOUNCE_PAUSE_MILLIS = 5_000

/** Announces news of a turn to screen readers, one sentence at a time. */
export function Announcer({ view }: { readonly view: TraceView }): JSX.Element {
  const [sentence, setSentence] = useState('')
  const { turn } = view
  const told = useRef({ spanCount: turn.spanCount, state: turn.state, at: 0 })
  useEffect(() => {
    const { spanCount, state, at } = told.current
    const news = [
      turn.spanCount > spanCount ? `${countOf(turn.spanCount - spanCount, 'span')} more` : '',
      turn.state !== state && turn.state === 'ended' ? `ended: ${turn.outcome?.text ?? ''}` : '',
    ].filter(text => text !== '')
    if (news.length === 0) return undefined
    const tell = (): void => {
      told.current = { spanCount: turn.spanCount, state: turn.state, at: Date.now() }
      setSentence(news.join(', '))
    }
    const timer = setTimeout(tell, Math.max(0, at + ANNOUNCE_PAUSE_MILLIS - Date.now()))
    return () => clearTimeout(timer)
  }, [view])
  return (
    <p class="unseen" role="status" aria-live="polite">
      {sentence}
    </p>
  )
}

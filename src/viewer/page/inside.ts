import { useEffect, useState } from 'preact/hooks'
import type { TraceView } from '../server/api.ts'
import { fetchJson } from './ask.ts'
import { onChange } from './state.ts'

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

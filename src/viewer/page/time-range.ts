import { computed, type ReadonlySignal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { now } from './state.ts'
import { type Range, TimeScale } from './time-scale.ts'

export interface ShownTime {
  readonly scale: TimeScale
  /** Positions on the scale. `show`: undefined for all of the turn. */
  readonly shown: ReadonlySignal<Range>
  show(range: Range | undefined): void
}

/** The scale of an open turn is computed again this often, so that a wait that has become long is compressed. */
const SCALE_MILLIS = 30_000
/** Browsers limit how often an address may change. */
const ADDRESS_DELAY_MILLIS = 250

/** The visible range of time. A change is drawn at once, and kept in the address when it rests. */
export function useShownTime(
  view: TraceView,
  look: TurnLook,
  change: (changes: Pick<TurnLook, 'range'> | { range: undefined }) => void,
): ShownTime {
  const tick = useComputed(() => Math.floor(now.value / SCALE_MILLIS) * SCALE_MILLIS).value
  const isOpen = view.turn.state === 'open'
  const at = Math.max(view.now, isOpen ? tick : 0)
  const scale = useMemo(() => new TimeScale(view, at), [view, at])
  const chosen = useSignal<Range | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const shown = useMemo(() => {
    const end = (): number => (isOpen ? Math.max(scale.total, scale.position(now.value - view.startAt)) : scale.total)
    return computed(() => chosen.value ?? { from: 0, to: end() })
  }, [scale])
  useLayoutEffect(() => {
    // The address does not have the newest range yet.
    if (timer.current !== undefined) return
    const [from, to] = (look.range ?? []).map(time => scale.position(time))
    chosen.value = from === undefined || to === undefined ? undefined : scale.clamp(from, to - from)
  }, [scale, look.range?.join()])
  useEffect(() => () => clearTimeout(timer.current), [])
  const show = (range: Range | undefined): void => {
    chosen.value = range
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      const times = range && [range.from, range.to].map(position => Math.round(scale.time(position) * 100) / 100)
      change({ range: times as [number, number] | undefined })
    }, ADDRESS_DELAY_MILLIS)
  }
  return { scale, shown, show }
}

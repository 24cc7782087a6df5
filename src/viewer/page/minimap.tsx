import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { humanDuration } from '../../reading/human-figures.ts'
import { rangeOf, splitAtGaps } from '../../reading/time-ranges.ts'
import type { SpanRow, TraceView } from '../server/api.ts'
import { onDrag } from './divider.tsx'
import type { ShownTime } from './time-range.ts'
import { endOf, type TimeScale } from './time-scale.ts'

/** All of the turn in little. Drag over it to choose a range, drag the range to move it, or its edges to change it. */
export function Minimap({ view, time }: { readonly view: TraceView; readonly time: ShownTime }) {
  const { scale, shown, show } = time
  const lanes = useMemo(() => lanesOf(view, scale), [view, scale])
  const press = (event: JSX.TargetedPointerEvent<HTMLElement>): void => {
    const { grip } = (event.target as HTMLElement).dataset
    const begun = shown.value
    const length = begun.to - begun.from
    onDrag(event, (share, startShare) => {
      const [at, start] = [share * scale.total, startShare * scale.total]
      if (grip === 'move' && length < scale.total) return show(scale.clamp(begun.from + at - start, length))
      const fixed = grip === 'from' ? begun.to : grip === 'to' ? begun.from : start
      show(scale.fit(Math.min(at, fixed), Math.max(at, fixed)))
    })
  }
  return (
    <div
      class="minimap"
      role="toolbar"
      aria-label="Visible time"
      onPointerDown={press}
      onDblClick={() => show(undefined)}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {lanes.map(({ colour, path }) => (
          <path key={colour} d={path} style={{ '--kind': `var(--${colour})` }} />
        ))}
      </svg>
      {scale.breaks.map(({ from, length }) => (
        <i key={from} class="break" style={{ left: share(scale.position(from), scale), width: share(length, scale) }} />
      ))}
      <Brush time={time} />
    </div>
  )
}

function share(position: number, { total }: TimeScale): string {
  return `${(position / total) * 100}%`
}

function Brush({ time: { scale, shown, show } }: { readonly time: ShownTime }) {
  const { from, to } = shown.value
  const end = Math.min(to, scale.total)
  const edge = (grip: 'from' | 'to', label: string, at: number) => {
    const shift = (event: KeyboardEvent): void => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key]
      if (step === undefined) return
      event.preventDefault()
      const moved = at + step * STEP_SHARE * (end - from)
      show(grip === 'from' ? scale.fit(Math.max(0, moved), end) : scale.fit(from, moved))
    }
    return (
      <span
        class="grip"
        data-grip={grip}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.round(scale.time(scale.total))}
        aria-valuenow={Math.round(scale.time(at))}
        aria-valuetext={humanDuration(scale.time(at))}
        onKeyDown={shift}
      />
    )
  }
  return (
    <div class="brush" data-grip="move" style={{ left: share(from, scale), right: share(scale.total - end, scale) }}>
      {edge('from', 'Start of the visible time', from)}
      {edge('to', 'End of the visible time', end)}
    </div>
  )
}

const STEP_SHARE = 0.05
const WIDTH = 1_000
const HEIGHT = 48
const LANE = 11
const MARGIN = 3
/** Narrower bars and gaps are invisible. */
const MIN_WIDTH = 2

/** One lane a kind, so that colour is never the only difference. Failures are drawn over the lane of their kind. */
const LANES = [
  { colour: 'kind-api', kinds: ['api', 'auxiliary'] },
  { colour: 'kind-tool', kinds: ['tool', 'hook', 'other'] },
  { colour: 'kind-subagent', kinds: ['subagent'] },
  { colour: 'kind-approval', kinds: ['approval'] },
] as const

function lanesOf(view: TraceView, scale: TimeScale) {
  const lanes = LANES.map(({ colour, kinds }, index) => {
    const rows = view.rows.filter(({ kind }) => kinds.some(each => each === kind))
    const path = (of: readonly SpanRow[]): string => pathOf(of, MARGIN + index * LANE, view, scale)
    return { colour, path: path(rows), failed: path(rows.filter(({ isError }) => isError)) }
  })
  return [...lanes, { colour: 'error', path: lanes.map(({ failed }) => failed).join('') }]
}

function pathOf(rows: readonly SpanRow[], top: number, view: TraceView, scale: TimeScale): string {
  const place = (at: number): number => (scale.position(at - view.startAt) / scale.total) * WIDTH
  const bars = rows
    .toSorted((a, b) => a.startAt - b.startAt)
    .map(row => {
      const startAt = place(row.startAt)
      return { startAt, endAt: Math.max(startAt + MIN_WIDTH, place(endOf(row, view.now))) }
    })
  const joined = splitAtGaps(bars, MIN_WIDTH).map(rangeOf)
  return joined.map(({ startAt, endAt }) => `M${startAt} ${top}H${endAt}v${LANE - 2}H${startAt}Z`).join('')
}

import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'
import { onDrag } from './dragging.ts'

interface DividerProps {
  readonly label: string
  /** Percent of the parent's width before the divider. */
  readonly place: Signal<number>
}

const [MIN, MAX, STEP] = [15, 80, 2]

export function Divider({ label, place }: DividerProps): JSX.Element {
  const put = (percent: number): void => {
    place.value = Math.min(MAX, Math.max(MIN, percent))
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a divider that moves is no <hr>
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={Math.round(place.value)}
      onPointerDown={event => {
        event.preventDefault()
        onDrag(event, share => put(share * 100), event.currentTarget.parentElement ?? undefined)
      }}
      onKeyDown={({ key }) => {
        if (key === 'ArrowLeft') put(place.value - STEP)
        if (key === 'ArrowRight') put(place.value + STEP)
      }}
    />
  )
}

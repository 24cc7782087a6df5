import type { Signal } from '@preact/signals'

const [MIN, MAX, STEP] = [15, 80, 2]

/** @param props.place percent of the parent's width before the divider */
export function Divider({ label, place }: { readonly label: string; readonly place: Signal<number> }) {
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

/** Follows the pointer from a press until its release, wherever it goes. Positions are shares of the element's width. */
export function onDrag(
  event: { readonly currentTarget: HTMLElement; readonly clientX: number; readonly button: number },
  move: (share: number, startShare: number) => void,
  element: HTMLElement = event.currentTarget,
): void {
  if (event.button !== 0) return
  const { left, width } = element.getBoundingClientRect()
  const shareOf = (x: number): number => Math.min(1, Math.max(0, (x - left) / Math.max(1, width)))
  const ending = new AbortController()
  const { signal } = ending
  const follow = ({ clientX }: PointerEvent): void => {
    if (Math.abs(clientX - event.clientX) >= MIN_PIXELS) move(shareOf(clientX), shareOf(event.clientX))
  }
  addEventListener('pointermove', follow, { signal })
  for (const name of ['pointerup', 'pointercancel', 'blur']) addEventListener(name, () => ending.abort(), { signal })
}

/** A click moves the pointer a little. */
const MIN_PIXELS = 3

/**
 * Follows the pointer from a press until its release, however far it leaves the element. Positions are shares of the element's
 * width.
 */
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

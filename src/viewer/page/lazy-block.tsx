import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Distance from the visible part within which a block is rendered, so that scrolling shows no gap. */
const NEAR = '1200px 0px'

interface LazyProps {
  readonly label: string
  readonly class: string
  readonly position: number
  readonly count: number
  /** Expected height in pixels, until the block has been rendered once. */
  readonly height: number
  readonly children: () => JSX.Element
}

/** An article of a feed that is rendered only near the visible part, and keeps its height otherwise. */
export function LazyBlock({ label, class: name, position, count, height, children }: LazyProps): JSX.Element {
  const box = useRef<HTMLElement>(null)
  const known = useRef(height)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const observer = new IntersectionObserver(
      entries => {
        const isIntersecting = entries.at(-1)?.isIntersecting === true
        // The focus would be lost with the block.
        if (!isIntersecting && element.contains(document.activeElement)) return
        if (!isIntersecting && element.childElementCount > 0) known.current = element.offsetHeight
        setNear(isIntersecting)
      },
      { root: element.closest('.turn-page'), rootMargin: NEAR },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <article
      ref={box}
      class={name}
      aria-label={label}
      aria-posinset={position}
      aria-setsize={count}
      style={{ minHeight: `${known.current}px` }}
    >
      {isNear && children()}
    </article>
  )
}

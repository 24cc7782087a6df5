import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { hrefOf, type Place, placeOf } from './address.ts'

/** Where we are. */
export const place = signal<Place>(here())

function here(): Place {
  return placeOf(location.pathname, location.search)
}

/** `push`: somewhere else, and back leads here. `replace`: the same place, looked at in another way. */
export function go(to: Place, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', hrefOf(to))
  else history.replaceState(null, '', hrefOf(to))
  place.value = to
}

export function startNavigation(): void {
  addEventListener('popstate', () => {
    place.value = here()
  })
}

interface LinkProps {
  readonly to: Place
  readonly class?: string
  readonly label?: string
  readonly isCurrent?: boolean
  readonly children: ComponentChildren
}

/** A link that stays in the page, unless the reader wants another tab. */
export function Link({ to, class: className, label, isCurrent = false, children }: LinkProps): JSX.Element {
  const follow = (event: JSX.TargetedMouseEvent<HTMLAnchorElement>): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to)
    scrollTo(0, 0)
    // Who hears the page, or goes on by keys, goes on there.
    document.getElementById('main')?.focus({ preventScroll: true })
  }
  return (
    <a
      href={hrefOf(to)}
      class={className}
      aria-label={label}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={follow}
    >
      {children}
    </a>
  )
}

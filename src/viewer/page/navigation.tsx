import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { addressOf, hrefOf, type PageAddress } from './address.ts'

export const address = signal<PageAddress>(here())

function here(): PageAddress {
  return addressOf(location.pathname, location.search)
}

/** `push` adds a history entry for a new position. `replace` changes the display of the same one. */
export function go(to: PageAddress, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') {
    history.replaceState({ scrollTop: scrollY }, '')
    history.pushState(null, '', hrefOf(to))
  } else history.replaceState(history.state, '', hrefOf(to))
  address.value = to
}

export function startNavigation(): void {
  // The browser restores the position at once, before the view has loaded.
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => {
    address.value = here()
    restoreScroll((state as { readonly scrollTop?: number } | null)?.scrollTop ?? 0)
  })
}

/** A view that loads more slowly stays at its top. */
const RESTORE_LIMIT_MILLIS = 10_000

/** Scrolls as soon as the page is long enough, unless the user scrolls or navigates first. */
function restoreScroll(top: number): void {
  const startedAt = performance.now()
  const at = address.peek()
  scrollTo(0, 0)
  const attempt = (): void => {
    if (address.peek() !== at || scrollY > 0 || performance.now() - startedAt > RESTORE_LIMIT_MILLIS) return
    if (document.documentElement.scrollHeight - innerHeight >= top) scrollTo(0, top)
    else requestAnimationFrame(attempt)
  }
  attempt()
}

type LinkProps = Omit<JSX.IntrinsicElements['a'], 'href' | 'onClick'> &
  Readonly<{ to: PageAddress; isCurrent?: boolean }>

/**
 * A link within the page. Modified clicks keep the browser's behaviour, such as opening a tab. Moves the focus to the
 * new content, for screen readers and keyboards.
 */
export function Link({ to, isCurrent, ...attributes }: LinkProps) {
  const follow = (event: JSX.TargetedMouseEvent<HTMLAnchorElement>): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to)
    scrollTo(0, 0)
    document.getElementById('main')?.focus({ preventScroll: true })
  }
  return <a {...attributes} href={hrefOf(to)} aria-current={isCurrent ? 'page' : undefined} onClick={follow} />
}

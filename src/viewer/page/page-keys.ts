import { go } from './navigation.tsx'

const SEARCH_BOX = 'main input[type=search]'

/** `/` and `?` in every view. The tree of a turn handles its own keys first. */
export function startPageKeys(): void {
  addEventListener('keydown', event => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyped(event)) return
    if (event.key === '?') document.querySelector<HTMLDialogElement>('#keys')?.showModal()
    else if (event.key === '/') focusSearch()
    else return
    event.preventDefault()
  })
}

function isTyped({ target }: KeyboardEvent): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null
}

function focusSearch(): void {
  if (document.querySelector(SEARCH_BOX) === null) go({ view: 'sessions', filter: {} })
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>(SEARCH_BOX)?.focus())
}

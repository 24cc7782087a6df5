import { ALL_SESSIONS, lookOfTab, TURN_TABS } from './address.ts'
import { DescriptionList } from './elements.tsx'
import { address, go } from './navigation.tsx'

const KEYS: readonly (readonly [string, string])[] = [
  ['↑ ↓ or k j', 'previous row, next row'],
  ['→ ←', 'open or enter, close or leave'],
  ['Home End or g G', 'first row, last row'],
  ['Enter', 'details of the row'],
  ['Esc', 'close the details'],
  ['/', 'search this turn or the sessions'],
  ['n N', 'next match, previous match'],
  ['] [', 'open all, close all'],
  ['w s or Ctrl and wheel', 'zoom the timeline in, out'],
  ['a d', 'move the timeline left, right'],
  ['f 0', 'fit the row, show all of the time'],
  ['t l u', 'transcript, timeline, usage of the turn'],
  ['?', 'show this list'],
]

export function KeysDialog() {
  return (
    <dialog id="keys" aria-label="Keys">
      <h2>Keys</h2>
      <DescriptionList class="keys" entries={KEYS.map(([keys, words]) => [<kbd>{keys}</kbd>, words])} />
      <button type="button" onClick={event => event.currentTarget.closest('dialog')?.close()}>
        Close
      </button>
    </dialog>
  )
}

export function showKeys(): void {
  document.querySelector<HTMLDialogElement>('#keys')?.showModal()
}

const SEARCH_BOX = 'main input[type=search]'
const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1 }
const STEP_LINES = '.feed :is(.talk-head a, .talk-line > button, .talk-line > span.unfold ~ a)'

/** `/` and `?` in every view, `t`, `l` and `u` in a turn, `j` and `k` in a transcript. The tree of a turn handles its own keys first. */
export function startPageKeys(): void {
  addEventListener('keydown', event => {
    const { key, target } = event
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (target instanceof Element && target.closest('input, textarea, select, dialog') !== null) return
    if (key === '?') showKeys()
    else if (key === '/') focusSearch()
    else if (!goToTab(key) && !moveToStep(key)) return
    event.preventDefault()
  })
}

function goToTab(key: string): boolean {
  const tab = TURN_TABS['tlu'.indexOf(key)]
  const here = address.peek()
  if (here.view !== 'turn' || tab === undefined) return false
  go({ view: 'turn', traceId: here.traceId, look: lookOfTab(tab) })
  return true
}

function moveToStep(key: string): boolean {
  const stops = [...document.querySelectorAll<HTMLElement>(STEP_LINES)]
  const step = STEPS[key]
  if (step === undefined || stops.length === 0) return false
  stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus()
  return true
}

export function focusSearch(): void {
  if (document.querySelector(SEARCH_BOX) === null) go(ALL_SESSIONS)
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>(SEARCH_BOX)?.focus())
}

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { go } from './navigation.tsx'

interface ComparisonItem {
  readonly id: string
  readonly title: string
}

const picked = signal<ComparisonItem | undefined>(undefined)

/** Chooses an item to compare. The first choice is kept across views until the second is made. */
export function CompareButton({ id, title }: ComparisonItem): JSX.Element | null {
  const first = picked.value
  if (first?.id === id) return null
  const pick = (): void => {
    picked.value = first === undefined ? { id, title } : undefined
    if (first !== undefined) go({ view: 'compare', a: first.id, b: id })
  }
  return (
    <button type="button" class="quiet" onClick={pick}>
      {first === undefined ? 'Compare' : 'Compare with this'}
    </button>
  )
}

export function ComparisonBar(): JSX.Element | null {
  const first = picked.value
  if (first === undefined) return null
  const forget = (): void => {
    picked.value = undefined
  }
  return (
    <p class="picked" role="status">
      To compare with: <strong>{first.title}</strong>. Go to another turn or session, and press “Compare with this”.{' '}
      <button type="button" class="quiet" onClick={forget}>
        Forget it
      </button>
    </p>
  )
}

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { LongText } from './long-text.tsx'
import { visibleValue } from './shown.ts'
import { countOf } from './words.ts'

const FEW_ENTRIES = 100

/** JSON with foldable levels. Closed levels are not rendered, so depth and size cost nothing until opened. */
export function JsonTree({ value, isOpen = true }: { readonly value: object; readonly isOpen?: boolean }): JSX.Element {
  return <Branch name={undefined} value={value} isOpen={isOpen} depth={0} />
}

interface BranchProps {
  readonly name: string | undefined
  readonly value: object
  readonly isOpen: boolean
  readonly depth: number
}

/** Limits automatic opening: otherwise a value a thousand levels deep would be rendered whole. */
const OPEN_DEPTH = 3

function Branch({ name, value, isOpen, depth }: BranchProps): JSX.Element {
  const [open, setOpen] = useState(isOpen)
  const entries = Object.entries(value as Readonly<Record<string, unknown>>)
  const [most, setMost] = useState(FEW_ENTRIES)
  const size = countOf(entries.length, Array.isArray(value) ? 'entry' : 'field').replace('entrys', 'entries')
  return (
    <details class="json" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== undefined && <code class="key">{visibleValue(name)}</code>} <span class="dim">{size}</span>
      </summary>
      {open && (
        <ul>
          {entries.slice(0, most).map(([key, entry]) => (
            <li key={key}>
              <Entry name={key} value={entry} isOpen={entries.length <= 3 && depth < OPEN_DEPTH} depth={depth + 1} />
            </li>
          ))}
          {entries.length > most && (
            <li>
              <button type="button" class="quiet" onClick={() => setMost(most * 10)}>
                {countOf(entries.length - most, 'more')}
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

interface EntryProps {
  readonly name: string
  readonly value: unknown
  readonly isOpen: boolean
  readonly depth: number
}

function Entry({ name, value, isOpen, depth }: EntryProps): JSX.Element {
  if (typeof value === 'object' && value !== null)
    return <Branch name={name} value={value} isOpen={isOpen && isSmall(value)} depth={depth} />
  const text = String(value)
  return (
    <>
      <code class="key">{visibleValue(name)}</code>{' '}
      {text.includes('\n') || text.length > 200 ? (
        <LongText text={text} />
      ) : (
        <code class={`value is-${typeof value}`}>{visibleValue(text)}</code>
      )}
    </>
  )
}

function isSmall(value: object): boolean {
  return Object.keys(value).length <= 8
}

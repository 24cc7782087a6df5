import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { countOf, humanAge, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { TextSegment } from '../../reading/segments.ts'
import type { TurnRow } from '../server/api.ts'
import type { PageAddress } from './address.ts'
import { ago, percent } from './formats.ts'
import { Link } from './navigation.tsx'
import { now } from './state.ts'

/** A running age. It updates itself without rendering its surroundings again. */
export function Since({ at }: { readonly at: number }): JSX.Element {
  return <>{humanAge(now.value - at)}</>
}

export function Ago({ at }: { readonly at: number }): JSX.Element {
  return (
    <time dateTime={isoOf(at)} title={timeText(at)}>
      {ago(now.value - at)}
    </time>
  )
}

/** The formatter of a time. Returns `otherwise` for a time that no date can hold. */
function timeFormatter(format: (date: Date) => string, otherwise = ''): (at: number) => string {
  return at => {
    const date = new Date(at)
    return Number.isNaN(date.getTime()) ? otherwise : format(date)
  }
}

const LONG = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
export const timeText = timeFormatter(LONG.format, 'unknown time')
export const clockText = timeFormatter(new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format)
export const dayText = timeFormatter(new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }).format)
export const isoOf = timeFormatter(date => date.toISOString())

export function Outcome({ outcome }: { readonly outcome: TextSegment | undefined }): JSX.Element | null {
  return outcome === undefined ? null : <span class={`outcome tone-${outcome.tone}`}>{outcome.text}</span>
}

interface FigureProps {
  readonly label: string
  readonly children: ComponentChildren
  readonly tone?: string
}

export function Figure({ label, children, tone = '' }: FigureProps): JSX.Element {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function UsageFigures({ tokens, cachedTokens, cost, errorCount, waitedMillis }: UsageProps): JSX.Element {
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <>
      {waitedMillis > 0 && (
        <Figure label="waiting for approval" tone="tone-wait">
          {humanDuration(waitedMillis)}
        </Figure>
      )}
      {input + output > 0 && (
        <Figure label="tokens in → out">
          {humanCount(input)} → {humanCount(output)}
        </Figure>
      )}
      {cachedTokens > 0 && input > 0 && (
        <Figure label="cached input">{percent(Math.min(1, cachedTokens / input))}</Figure>
      )}
      {cost.paidCount > 0 && (
        <Figure label={cost.unknownCount === 0 ? 'cost' : `cost, without ${countOf(cost.unknownCount, 'request')}`}>
          {humanCost(cost.dollars)}
        </Figure>
      )}
      {errorCount > 0 && (
        <Figure label={errorCount === 1 ? 'error' : 'errors'} tone="tone-error">
          {humanCount(errorCount)}
        </Figure>
      )}
    </>
  )
}

type UsageProps = Pick<TurnRow, 'tokens' | 'cachedTokens' | 'cost' | 'errorCount' | 'waitedMillis'>

export function Notice({ children, tone = '' }: Omit<FigureProps, 'label'>): JSX.Element {
  return (
    <p class={`notice ${tone}`} role={tone === 'failed' ? 'alert' : undefined}>
      {children}
    </p>
  )
}

export function LoadState({ problem }: { readonly problem: string | undefined }): JSX.Element {
  if (problem === undefined) return <Notice>Loading …</Notice>
  return (
    <Notice tone="failed">
      {problem} <Link to={{ view: 'sessions', filter: {} }}>All sessions</Link>
    </Notice>
  )
}

interface FoldProps {
  readonly summary: ComponentChildren
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

/** The content is rendered, and loaded, only while open. */
export function Fold({ summary, isOpen = false, children }: FoldProps): JSX.Element {
  const [open, setOpen] = useState(isOpen)
  return (
    <details class="fold" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && <div class="fold-body">{children}</div>}
    </details>
  )
}

interface TableProps {
  readonly heads: readonly string[]
  /** The number of columns with text, at the left. The others hold numbers. */
  readonly textColumns?: number
  readonly class?: string
  readonly sorts?: Readonly<Record<string, ColumnSort>> | undefined
  /** Its rows have no links. A narrow screen scrolls it by keyboard if it has the focus itself. */
  readonly isPlain?: boolean
  readonly children: ComponentChildren
}

export interface ColumnSort {
  readonly to: PageAddress
  readonly direction: 'ascending' | 'descending' | undefined
}

function Head({ text, sort }: { readonly text: string; readonly sort: ColumnSort | undefined }): JSX.Element {
  if (sort === undefined) return <>{text}</>
  const arrow = sort.direction && (sort.direction === 'ascending' ? ' ↑' : ' ↓')
  return (
    <Link class="sort" to={sort.to}>
      {text}
      <span aria-hidden="true">{arrow}</span>
    </Link>
  )
}

export function Table(props: TableProps): JSX.Element {
  const { heads, textColumns = 1, class: name = '', sorts = {}, isPlain = false, children } = props
  return (
    <div class="scrolls" tabIndex={isPlain ? 0 : undefined}>
      <table class={`list ${name}`}>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={head} scope="col" class={index < textColumns ? '' : 'number'} aria-sort={sorts[head]?.direction}>
                <Head text={head} sort={sorts[head]} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

interface CopyProps {
  readonly text: string
  readonly label: string
  /** The button's text. */
  readonly idle?: string
}

/** Copies the text as stored, not the visible signs for its hidden characters. */
export function CopyButton({ text, label, idle = 'Copy' }: CopyProps): JSX.Element {
  const [said, setSaid] = useState(idle)
  const copy = async (): Promise<void> => {
    // A browser may deny clipboard access.
    setSaid(
      await navigator.clipboard.writeText(text).then(
        () => 'Copied',
        () => 'Copy failed',
      ),
    )
    setTimeout(() => setSaid(idle), COPIED_MILLIS)
  }
  return (
    <button type="button" class="quiet" aria-label={label} onClick={() => void copy()}>
      {said}
    </button>
  )
}

const COPIED_MILLIS = 1_500

export function shortId(id: string): string {
  return id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id
}

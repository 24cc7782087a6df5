import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { countOf, humanAge, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { DisplayKind, TextSegment } from '../../reading/segments.ts'
import type { SpanRow, TurnRow } from '../server/api.ts'
import { ALL_SESSIONS, type PageAddress } from './address.ts'
import { ago, brief, isoOf, percent, shortId, timeText } from './formats.ts'
import { Link } from './navigation.tsx'
import { now } from './state.ts'

/** A running age. It updates itself without rendering its surroundings again. */
export function Since({ at }: { readonly at: number }) {
  return <>{humanAge(now.value - at)}</>
}

export function Lasted({ state, startAt, endAt }: Pick<SpanRow, 'state' | 'startAt' | 'endAt'>) {
  return state === 'open' ? <Since at={startAt} /> : humanDuration(Math.max(0, endAt - startAt))
}

export function OpenBadge({ startAt }: Pick<TurnRow, 'startAt'>) {
  return (
    <span class="badge is-running">
      open for <Since at={startAt} />
    </span>
  )
}

export function Ago({ at }: { readonly at: number }) {
  return (
    <time dateTime={isoOf(at)} title={timeText(at)}>
      {ago(now.value - at)}
    </time>
  )
}

export function Outcome({ outcome }: { readonly outcome: TextSegment | undefined }) {
  return outcome && <span class={`outcome tone-${outcome.tone}`}>{brief(outcome.text)}</span>
}

type FigureProps = Readonly<{ label: string; children: ComponentChildren; tone?: string }>

export function Figure({ label, children, tone = '' }: FigureProps) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

type Entry = readonly [label: ComponentChildren, content: ComponentChildren]

export function DescriptionList(props: { readonly entries: readonly Entry[]; readonly class?: string }) {
  return (
    <dl class={props.class}>
      {props.entries.map(([label, content], index) => (
        <div key={index}>
          <dt class="dim">{label}</dt>
          <dd>{content}</dd>
        </div>
      ))}
    </dl>
  )
}

type Usage = Pick<TurnRow, 'tokens' | 'cachedTokens' | 'cost' | 'errorCount' | 'waitedMillis'>

export function UsageFigures({ tokens, cachedTokens, cost, errorCount, waitedMillis }: Usage) {
  const { input = 0, output = 0 } = tokens ?? {}
  const costLabel = cost.unknownCount === 0 ? 'cost' : `cost, without ${countOf(cost.unknownCount, 'request')}`
  const figures = [
    ['waiting for approval', waitedMillis > 0 && humanDuration(waitedMillis), 'tone-wait'],
    ['tokens in → out', input + output > 0 && `${humanCount(input)} → ${humanCount(output)}`],
    ['cached input', cachedTokens > 0 && input > 0 && percent(Math.min(1, cachedTokens / input))],
    [costLabel, cost.paidCount > 0 && humanCost(cost.dollars)],
    [errorCount === 1 ? 'error' : 'errors', errorCount > 0 && humanCount(errorCount), 'tone-error'],
  ] as const
  return figures.map(
    ([label, text, tone = '']) =>
      text && (
        <Figure key={label} label={label} tone={tone}>
          {text}
        </Figure>
      ),
  )
}

export function errorTone({ errorCount }: Pick<Usage, 'errorCount'>): string {
  return errorCount > 0 ? 'tone-error' : ''
}

export function Notice({ children, tone = '' }: Omit<FigureProps, 'label'>) {
  return (
    <p class={`notice ${tone}`} role={tone === 'failed' ? 'alert' : undefined}>
      {children}
    </p>
  )
}

export function LoadState({ problem, isPage }: { readonly problem: string | undefined; readonly isPage?: boolean }) {
  return (
    <Notice tone={problem === undefined ? '' : 'failed'}>
      {problem ?? 'Loading …'}
      {problem !== undefined && isPage && [' ', <Link to={ALL_SESSIONS}>All sessions</Link>]}
    </Notice>
  )
}

export function Button(attributes: JSX.IntrinsicElements['button']) {
  return <button type="button" class="quiet" {...attributes} />
}

type SwitchProps = Readonly<{ isOn: boolean; onSwitch: (isOn: boolean) => void; children: ComponentChildren }>

export function Switch({ isOn, onSwitch, children }: SwitchProps) {
  return (
    <label class="small">
      <input type="checkbox" checked={isOn} onChange={event => onSwitch(event.currentTarget.checked)} /> {children}
    </label>
  )
}

export function SessionLink({ id, title }: Readonly<Record<'id' | 'title', string>>) {
  return (
    <Link class="two-lines" to={{ view: 'session', id }}>
      {title || `Session ${shortId(id)}`}
    </Link>
  )
}

/** The content is rendered, and loaded, only while open. */
export function Fold({ summary, children }: Readonly<Record<'summary' | 'children', ComponentChildren>>) {
  const [open, setOpen] = useState(false)
  return (
    <details class="fold" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && <div class="fold-body">{children}</div>}
    </details>
  )
}

type TextOf<Row> = (row: Row) => string

/** The head of a column, its cell in a row, and how both look. A column without `isText` holds numbers; the first names the row. */
export type Column<Row> = readonly [
  head: ComponentChildren,
  cell: (row: Row) => ComponentChildren,
  look?: { readonly isText?: true; readonly tone?: TextOf<Row>; readonly title?: TextOf<Row> },
]

export type ColumnSort = Readonly<{ to: PageAddress; direction: 'ascending' | 'descending' | undefined }>

interface TableProps<Row> {
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  /** Identifies a row if rows change their places. */
  readonly keyOf?: (row: Row) => string
  readonly class?: string
  readonly sorts?: Readonly<Record<string, ColumnSort>> | undefined
  /** Its rows have no links. A narrow screen scrolls it by keyboard if it has the focus itself. */
  readonly isPlain?: boolean
}

export function Table<Row>({ rows, columns, keyOf, class: name = '', sorts = {}, isPlain = false }: TableProps<Row>) {
  return (
    <div class="scrolls" tabIndex={isPlain ? 0 : undefined}>
      <table class={`list ${name}`}>
        <thead>
          <tr>
            {columns.map(([head, , look], index) => {
              const { to, direction } = sorts[String(head)] ?? {}
              const arrow = direction && (direction === 'ascending' ? ' ↑' : ' ↓')
              const sorted = [head, <span aria-hidden="true">{arrow}</span>]
              return (
                <th key={index} scope="col" class={index === 0 || look?.isText ? '' : 'number'} aria-sort={direction}>
                  {to ? <Link class="sort" to={to} children={sorted} /> : head}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf?.(row) ?? index}>{columns.map((column, place) => cellOf(row, column, place))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function cellOf<Row>(row: Row, [head, cell, look]: Column<Row>, place: number) {
  const content = cell(row)
  if (place === 0) return <th scope="row">{content}</th>
  if (look?.isText) return <td>{content}</td>
  // A narrow screen has no heads: the name of a figure stands after it.
  const name = typeof content === 'object' ? undefined : String(head).toLowerCase()
  return (
    <td
      class={`number ${look?.tone?.(row) ?? ''}`}
      title={look?.title?.(row)}
      data-label={content === 1 ? name?.replace(/s$/, '') : name}
    >
      {content}
    </td>
  )
}

const COPIED_MILLIS = 1_500

/** Copies the text as stored, not the visible signs for its hidden characters. A browser may deny clipboard access. */
export function CopyButton({ text, label, idle = 'Copy' }: Readonly<{ text: string; label: string; idle?: string }>) {
  const [said, setSaid] = useState(idle)
  const copy = async (): Promise<void> => {
    const copying = navigator.clipboard.writeText(text)
    setSaid(await copying.then(() => 'Copied').catch(() => 'Copy failed'))
    setTimeout(() => setSaid(idle), COPIED_MILLIS)
  }
  return (
    <Button aria-label={label} onClick={() => void copy()}>
      {said}
    </Button>
  )
}

/** One shape per kind, so that colour is never the only difference. Drawn in a square of 16. */
const SHAPES: Readonly<Record<DisplayKind, string>> = {
  session: 'M8 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6ZM2.5 14c.4-3 2.6-4.7 5.5-4.7s5.1 1.7 5.5 4.7Z',
  llm: 'M8 2.2a5.8 5.8 0 1 0 5.8 5.8h-2A3.8 3.8 0 1 1 8 4.2v2.1l3.6-3.1L8 .1Z',
  api: 'M8 1l1.7 5.3L15 8l-5.3 1.7L8 15l-1.7-5.3L1 8l5.3-1.7Z',
  tool: 'M10.6 1.3a4.2 4.2 0 0 0-4 5.6L1.6 12l2.5 2.4 5-5a4.2 4.2 0 0 0 5.5-5.2l-2.6 2.5-2.5-.6-.6-2.4Z',
  subagent: 'M3 1h2v6.5c0 1 .6 1.5 1.5 1.5H9V6.5L14.5 10 9 13.5V11H6.5C4.4 11 3 9.6 3 7.5Z',
  approval: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1 3h2v4l2.7 1.8-1.1 1.7L7 9Z',
  hook: 'M8 1l6 2v5c0 3.3-2.4 5.7-6 7-3.6-1.3-6-3.7-6-7V3Zm-.9 9.6 4-5.2-1.4-1.1-2.8 3.6-1.6-1.5-1.2 1.3Z',
  skill: 'M2 2.5c2-.8 4-.8 5.4.3V14c-1.4-1-3.4-1-5.4-.3Zm12 0c-2-.8-4-.8-5.4.3V14c1.4-1 3.4-1 5.4-.3Z',
  auxiliary:
    'M3.5 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Zm4.5 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Zm4.5 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Z',
  other: 'M3 3h10v10H3Z',
}

export const KIND_NAMES: Readonly<Record<DisplayKind, string>> = {
  session: 'turn',
  llm: 'loop',
  api: 'model request',
  tool: 'tool',
  subagent: 'sub-agent',
  approval: 'waiting for approval',
  hook: 'guard',
  skill: 'skill',
  auxiliary: 'side call',
  other: 'span',
}

export function KindIcon({ kind }: { readonly kind: DisplayKind }) {
  return (
    <svg class="icon" style={{ '--kind': `var(--kind-${kind})` }} viewBox="0 0 16 16" aria-hidden="true">
      <path d={SHAPES[kind]} />
    </svg>
  )
}

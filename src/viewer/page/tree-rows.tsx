import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { countOf, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { Fold, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { Outcome, Since } from './elements.tsx'
import { KindIcon, kindName } from './icons.tsx'
import { pathPartOf } from './path-parts.ts'
import { now } from './state.ts'
import { type TreeMove, treeMove, type VisibleRow, windowOf } from './tree-model.ts'
import {
  endOf,
  foldRanges,
  type GroupMark,
  type ParallelGroup,
  type RetryWait,
  rangeOf,
  rowMarks,
  type TimeRange,
  ticksOf,
  timeScale,
} from './waterfall.ts'

/** Equal to `--row` in the style sheet. With a fixed height, a list of any length stays cheap. */
const ROW_HEIGHT = 28
const MAX_TICKS = 7

interface TreeProps {
  readonly view: TraceView
  readonly visible: readonly VisibleRow[]
  readonly active: string
  readonly hits: ReadonlySet<string>
  readonly look: TurnLook
  readonly move: (what: TreeMove) => void
}

export function TreeRows({ view, visible, active, hits, look, move }: TreeProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, height: 1_000 })
  const marks = useMemo(() => rowMarks(view, look.path), [view, look.path])
  const at = visible.findIndex(({ row }) => row.id === active)
  useTimeScale(box, view)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])
  useScroll(box, setScroll)
  useScrollToActive(box, at, active)
  const { from, to } = windowOf(visible.length, { ...scroll, rowHeight: ROW_HEIGHT })
  const places = Array.from({ length: to - from }, (_, index) => from + index)
  // The active row is always rendered: the tree's focus refers to it.
  if (at >= 0 && (at < from || at >= to)) places.push(at)
  const pageRows = Math.max(1, Math.floor(scroll.height / ROW_HEIGHT) - 1)
  return (
    <div
      ref={box}
      class={`tree ${look.path === undefined ? '' : 'shows-path'}`}
      role="tree"
      tabIndex={0}
      aria-label="Spans of this turn"
      aria-activedescendant={at >= 0 ? rowId(visible[at] as VisibleRow) : undefined}
      onKeyDown={event => handleKey(event, treeMove({ key: event.key, pageRows }, visible, active), move)}
    >
      <Axis view={view} />
      <div class="rows" role="presentation" style={{ '--count': visible.length }}>
        {places.map(place => {
          const each = visible[place] as VisibleRow
          return (
            <TreeRow
              key={each.row.id}
              domId={rowId(each)}
              place={place}
              visible={each}
              view={view}
              isActive={place === at}
              isSelected={each.row.id === look.span}
              isHit={hits.has(each.row.id)}
              group={marks.groupOf.get(each.index)}
              wait={marks.waitOf.get(each.index)}
              path={marks.pathOf.get(each.index) ?? []}
              move={move}
            />
          )
        })}
      </div>
    </div>
  )
}

function handleKey(event: KeyboardEvent, what: TreeMove | undefined, move: TreeProps['move']): void {
  if (what === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  move(what)
}

/** An id from the row's index: a span id is untrusted and may contain anything. */
function rowId({ index }: VisibleRow): string {
  return `row-${index}`
}

/** Sets the time scale of the bars. It is a style of their container alone, so that a growing bar renders no rows. */
function useTimeScale(box: { readonly current: HTMLElement | null }, view: TraceView): void {
  useLayoutEffect(
    () =>
      effect(() => {
        const { from, to, at } = timeScale(view, now.value)
        box.current?.style.setProperty('--span', String(Math.max(1, to - from)))
        box.current?.style.setProperty('--now', String(at - from))
      }),
    [view],
  )
}

function useScroll(
  box: { readonly current: HTMLElement | null },
  tell: (scroll: { readonly top: number; readonly height: number }) => void,
): void {
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const look = (): void => tell({ top: element.scrollTop, height: element.clientHeight })
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
}

/** Scrolls to the active row when it becomes active, but not when the rows around it change. */
function useScrollToActive(box: { readonly current: HTMLElement | null }, at: number, active: string): void {
  useLayoutEffect(() => {
    const element = box.current
    if (element === null || at < 0) return
    const axis = element.querySelector<HTMLElement>('.axis')?.offsetHeight ?? 0
    const [top, bottom] = [at * ROW_HEIGHT, (at + 1) * ROW_HEIGHT]
    const height = element.clientHeight - axis
    if (top < element.scrollTop) element.scrollTop = top
    else if (bottom > element.scrollTop + height) element.scrollTop = bottom - height
  }, [active])
}

function Axis({ view }: { readonly view: TraceView }): JSX.Element {
  const { from, to } = timeScale(view, view.turn.state === 'open' ? now.value : view.now)
  return (
    <div class="axis" role="presentation" aria-hidden="true">
      <div class="axis-ticks">
        {ticksOf(to - from, MAX_TICKS).map(({ at, text }) => (
          <span key={at} class="tick" style={{ '--from': at }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  readonly domId: string
  readonly place: number
  readonly visible: VisibleRow
  readonly view: TraceView
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly isHit: boolean
  readonly group: GroupMark | undefined
  readonly wait: RetryWait | undefined
  readonly path: readonly PathSectionRow[]
  readonly move: (what: TreeMove) => void
}

function TreeRow(props: RowProps): JSX.Element {
  const { domId, place, visible, isActive, isSelected, isHit, group, path, move } = props
  const { row, level, position, siblings, isParent, isOpen, fold } = visible
  const classes = [
    'row',
    isActive && 'is-active',
    isSelected && 'is-selected',
    isHit && 'is-hit',
    row.isError && 'is-failed',
    group !== undefined && 'in-group',
    path.length > 0 && 'on-path',
  ]
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys for all of its rows
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and says which row is active
    <div
      id={domId}
      class={classes.filter(Boolean).join(' ')}
      role="treeitem"
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={position}
      aria-expanded={isParent || fold !== undefined ? isOpen : undefined}
      aria-selected={isSelected}
      aria-label={ariaLabel(visible)}
      style={{ '--place': place, '--depth': Math.min(row.depth, MAX_INDENT), '--group': group?.depth ?? 0 }}
      onClick={() => move({ do: 'details', id: row.id })}
    >
      <NameCell {...props} />
      <Bars {...props} />
    </div>
  )
}

/** Deeper rows share one indent, so that names keep room. */
const MAX_INDENT = 24

function ariaLabel({ row, fold, hiddenCount, isOpen }: VisibleRow): string {
  const lasted = row.state === 'ended' ? humanDuration(row.endAt - row.startAt) : STATES[row.state]
  const parts = [
    fold === undefined ? '' : `${fold.rows.length} times`,
    `${kindName(row.kind)} ${row.name}`,
    row.attempt,
    row.hint?.slice(0, 200),
    fold === undefined ? lasted : `${humanDuration(fold.totalMillis)} in total`,
    row.outcome?.text,
    ...(row.marks ?? []).map(({ text }) => text),
    !isOpen && hiddenCount > 0 && fold === undefined ? `${hiddenCount} hidden` : '',
  ]
  return parts.filter(Boolean).join(', ')
}

const STATES = { open: 'open', 'owner-dead': 'open, process exited' } as const

function NameCell({ visible, group, move }: RowProps): JSX.Element {
  const { row, isParent, isOpen, hiddenCount, fold } = visible
  const toggle = (event: Event): void => {
    event.stopPropagation()
    move({ do: isOpen ? 'close' : 'open', id: row.id })
  }
  return (
    <div class="name-cell">
      <span class="twist" aria-hidden="true" onClick={isParent || fold !== undefined ? toggle : undefined}>
        {isParent || fold !== undefined ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <KindIcon kind={row.kind} />
      {fold !== undefined && <span class="times">×{fold.rows.length}</span>}
      <span class="name one-line">{row.name}</span>
      {row.attempt !== undefined && <span class="chip attempt">{row.attempt}</span>}
      {group?.isFirst === true && <Parallel group={group.group} />}
      {row.hint !== undefined && (
        <span class="hint one-line" title={row.hint}>
          {row.hint}
        </span>
      )}
      {!isOpen && fold === undefined && hiddenCount > 0 && <Hidden row={row} count={hiddenCount} />}
      {row.marks?.map(mark => (
        <span key={mark.text} class={`chip tone-${mark.tone}`}>
          {mark.text}
        </span>
      ))}
      {row.childTraces !== undefined && <span class="chip">{countOf(row.childTraces.length, 'child turn')}</span>}
      <span class="narrow-duration">
        <Duration row={row} />
      </span>
    </div>
  )
}

const MIN_PARALLEL_GAIN = 0.95

function Parallel({ group: { rows, millis, sumMillis } }: { readonly group: ParallelGroup }): JSX.Element {
  const gain =
    millis < sumMillis * MIN_PARALLEL_GAIN ? `, ${humanDuration(millis)} instead of ${humanDuration(sumMillis)}` : ''
  return (
    <span class="chip parallel one-line">
      {rows.length} in parallel{gain}
    </span>
  )
}

function Hidden({ row, count }: { readonly row: SpanRow; readonly count: number }): JSX.Element {
  const { input = 0, output = 0, errorCount = 0 } = row.sum ?? {}
  return (
    <span class="chip">
      {humanCount(count)} hidden
      {input + output > 0 && `, ${humanCount(input)} → ${humanCount(output)} tokens`}
      {errorCount > 0 && <span class="tone-error">, {countOf(errorCount, 'error')}</span>}
    </span>
  )
}

function Bars(props: RowProps): JSX.Element {
  const { visible, view, wait, path } = props
  return (
    <div class="bar-cell">
      {wait !== undefined && (
        <i
          class="bar gap"
          title={`${humanDuration(wait.endAt - wait.startAt)} between the attempts`}
          style={barOf(wait, view)}
        />
      )}
      {visible.fold === undefined ? <SpanBar {...props} /> : <FoldBars {...props} fold={visible.fold} />}
      {path.map(section => (
        <i
          key={section.startAt}
          class={`bar path path-part is-${pathPartOf(section, view.rows)}`}
          style={barOf(section, view)}
        />
      ))}
    </div>
  )
}

function SpanBar({ visible: { row }, view }: RowProps): JSX.Element {
  const isOpen = row.state === 'open'
  const { '--from': from, '--to': to } = barOf({ startAt: row.startAt, endAt: Math.max(row.endAt, row.startAt) }, view)
  const style = { '--kind': `var(--kind-${row.kind})`, '--from': from, ...(!isOpen && { '--to': to }) }
  const kind = [
    'bar',
    `kind-${row.kind}`,
    row.state !== 'ended' && `is-${row.state}`,
    row.isError && 'is-failed',
    row.isPersonWait && 'is-wait',
  ]
  return (
    <>
      <i class={kind.filter(Boolean).join(' ')} style={style} />
      <span class={`label ${labelSide({ startAt: row.startAt, endAt: endOf(row, now.peek()) }, view)}`} style={style}>
        <Duration row={row} />{' '}
        {row.outcome !== undefined && row.outcome.tone !== 'ok' && <Outcome outcome={row.outcome} />}
      </span>
    </>
  )
}

function FoldBars({ visible: { row }, view, fold }: RowProps & { readonly fold: Fold }): JSX.Element {
  const stretches = foldRanges(fold, view.rows)
  const extent = rangeOf(stretches)
  const kind = { '--kind': `var(--kind-${row.kind})` }
  return (
    <>
      {stretches.map(stretch => (
        <i key={stretch.startAt} class={`bar is-fold kind-${row.kind}`} style={{ ...kind, ...barOf(stretch, view) }} />
      ))}
      <span class={`label ${labelSide(extent, view)}`} style={barOf(extent, view)}>
        {`${humanDuration(fold.totalMillis)}, longest ${humanDuration(fold.longestMillis)}`}{' '}
        {row.outcome !== undefined && row.outcome.tone !== 'ok' && <Outcome outcome={row.outcome} />}
      </span>
    </>
  )
}

function barOf({ startAt, endAt }: TimeRange, view: TraceView) {
  return { '--from': startAt - view.startAt, '--to': endAt - view.startAt }
}

function Duration({ row }: { readonly row: SpanRow }): JSX.Element {
  if (row.state === 'open') return <Since at={row.startAt} />
  if (row.state === 'owner-dead') return <>left open</>
  return <>{humanDuration(Math.max(0, row.endAt - row.startAt))}</>
}

function labelSide({ startAt, endAt }: TimeRange, view: TraceView): string {
  const until = view.turn.state === 'open' ? now.peek() : Math.max(view.lastAt, view.startAt + 1)
  const length = Math.max(1, until - view.startAt)
  const [from, to] = [(startAt - view.startAt) / length, (endAt - view.startAt) / length]
  if (to < 0.78) return 'is-behind'
  return from > 0.22 ? 'is-before' : 'is-on'
}

import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { Outcome, Since } from './elements.tsx'
import { percent, shortCount } from './formats.ts'
import { KindIcon, kindName } from './icons.tsx'
import { pathPartOf } from './path-parts.ts'
import { now } from './state.ts'
import { ticksOf } from './ticks.ts'
import type { ShownTime } from './time-range.ts'
import type { TimeScale } from './time-scale.ts'
import { type TreeMove, treeMove, type VisibleRow, windowOf } from './tree-model.ts'
import {
  foldRanges,
  type GroupMark,
  type ParallelGroup,
  type RetryWait,
  rangeOf,
  rowMarks,
  type TimeRange,
} from './waterfall.ts'

/** Equal to `--row` in the style sheet. With a fixed height, a list of any length stays cheap. */
const ROW_HEIGHT = 28
const MAX_TICKS = 7

interface TreeProps {
  readonly view: TraceView
  readonly time: ShownTime
  readonly visible: readonly VisibleRow[]
  readonly active: string
  readonly hits: ReadonlySet<string>
  readonly look: TurnLook
  readonly move: (what: TreeMove) => void
}

export function TreeRows(props: TreeProps): JSX.Element {
  const { view, visible, active, hits, look, move } = props
  const { scale } = props.time
  const box = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, height: 1_000 })
  const marks = useMemo(() => rowMarks(view, look.path), [view, look.path])
  const at = visible.findIndex(({ row }) => row.id === active)
  useTimeStyles(props)
  useWheel(box, props)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])
  useScroll(box, setScroll)
  useScrollToActive(box, at, active)
  useScrollToRange(box, props)
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
      <Axis {...props} />
      <div class="rows" role="presentation" style={{ '--count': visible.length }}>
        <Breaks {...props} />
        {places.map(place => {
          const each = visible[place] as VisibleRow
          return (
            <TreeRow
              key={each.row.id}
              domId={rowId(each)}
              place={place}
              visible={each}
              view={view}
              scale={scale}
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

/**
 * Sets the visible range of the bars in a rule for their cells, so that neither zoom nor a growing bar renders rows. Styles of the
 * tree would be inherited by all cells, and cost three times as much in each frame.
 */
function useTimeStyles({ time: { scale, shown }, view }: TreeProps): void {
  useLayoutEffect(() => {
    const sheet = new CSSStyleSheet()
    document.adoptedStyleSheets.push(sheet)
    const { style } = sheet.cssRules[sheet.insertRule('.tree .bar-cell {}')] as CSSStyleRule
    const stop = effect(() => {
      const { from, to } = shown.value
      style.setProperty('--start', String(from))
      style.setProperty('--span', String(to - from))
      style.setProperty('--now', String(scale.position(now.value - view.startAt)))
    })
    return () => {
      stop()
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter(each => each !== sheet)
    }
  }, [scale, shown, view])
}

/** Ctrl and the wheel zoom around the pointer. The browser would zoom the page. */
function useWheel(box: { readonly current: HTMLElement | null }, { time }: TreeProps): void {
  useEffect(() => {
    const element = box.current
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey) return
      event.preventDefault()
      const bars = element?.querySelector('.axis .bar-cell')?.getBoundingClientRect()
      const share = bars === undefined ? 0.5 : Math.min(1, Math.max(0, (event.clientX - bars.left) / bars.width))
      const { from, to } = time.shown.value
      time.show(time.scale.zoom({ from, to }, Math.exp(event.deltaY * WHEEL_ZOOM), from + share * (to - from)))
    }
    element?.addEventListener('wheel', turn, { passive: false })
    return () => element?.removeEventListener('wheel', turn)
  }, [time.shown])
}

const WHEEL_ZOOM = 0.002

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
    const isAbove = top < element.scrollTop
    if (!isAbove && bottom <= element.scrollTop + height) return
    const distance = isAbove ? element.scrollTop - top : bottom - element.scrollTop - height
    // A step scrolls by a row. After a jump, the row stands in the middle, with those around it.
    if (distance > ROW_HEIGHT) element.scrollTop = top - (height - ROW_HEIGHT) / 2
    else element.scrollTop = isAbove ? top : bottom - height
  }, [active])
}

/** Scrolls to the first row that begins or ends in a newly chosen time, unless one is in view. */
function useScrollToRange(
  box: { readonly current: HTMLElement | null },
  { look: { range }, view, visible }: TreeProps,
): void {
  useEffect(() => {
    const element = box.current
    if (range === undefined || element === null) return
    const [from, to] = range.map(time => time + view.startAt) as [number, number]
    const isIn = ({ row: { startAt, endAt } }: VisibleRow): boolean =>
      (startAt > from && startAt < to) || (endAt > from && endAt < to)
    const top = Math.ceil(element.scrollTop / ROW_HEIGHT)
    const first = visible.findIndex(isIn)
    const isInView = visible.slice(top, top + Math.floor(element.clientHeight / ROW_HEIGHT) - 1).some(isIn)
    if (first >= 0 && !isInView) element.scrollTop = first * ROW_HEIGHT
  }, [range?.join()])
}

const HEADS = ['Duration', 'Tokens', 'Cached', 'Cost'] as const

function Axis({ time: { scale, shown } }: TreeProps): JSX.Element {
  const idle = scale.breaks.reduce((sum, { from, to }) => sum + to - from, 0)
  return (
    <div class="axis cells" role="presentation" aria-hidden="true">
      <span class="one-line">{idle > 0 && `// ${humanDuration(idle)} idle, compressed`}</span>
      {HEADS.map(head => (
        <span key={head} class={`figure-cell is-${head.toLowerCase()}`}>
          {head}
        </span>
      ))}
      <div class="bar-cell">
        {ticksOf(shown.value, MAX_TICKS, scale).map(({ at, text }) => (
          <span key={at} class="tick" style={{ '--from': at }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}

function Breaks({ time: { scale } }: TreeProps): JSX.Element | null {
  if (scale.breaks.length === 0) return null
  return (
    <div class="breaks cells" role="presentation" aria-hidden="true">
      <div class="bar-cell">
        {scale.breaks.map(({ from, length }) => (
          <i
            key={from}
            class="bar break"
            style={{ '--from': scale.position(from), '--to': scale.position(from) + length }}
          />
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
  readonly scale: TimeScale
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
    'row cells',
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
      style={{ '--place': place, '--depth': Math.min(row.depth, MAX_INDENT), '--group': group?.depth ?? 0 }}
      onClick={() => move({ do: 'details', id: row.id })}
      onDblClick={({ target }) => (target as Element).closest('.bar-cell') && move({ do: 'fit', id: row.id })}
    >
      <NameCell {...props} />
      <Figures {...props} />
      <Bars {...props} />
    </div>
  )
}

/** Deeper rows share one indent, so that names keep room. */
const MAX_INDENT = 24

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
      <span class="unseen">{kindName(row.kind)} </span>
      {fold !== undefined && <span class="times">×{fold.rows.length}</span>}
      <span class="name one-line">{row.name}</span>
      {row.attempt !== undefined && <span class="chip attempt">{row.attempt}</span>}
      {group?.isFirst === true && <Parallel group={group.group} />}
      {row.hint !== undefined && (
        <span class="hint one-line" title={row.hint}>
          {row.hint.slice(0, MAX_HINT)}
        </span>
      )}
      {!isOpen && fold === undefined && hiddenCount > 0 && <Hidden row={row} count={hiddenCount} />}
      <span class={isNotable(row) ? 'chip' : 'unseen'}>
        <Outcome outcome={row.outcome} />
        {row.state !== 'ended' && ' open'}
      </span>
      {row.marks?.map(mark => (
        <span key={mark.text} class={`chip tone-${mark.tone}`}>
          {mark.text}
        </span>
      ))}
      {row.childTraces !== undefined && <span class="chip">{countOf(row.childTraces.length, 'child turn')}</span>}
    </div>
  )
}

/** Success and the reason why a request ended are not, except for the verdict of a guard. */
function isNotable({ kind, outcome }: SpanRow): boolean {
  return outcome !== undefined && outcome.tone !== 'ok' && (outcome.tone !== 'dim' || kind === 'hook')
}

/** Of a row, for screen readers: the details have all of it. */
const MAX_HINT = 200
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
  const errorCount = row.sum?.errorCount ?? 0
  return (
    <span class="chip">
      {humanCount(count)} hidden
      {errorCount > 0 && <span class="tone-error">, {countOf(errorCount, 'error')}</span>}
    </span>
  )
}

/** An open request's own figures, and the sums of all below for any other row. */
function figuresOf({ row, isOpen, fold }: VisibleRow): { tokens: string; cached: string; cost: string } {
  const isOwn = row.sum === undefined || (isOpen && (row.kind === 'api' || row.kind === 'auxiliary'))
  const { input = 0, output = 0, cached = 0, cost = 0 } = isOwn ? row : (row.sum ?? {})
  if (fold !== undefined || input + output === 0) return { tokens: '', cached: '', cost: '' }
  return {
    tokens: `${shortCount(input)} → ${shortCount(output)}`,
    cached: cached > 0 ? percent(Math.min(1, cached / input)) : '',
    cost: cost > 0 ? humanCost(cost) : '',
  }
}

function Figures({ visible }: RowProps): JSX.Element {
  const { row, fold } = visible
  const duration = fold === undefined ? <Duration row={row} /> : humanDuration(fold.totalMillis)
  return (
    <>
      {Object.entries({ duration, ...figuresOf(visible) }).map(([name, figure]) => (
        <span key={name} class={`figure-cell is-${name}`}>
          {figure}
          {figure !== '' && name !== 'duration' && <span class="unseen"> {name}</span>}
        </span>
      ))}
    </>
  )
}

function Bars(props: RowProps): JSX.Element {
  const { view, scale, wait, path } = props
  return (
    <div class="bar-cell">
      {wait !== undefined && (
        <i
          class="bar gap"
          title={`${humanDuration(wait.endAt - wait.startAt)} between the attempts`}
          style={barOf(wait, view, scale)}
        />
      )}
      {spanBars(props)}
      {path.map(section => (
        <i
          key={section.startAt}
          class={`bar path path-part is-${pathPartOf(section, view.rows)}`}
          style={barOf(section, view, scale)}
        />
      ))}
    </div>
  )
}

function spanBars({ visible: { row, fold }, view, scale }: RowProps): JSX.Element[] {
  const ranges = fold ? foldRanges(fold, view.rows) : [rangeOf([row])]
  const classes = [
    'bar',
    `kind-${row.kind}`,
    fold !== undefined && 'is-fold',
    row.state !== 'ended' && `is-${row.state}`,
    row.isError && 'is-failed',
    row.isPersonWait && 'is-wait',
  ]
  return ranges.map(range => {
    const { '--from': from, '--to': to } = barOf(range, view, scale)
    const end = row.state === 'open' ? {} : { '--to': to }
    const style = { '--kind': `var(--kind-${row.kind})`, '--from': from, ...end }
    return <i key={from} class={classes.filter(Boolean).join(' ')} style={style} />
  })
}

function barOf({ startAt, endAt }: TimeRange, view: TraceView, scale: TimeScale) {
  return { '--from': scale.position(startAt - view.startAt), '--to': scale.position(endAt - view.startAt) }
}

function Duration({ row }: { readonly row: SpanRow }): JSX.Element {
  if (row.state === 'open') return <Since at={row.startAt} />
  if (row.state === 'owner-dead') return <>left open</>
  return <>{humanDuration(Math.max(0, row.endAt - row.startAt))}</>
}

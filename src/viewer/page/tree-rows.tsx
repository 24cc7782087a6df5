import { effect } from '@preact/signals'
import type { JSX, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import { rangeOf, type TimeRange } from '../../reading/time-ranges.ts'
import type { TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { KIND_NAMES, KindIcon, Lasted, Outcome } from './elements.tsx'
import { parallelText, percent, shortCount } from './formats.ts'
import { pathColour } from './path-parts.ts'
import { now } from './state.ts'
import type { ShownTime } from './time-range.ts'
import { ticksOf } from './time-scale.ts'
import { type TreeMove, treeMove, type VisibleRow, windowOf } from './tree-model.ts'
import { foldRanges, type GroupMark, type RowMarks, rowMarks } from './waterfall.ts'

/** Equal to `--row` in the style sheet. With a fixed height, a list of any length stays cheap. */
const ROW_HEIGHT = 28
const MAX_TICKS = 7
const WHEEL_ZOOM = 0.002

interface TreeProps {
  readonly view: TraceView
  readonly time: ShownTime
  readonly visible: readonly VisibleRow[]
  readonly active: string
  readonly hits: ReadonlySet<string>
  readonly look: TurnLook
  readonly move: (what: TreeMove) => void
}

type Box = RefObject<HTMLDivElement>

export function TreeRows(props: TreeProps) {
  const { view, time, visible, active, look, move } = props
  const box = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, height: 1_000 })
  const marks = useMemo(() => rowMarks(view, look.path), [view, look.path])
  const at = visible.findIndex(({ row }) => row.id === active)
  const watchScroll = (): void =>
    setScroll({ top: box.current?.scrollTop ?? 0, height: box.current?.clientHeight ?? 1_000 })
  useTimeStyles(props)
  useEffect(() => {
    box.current?.focus({ preventScroll: true })
    const observer = new ResizeObserver(watchScroll)
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  useScrollToActive(box, at, active)
  useScrollToRange(box, props)
  const { from, to } = windowOf(visible.length, { ...scroll, rowHeight: ROW_HEIGHT })
  const places = Array.from({ length: to - from }, (_, index) => from + index)
  // The active row is always rendered: the tree's focus refers to it.
  if (at >= 0 && (at < from || at >= to)) places.push(at)
  const pageRows = Math.max(1, Math.floor(scroll.height / ROW_HEIGHT) - 1)
  const press = (event: KeyboardEvent): void => {
    const what = treeMove({ key: event.key, pageRows }, visible, active)
    if (what === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    move(what)
  }
  return (
    <div
      ref={box}
      class={`tree ${look.path === undefined ? '' : 'shows-path'}`}
      role="tree"
      tabIndex={0}
      aria-label="Spans of this turn"
      aria-activedescendant={at >= 0 ? rowId(visible[at] as VisibleRow) : undefined}
      onKeyDown={press}
      onScroll={watchScroll}
      onWheel={event => zoomByWheel(event, time)}
    >
      <Axis time={time} />
      <div class="rows" role="presentation" style={{ '--count': visible.length }}>
        <Breaks time={time} />
        {places.map(place => {
          const each = visible[place] as VisibleRow
          return <TreeRow key={each.row.id} {...props} each={each} place={place} marks={marks} />
        })}
      </div>
    </div>
  )
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
function zoomByWheel(event: JSX.TargetedWheelEvent<HTMLElement>, { scale, shown, show }: ShownTime): void {
  if (!event.ctrlKey) return
  event.preventDefault()
  const bars = event.currentTarget.querySelector('.axis .bar-cell')?.getBoundingClientRect()
  const share = bars === undefined ? 0.5 : Math.min(1, Math.max(0, (event.clientX - bars.left) / bars.width))
  const { from, to } = shown.value
  show(scale.zoom({ from, to }, Math.exp(event.deltaY * WHEEL_ZOOM), from + share * (to - from)))
}

/** Scrolls to the active row when it becomes active, but not when the rows around it change. */
function useScrollToActive(box: Box, at: number, active: string): void {
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
function useScrollToRange(box: Box, { look: { range }, view, visible }: TreeProps): void {
  useEffect(() => {
    const element = box.current
    if (range === undefined || element === null) return
    const [from, to] = range.map(time => time + view.startAt) as [number, number]
    const isIn = ({ row }: VisibleRow): boolean => [row.startAt, row.endAt].some(at => at > from && at < to)
    const top = Math.ceil(element.scrollTop / ROW_HEIGHT)
    const first = visible.findIndex(isIn)
    const isInView = visible.slice(top, top + Math.floor(element.clientHeight / ROW_HEIGHT) - 1).some(isIn)
    if (first >= 0 && !isInView) element.scrollTop = first * ROW_HEIGHT
  }, [range?.join()])
}

const HEADS = ['Duration', 'Tokens', 'Cached', 'Cost'] as const

function Axis({ time: { scale, shown } }: Pick<TreeProps, 'time'>) {
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

function Breaks({ time: { scale } }: Pick<TreeProps, 'time'>) {
  return (
    <div class="breaks cells" role="presentation" aria-hidden="true">
      <div class="bar-cell">
        {scale.breaks.map(({ from, length }) => {
          const start = scale.position(from)
          return <i key={from} class="bar break" style={{ '--from': start, '--to': start + length }} />
        })}
      </div>
    </div>
  )
}

type RowProps = TreeProps & Readonly<{ each: VisibleRow; place: number; marks: RowMarks }>

/** Deeper rows share one indent, so that names keep room. */
const MAX_INDENT = 24

function TreeRow(props: RowProps) {
  const { each, place, active, look, hits, marks, move } = props
  const { row, level, position, siblings, isParent, isOpen, fold } = each
  const group = marks.groupOf.get(each.index)
  const isSelected = row.id === look.span
  const classes = [
    'row cells',
    row.id === active && 'is-active',
    hits.has(row.id) && 'is-hit',
    row.isError && 'is-failed',
    group !== undefined && 'in-group',
    marks.pathOf.has(each.index) && 'on-path',
  ]
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys for all of its rows
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and says which row is active
    <div
      id={rowId(each)}
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
      <NameCell each={each} group={group} move={move} />
      {Object.entries(figuresOf(each)).map(([name, figure]) => (
        <span key={name} class={`figure-cell is-${name}`}>
          {figure}
          {figure !== '' && name !== 'duration' && <span class="unseen"> {name}</span>}
        </span>
      ))}
      <Bars {...props} />
    </div>
  )
}

/** Characters of a hint that screen readers get. The details have all of it. */
const MAX_HINT = 200

function NameCell({ each, group, move }: Pick<RowProps, 'each' | 'move'> & { readonly group: GroupMark | undefined }) {
  const { row, isParent, isOpen, hiddenCount, fold } = each
  const isToggle = isParent || fold !== undefined
  const toggle = (event: Event): void => {
    event.stopPropagation()
    move({ do: isOpen ? 'close' : 'open', id: row.id })
  }
  const errorCount = row.sum?.errorCount ?? 0
  const { tone = 'ok' } = row.outcome ?? {}
  // Success and the reason why a request ended are not, except for the verdict of a guard.
  const isNotable = tone !== 'ok' && (tone !== 'dim' || row.kind === 'hook')
  return (
    <div class="name-cell line">
      <span class="twist dim" aria-hidden="true" onClick={isToggle ? toggle : undefined}>
        {isToggle ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <KindIcon kind={row.kind} />
      <span class="unseen">{KIND_NAMES[row.kind]} </span>
      {fold !== undefined && <strong>×{fold.rows.length}</strong>}
      <span class="name one-line">{row.name}</span>
      {row.attempt !== undefined && <span class="chip tone-warn">{row.attempt}</span>}
      {group?.isFirst && <span class="chip parallel one-line">{parallelText(group.group)}</span>}
      {row.hint !== undefined && (
        <span class="hint dim small one-line" title={row.hint}>
          {row.hint.slice(0, MAX_HINT)}
        </span>
      )}
      {!isOpen && fold === undefined && hiddenCount > 0 && (
        <span class="chip">
          {humanCount(hiddenCount)} hidden
          {errorCount > 0 && <span class="tone-error">, {countOf(errorCount, 'error')}</span>}
        </span>
      )}
      <span class={isNotable ? 'chip' : 'unseen'}>
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

/** The row's duration, and an open request's own figures or the sums of all below for any other row. */
function figuresOf({ row, isOpen, fold }: VisibleRow) {
  const own = row.state === 'owner-dead' ? 'left open' : <Lasted {...row} />
  const duration = fold === undefined ? own : humanDuration(fold.totalMillis)
  const isOwn = row.sum === undefined || (isOpen && (row.kind === 'api' || row.kind === 'auxiliary'))
  const { input = 0, output = 0, cached = 0, cost = 0 } = isOwn ? row : (row.sum ?? {})
  if (fold !== undefined || input + output === 0) return { duration, tokens: '', cached: '', cost: '' }
  return {
    duration,
    tokens: `${shortCount(input)} → ${shortCount(output)}`,
    cached: cached > 0 ? percent(Math.min(1, cached / input)) : '',
    cost: cost > 0 ? humanCost(cost) : '',
  }
}

function Bars({ each: { row, fold, index }, view, time: { scale }, marks }: RowProps) {
  const barOf = ({ startAt, endAt }: TimeRange) => ({
    '--from': scale.position(startAt - view.startAt),
    '--to': scale.position(endAt - view.startAt),
  })
  const wait = marks.waitOf.get(index)
  const classes = [
    `bar kind-${row.kind}`,
    fold !== undefined && 'is-fold',
    row.state !== 'ended' && `is-${row.state}`,
    row.isError && 'is-failed',
    row.isPersonWait && 'is-wait',
  ]
  return (
    <div class="bar-cell">
      {wait !== undefined && (
        <i
          class="bar gap"
          title={`${humanDuration(wait.endAt - wait.startAt)} between the attempts`}
          style={barOf(wait)}
        />
      )}
      {(fold ? foldRanges(fold, view.rows) : [rangeOf([row])]).map(range => {
        const { '--from': from, '--to': to } = barOf(range)
        const end = row.state === 'open' ? {} : { '--to': to }
        const style = { '--kind': `var(--kind-${row.kind})`, '--from': from, ...end }
        return <i key={from} class={classes.filter(Boolean).join(' ')} style={style} />
      })}
      {marks.pathOf.get(index)?.map(section => {
        const style = { ...barOf(section), ...pathColour(section.part) }
        return <i key={section.startAt} class="bar path path-part" style={style} />
      })}
    </div>
  )
}

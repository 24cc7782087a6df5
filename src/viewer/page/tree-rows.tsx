import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { rowMarks, timeScale } from './row-marks.ts'
import { now } from './state.ts'
import { type TreeMove, treeMove, type VisibleRow, windowOf } from './tree-model.ts'
import { TreeRow } from './tree-row.tsx'
import { ticksOf } from './waterfall.ts'

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

/** The rows of a turn. Only those in view are rendered. */
export function TreeRows({ view, visible, active, hits, look, move }: TreeProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [scroll, setScroll] = useState({ top: 0, height: 1_000 })
  const marks = useMemo(() => rowMarks(view), [view])
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
      class={`tree ${look.isPath ? 'shows-path' : ''}`}
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

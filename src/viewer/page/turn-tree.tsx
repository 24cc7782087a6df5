import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { countOf } from '../../reading/human-figures.ts'
import { rangeOf } from '../../reading/time-ranges.ts'
import type { TraceView } from '../server/api.ts'
import { type Changes, changedLook, type TurnLook } from './address.ts'
import { insertChildTraces, originOfId } from './child-traces.ts'
import { Divider } from './divider.tsx'
import { Button, Notice, Switch } from './elements.tsx'
import { focusSearch, showKeys } from './keys.tsx'
import { useChildTraces, useSearchHits } from './loading.ts'
import { Minimap } from './minimap.tsx'
import { go } from './navigation.tsx'
import { pathRows, pathSections } from './path-parts.ts'
import { SpanPanel } from './span-panel.tsx'
import { now } from './state.ts'
import { useTextMarks } from './text-marks.ts'
import { type ShownTime, useShownTime } from './time-range.ts'
import { endOf } from './time-scale.ts'
import { closedFolds, closedIds, type TreeMove, visibleRows } from './tree-model.ts'
import { TreeRows } from './tree-rows.tsx'
import { joinWrappers } from './wrapper-chains.ts'

export function Waterfall({ view: own, look }: Pick<TreeState, 'view' | 'look'>) {
  const inside = useChildTraces(look.inside)
  const stored = useMemo(() => insertChildTraces(own, inside), [own, inside])
  const [active, setActive] = useState(look.span ?? own.rows[0]?.id ?? '')
  const hits = useSearchHits(look.find ?? '', own)
  useTextMarks([look.find ?? ''])
  const view = useMemo(
    () => (look.isStored ? stored : joinWrappers(stored, new Set([look.span ?? '', ...hits]))),
    [stored, look.isStored, look.span, hits],
  )
  const { rows } = view
  const visible = useMemo(() => {
    const wanted = new Set([active, ...hits])
    const only = pathRows(view, look.path)
    return visibleRows(rows, { closed: closedIds(rows, look), folds: closedFolds(view, look), wanted, only })
  }, [view, look, active, hits])
  useEffect(() => {
    const first = look.path !== 'all' && look.span === undefined && pathSections(view, look.path).at(0)
    if (first) setActive(rows[first.row]?.id ?? '')
  }, [look.path])
  useLayoutEffect(() => {
    // The row may have been joined with its parent, or filtered out.
    const shown = new Set(visible.map(({ row }) => row.id))
    let row = stored.rows.find(({ id }) => id === active)
    while (row !== undefined && !shown.has(row.id)) row = stored.rows[row.parent]
    if (row !== undefined && row.id !== active) setActive(row.id)
  }, [visible, active])
  const latestLook = useRef(look)
  latestLook.current = look
  const change = (changes: Changes<TurnLook>): void =>
    go({ view: 'turn', traceId: view.turn.traceId, look: changedLook(latestLook.current, changes) }, 'replace')
  const time = useShownTime(stored, look, change)
  const scene: TreeState = { view, look, hits, active, setActive, change, time }
  const move = (what: TreeMove): void => MOVES[what.do](scene, what.id ?? '')
  return (
    <>
      <Toolbar {...scene} move={move} />
      {view.cutCount !== undefined && (
        <Notice>{countOf(view.cutCount, 'more span')} not shown: the turn exceeds the limit of this page.</Notice>
      )}
      <div class={`split ${look.span === undefined ? '' : 'has-panel'}`} style={{ '--tree': `${TREE_SHARE.value}%` }}>
        <div class="timeline stack" style={{ '--names': `${NAMES_SHARE.value}%` }}>
          <Minimap view={stored} time={time} />
          <Divider label="Width of the names" place={NAMES_SHARE} />
          <TreeRows {...scene} visible={visible} hits={new Set(hits)} move={move} />
        </div>
        {look.span !== undefined && <Divider label="Width of the tree" place={TREE_SHARE} />}
        {look.span !== undefined && <SpanPanel {...originOfId(look.span, view)} view={view} move={move} />}
      </div>
    </>
  )
}

/** Percent of the width. They outlive the view. */
const NAMES_SHARE = signal(34)
const TREE_SHARE = signal(64)
const ZOOM = 1.5
const PAN = 0.25

interface TreeState {
  readonly time: ShownTime
  readonly view: TraceView
  readonly look: TurnLook
  readonly hits: readonly string[]
  readonly active: string
  setActive(id: string): void
  change(changes: Changes<TurnLook>): void
}

const MOVES: { readonly [Do in TreeMove['do']]: (scene: TreeState, id: string) => void } = {
  go: (scene, id) => {
    scene.setActive(id)
    if (scene.look.span !== undefined) scene.change({ span: id })
  },
  details: (scene, id) => {
    scene.setActive(id)
    scene.change({ span: id })
  },
  open: ({ view, look, change }, id) => {
    const row = view.rows.find(each => each.id === id)
    const wasClosed = closedIds(view.rows, look).has(id)
    const isFold = closedFolds(view, look).some(fold => view.rows[fold.rows[0] ?? 0] === row)
    const children = wasClosed || isFold ? undefined : row?.childTraces
    change({
      closed: without(look.closed, id),
      ...(look.isClosed && wasClosed && { opened: [...(look.opened ?? []), id] }),
      ...(isFold && { unfolded: [...(look.unfolded ?? []), id] }),
      ...(children && { inside: [...(look.inside ?? []), ...children] }),
    })
  },
  close: ({ look, change, setActive }, id) => {
    // The active row is never hidden, so the closed row becomes active.
    setActive(id)
    if (look.isClosed) change({ opened: without(look.opened, id) })
    else change({ closed: [...(without(look.closed, id) ?? []), id] })
  },
  openAll: ({ change }) => change({ closed: undefined, isClosed: undefined, opened: undefined }),
  closeAll: ({ view, change, setActive }) => {
    setActive(view.rows[0]?.id ?? '')
    change({ closed: undefined, isClosed: true, opened: undefined })
  },
  leave: ({ change }) => {
    change({ span: undefined })
    focusTree()
  },
  zoomIn: ({ time: { scale, shown, show } }) => show(scale.zoom(shown.value, 1 / ZOOM)),
  zoomOut: ({ time: { scale, shown, show } }) => show(scale.zoom(shown.value, ZOOM)),
  panLeft: ({ time }) => pan(time, -PAN),
  panRight: ({ time }) => pan(time, PAN),
  showAll: ({ time }) => time.show(undefined),
  fit: ({ view, look, time: { scale, show } }, id) => {
    const index = view.rows.findIndex(row => row.id === id)
    const fold = closedFolds(view, look).find(({ rows }) => rows[0] === index)
    const calls = (fold?.rows ?? [index]).flatMap(each => view.rows[each] ?? [])
    if (calls.length === 0) return
    const { startAt, endAt } = rangeOf(calls.map(row => ({ startAt: row.startAt, endAt: endOf(row, now.peek()) })))
    const [from, to] = [startAt, endAt].map(at => scale.position(at - view.startAt)) as [number, number]
    show(scale.fit(from - (to - from) / 20, to + (to - from) / 20))
  },
  find: focusSearch,
  nextHit: scene => goToHit(scene, 1),
  previousHit: scene => goToHit(scene, -1),
  help: showKeys,
}

function focusTree(): void {
  document.querySelector<HTMLElement>('[role=tree]')?.focus()
}

function goToHit(scene: TreeState, step: number): void {
  const { hits, active } = scene
  if (hits.length === 0) return
  const at = hits.indexOf(active)
  const next = at === -1 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length
  MOVES.go(scene, hits[next] ?? '')
}

function pan({ scale, shown, show }: ShownTime, share: number): void {
  const { from, to } = shown.value
  show(scale.clamp(from + share * (to - from), to - from))
}

function without(ids: readonly string[] | undefined, id: string): readonly string[] | undefined {
  const rest = ids?.filter(each => each !== id)
  return rest?.length === 0 ? undefined : rest
}

function Toolbar({ view, look, hits, active, change, move }: TreeState & { readonly move: (what: TreeMove) => void }) {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') move({ do: event.shiftKey ? 'previousHit' : 'nextHit' })
    if (event.key !== 'Escape') return
    change({ find: undefined })
    focusTree()
  }
  const isFolded = look.isUnfolded !== true && look.unfolded === undefined
  return (
    <div class="toolbar line flow" role="toolbar" aria-label="Turn">
      <label class="find">
        <span class="unseen">Find in this turn</span>
        <input
          type="search"
          placeholder="Find in this turn  /"
          spellcheck={false}
          value={look.find ?? ''}
          onInput={event => change({ find: event.currentTarget.value || undefined })}
          onKeyDown={onKey}
        />
      </label>
      {look.find !== undefined && (
        <span class="hits line small" role="status">
          {hits.length === 0 ? 'no matches' : `${hits.indexOf(active) + 1 || '–'} of ${hits.length}`}
          <Button aria-label="Previous match" onClick={() => move({ do: 'previousHit' })}>
            ↑
          </Button>
          <Button aria-label="Next match" onClick={() => move({ do: 'nextHit' })}>
            ↓
          </Button>
        </span>
      )}
      <Button onClick={() => move({ do: 'openAll' })}>Open all</Button>
      <Button onClick={() => move({ do: 'closeAll' })}>Close all</Button>
      <Switch isOn={look.isStored === true} onSwitch={isOn => change({ isStored: isOn ? true : undefined })}>
        Spans as stored
      </Switch>
      {view.folds.length > 0 && (
        <Switch isOn={isFolded} onSwitch={isOn => change({ isUnfolded: isOn ? undefined : true, unfolded: undefined })}>
          Fold repeats
        </Switch>
      )}
      <Button aria-label="Keys" onClick={showKeys}>
        ?
      </Button>
    </div>
  )
}

import type { Fold, SpanRow, TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { withAncestors } from './path-parts.ts'

type Place = 'index' | 'level' | 'position' | 'siblings' | 'hiddenCount'

export interface VisibleRow extends Readonly<Record<Place, number>> {
  readonly row: SpanRow
  readonly isParent: boolean
  readonly isOpen: boolean
  readonly fold?: Fold
}

export interface TreeLook {
  readonly closed: ReadonlySet<string>
  readonly folds: readonly Fold[]
  /** Ids that a link, the search or the cursor points at. Their folds and ancestors are always open. */
  readonly wanted: ReadonlySet<string>
  /** Indexes of the rows that a filter shows, with their ancestors. */
  readonly only?: ReadonlySet<number> | undefined
}

/** Per row, the index after the last row below it. Parents come before their children, so one backward pass is enough. */
export function subtreeEnds(rows: readonly SpanRow[]): number[] {
  const ends = rows.map((_, index) => index + 1)
  for (let index = rows.length - 1; index >= 0; index--) {
    const parent = rows[index]?.parent ?? -1
    if (parent >= 0) ends[parent] = Math.max(ends[parent] ?? 0, ends[index] ?? 0)
  }
  return ends
}

export function closedIds(rows: readonly SpanRow[], { closed, isClosed, opened }: TurnLook): ReadonlySet<string> {
  if (isClosed !== true) return new Set(closed)
  const ends = subtreeEnds(rows)
  const parents = rows.filter((row, index) => row.depth > 0 && (ends[index] ?? 0) > index + 1)
  const ids = new Set(parents.map(({ id }) => id))
  for (const id of opened ?? []) ids.delete(id)
  return ids
}

export function closedFolds({ rows, folds }: TraceView, { isUnfolded, unfolded }: TurnLook): readonly Fold[] {
  if (isUnfolded === true) return []
  const opened = new Set(unfolded)
  return folds.filter(fold => !opened.has(rows[fold.rows[0] ?? 0]?.id ?? ''))
}

export function visibleRows(rows: readonly SpanRow[], look: TreeLook): VisibleRow[] {
  const ends = subtreeEnds(rows)
  const isWanted = ({ id }: SpanRow): boolean => look.wanted.has(id)
  const holdsWanted = withAncestors(rows, look.wanted.size === 0 ? [] : rows.filter(isWanted).map(row => row.parent))
  const folded = look.folds.filter(fold => !rows.slice(fold.rows[0], endOf(fold, ends)).some(isWanted))
  const folds = new Map(folded.map(fold => [fold.rows[0], fold]))
  const visible: VisibleRow[] = []
  const counts = new Map<number, number>()
  for (let index = 0; index < rows.length; ) {
    const row = rows[index] as SpanRow
    const end = ends[index] ?? index + 1
    const fold = folds.get(index)
    if (look.only !== undefined && !(fold?.rows ?? [index]).some(each => look.only?.has(each))) {
      index = fold === undefined ? end : endOf(fold, ends)
      continue
    }
    const position = (counts.get(row.parent) ?? 0) + 1
    counts.set(row.parent, position)
    const isParent = end > index + 1 || row.childTraces !== undefined
    const isOpen = end > index + 1 && fold === undefined && (!look.closed.has(row.id) || holdsWanted.has(index))
    const next = fold === undefined ? (isOpen ? index + 1 : end) : endOf(fold, ends)
    const hiddenCount = next - index - 1
    const place = { row, index, level: row.depth + 1, position, siblings: 0, isParent, isOpen, hiddenCount }
    visible.push(fold === undefined ? place : { ...place, fold })
    index = next
  }
  return visible.map(each => ({ ...each, siblings: counts.get(each.row.parent) ?? 1 }))
}

function endOf(fold: Fold, ends: readonly number[]): number {
  const last = fold.rows.at(-1) ?? 0
  return ends[last] ?? last + 1
}

export type TreeMove = Readonly<{ do: (typeof ACTIONS)[keyof typeof ACTIONS] | 'go' | 'open' | 'close'; id?: string }>

const ACTIONS = {
  Enter: 'details',
  ' ': 'details',
  '*': 'openAll',
  ']': 'openAll',
  '[': 'closeAll',
  Escape: 'leave',
  '/': 'find',
  n: 'nextHit',
  N: 'previousHit',
  '?': 'help',
  w: 'zoomIn',
  s: 'zoomOut',
  a: 'panLeft',
  d: 'panRight',
  f: 'fit',
  '0': 'showAll',
} as const
/** The others are about the whole tree. */
const ROW_ACTIONS: ReadonlySet<string> = new Set(['details', 'fit'])

function rowAfter(key: string, at: number, rows: readonly VisibleRow[], pageRows: number): number | undefined {
  const current = rows[at]
  if (key === 'ArrowDown' || key === 'j') return at + 1
  if (key === 'ArrowUp' || key === 'k') return at - 1
  if (key === 'PageDown') return at + pageRows
  if (key === 'PageUp') return at - pageRows
  if (key === 'Home' || key === 'g') return 0
  if (key === 'End' || key === 'G') return rows.length - 1
  if (key === 'ArrowRight' && (current?.isOpen ?? true)) return at + 1
  const parent = rows.slice(0, at).findLastIndex(({ level }) => level < (current?.level ?? 0))
  return key === 'ArrowLeft' && !current?.isOpen && parent >= 0 ? parent : undefined
}

export function treeMove(
  { key, pageRows }: { readonly key: string; readonly pageRows: number },
  rows: readonly VisibleRow[],
  active: string,
): TreeMove | undefined {
  const at = rows.findIndex(({ row }) => row.id === active)
  const current = rows[at]
  const next = rowAfter(key, at, rows, pageRows)
  const found = next === undefined ? undefined : rows[Math.min(rows.length - 1, Math.max(0, next))]
  if (found !== undefined) return { do: 'go', id: found.row.id }
  if (key === 'ArrowLeft' && current?.isOpen) return { do: 'close', id: active }
  if (key === 'ArrowRight' && (current?.isParent || current?.fold)) return { do: 'open', id: active }
  const name = key.replace(/^[WASD]$/, letter => letter.toLowerCase())
  if (!Object.hasOwn(ACTIONS, name)) return undefined
  const action = ACTIONS[name as keyof typeof ACTIONS]
  if (!ROW_ACTIONS.has(action)) return { do: action }
  return current && { do: action, id: active }
}

type Scroll = Readonly<{ top: number; height: number; rowHeight: number }>

export function windowOf(count: number, { top, height, rowHeight }: Scroll): { from: number; to: number } {
  const from = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN)
  return { from: Math.min(from, count), to: Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN) }
}

/** Extra rows around the window, so that fast scrolling shows no gap. */
const OVERSCAN = 12

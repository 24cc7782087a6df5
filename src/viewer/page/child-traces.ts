import type { Fold, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import { subtreeEnds } from './tree-model.ts'

export type RowOrigin = Readonly<{ traceId: string; spanId: string }>

type PlacedRow = SpanRow & { readonly origin?: RowOrigin }

export function originOf(row: PlacedRow, { turn }: TraceView): RowOrigin {
  return row.origin ?? { traceId: turn.traceId, spanId: row.id }
}

export function originOfId(rowId: string, view: TraceView): RowOrigin {
  const row = view.rows.find(({ id }) => id === rowId)
  return row === undefined ? { traceId: view.turn.traceId, spanId: rowId } : originOf(row, view)
}

/**
 * Inserts the turns of child sessions below the spans that started them, as if all were one trace. The ids of inserted rows are
 * prefixed with their trace id, so that they are unique in sound traces. The critical path is that of the outer turn alone.
 *
 * @param inside by trace id; each is inserted once, even if several spans claim to have started it
 */
export function insertChildTraces(view: TraceView, inside: ReadonlyMap<string, TraceView>): TraceView {
  if (inside.size === 0) return view
  const rows: SpanRow[] = []
  const folds: Fold[] = []
  const path: PathSectionRow[] = []
  const left = new Map(inside)
  left.delete(view.turn.traceId)
  const putIn = (from: TraceView, parent: number, depth: number): void => {
    const { traceId } = from.turn
    const places: number[] = []
    const waiting = new Map<number, { readonly place: number; readonly views: readonly TraceView[] }[]>()
    const ends = subtreeEnds(from.rows)
    const putWaiting = (index: number): void => {
      // Subtrees with the same end: the innermost comes first.
      for (const { place, views } of (waiting.get(index) ?? []).toReversed()) {
        for (const each of views) putIn(each, place, (rows[place]?.depth ?? 0) + 1)
      }
    }
    for (const [index, row] of from.rows.entries()) {
      putWaiting(index)
      const place = rows.length
      places.push(place)
      const views = [...new Set(row.childTraces)].flatMap(id => left.get(id) ?? [])
      for (const { turn } of views) left.delete(turn.traceId)
      const end = ends[index] ?? index + 1
      if (views.length > 0) waiting.set(end, [...(waiting.get(end) ?? []), { place, views }])
      const above = row.parent === -1 ? parent : (places[row.parent] ?? parent)
      const placed = { ...without(row, views), parent: above, depth: row.depth + depth }
      const origin = { traceId, spanId: row.id }
      const inserted: PlacedRow = { ...placed, id: `${traceId}/${row.id}`, origin }
      rows.push(from === view ? placed : inserted)
    }
    putWaiting(from.rows.length)
    for (const fold of from.folds) folds.push({ ...fold, rows: fold.rows.map(index => places[index] ?? 0) })
    if (from === view) for (const section of from.path) path.push({ ...section, row: places[section.row] ?? 0 })
  }
  putIn(view, -1, 0)
  return { ...view, rows, folds, path }
}

function without({ childTraces, ...row }: SpanRow, put: readonly TraceView[]): SpanRow {
  const ids = new Set(put.map(({ turn }) => turn.traceId))
  const rest = childTraces?.filter(id => !ids.has(id)) ?? []
  return rest.length === 0 ? row : { ...row, childTraces: rest }
}

import type { PathPartName } from '../../reading/critical-path.ts'
import type { PathSectionRow, SpanRow, TraceView } from '../server/api.ts'

const COLOURS = { model: 'kind-api', you: 'wait', tools: 'kind-tool', guards: 'kind-hook', untraced: 'strong-line' }

export function pathColour(part: PathPartName): { readonly '--kind': string } {
  return { '--kind': `var(--${COLOURS[part]})` }
}

export type PathFilter = PathPartName | 'all'

export function pathSections({ path }: TraceView, filter: PathFilter | undefined): readonly PathSectionRow[] {
  if (filter === undefined) return []
  return filter === 'all' ? path : path.filter(section => section.part === filter)
}

export function pathRows(view: TraceView, filter: PathFilter | undefined): ReadonlySet<number> | undefined {
  if (filter === undefined || filter === 'all') return undefined
  const rows = pathSections(view, filter).map(({ row }) => row)
  return withAncestors(view.rows, rows)
}

export function withAncestors(rows: readonly SpanRow[], indexes: readonly number[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const start of indexes) {
    for (let index = start; index >= 0 && !all.has(index); index = rows[index]?.parent ?? -1) all.add(index)
  }
  return all
}

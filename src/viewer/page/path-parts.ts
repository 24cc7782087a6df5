import { PATH_PARTS, type PathPartName, pathPartOf } from '../../reading/critical-path.ts'
import type { PathSectionRow, SpanRow, TraceView } from '../server/api.ts'

const COLOURS = { model: 'kind-api', you: 'wait', tools: 'kind-tool', guards: 'kind-hook', untraced: 'strong-line' }

export function pathColour(part: PathPartName): { readonly '--kind': string } {
  return { '--kind': `var(--${COLOURS[part]})` }
}

export type PathFilter = PathPartName | 'all'

export function sectionPart({ part, row }: PathSectionRow, rows: readonly SpanRow[]): PathPartName {
  return pathPartOf(part, rows[row]?.kind)
}

export function pathSums(view: TraceView): (readonly [PathPartName, number])[] {
  const millisOf = (part: PathPartName): number =>
    pathSections(view, part).reduce((sum, { startAt, endAt }) => sum + endAt - startAt, 0)
  return PATH_PARTS.map(part => [part, millisOf(part)] as const).filter(([, millis]) => millis > 0)
}

export function pathSections({ path, rows }: TraceView, filter: PathFilter | undefined): readonly PathSectionRow[] {
  if (filter === undefined) return []
  return filter === 'all' ? path : path.filter(section => sectionPart(section, rows) === filter)
}

export function pathRows(view: TraceView, filter: PathFilter | undefined): ReadonlySet<number> | undefined {
  if (filter === undefined || filter === 'all') return undefined
  const sections = pathSections(view, filter)
  return withAncestors(
    view.rows,
    sections.map(({ row }) => row),
  )
}

export function withAncestors(rows: readonly SpanRow[], indexes: readonly number[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const start of indexes) {
    for (let index = start; index >= 0 && !all.has(index); index = rows[index]?.parent ?? -1) all.add(index)
  }
  return all
}

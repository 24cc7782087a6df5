import type { PathSectionRow, SpanRow, TraceView } from '../server/api.ts'

/** In this order on the page. `you`: waits for the user; `untraced`: time between the steps of an agent. */
export const PATH_PARTS = ['model', 'you', 'tools', 'guards', 'untraced'] as const
export type PathPartName = (typeof PATH_PARTS)[number]
const COLOURS = { model: 'kind-api', you: 'wait', tools: 'kind-tool', guards: 'kind-hook', untraced: 'strong-line' }

export function pathColour(part: PathPartName): { readonly '--kind': string } {
  return { '--kind': `var(--${COLOURS[part]})` }
}

export type PathFilter = PathPartName | 'all'

export function pathPartOf({ part, row }: PathSectionRow, rows: readonly SpanRow[]): PathPartName {
  if (part !== 'work') return part === 'person' ? 'you' : 'untraced'
  const kind = rows[row]?.kind
  if (kind === 'api' || kind === 'auxiliary') return 'model'
  return kind === 'hook' ? 'guards' : 'tools'
}

/** The critical path's milliseconds by part, without empty parts. */
export function pathSums(view: TraceView): (readonly [PathPartName, number])[] {
  const millisOf = (part: PathPartName): number =>
    pathSections(view, part).reduce((sum, { startAt, endAt }) => sum + endAt - startAt, 0)
  return PATH_PARTS.map(part => [part, millisOf(part)] as const).filter(([, millis]) => millis > 0)
}

export function pathSections({ path, rows }: TraceView, filter: PathFilter | undefined): readonly PathSectionRow[] {
  if (filter === undefined) return []
  return filter === 'all' ? path : path.filter(section => pathPartOf(section, rows) === filter)
}

/** The rows that a filter shows: those of its sections, and their ancestors. Undefined if it hides none. */
export function pathRows(view: TraceView, filter: PathFilter | undefined): ReadonlySet<number> | undefined {
  if (filter === undefined || filter === 'all') return undefined
  const sections = pathSections(view, filter)
  return withAncestors(
    view.rows,
    sections.map(({ row }) => row),
  )
}

/** The indexes of these rows and of all rows above them. */
export function withAncestors(rows: readonly SpanRow[], indexes: readonly number[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const start of indexes) {
    for (let index = start; index >= 0 && !all.has(index); index = rows[index]?.parent ?? -1) all.add(index)
  }
  return all
}

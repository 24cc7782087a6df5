import type { SpanRow, TraceView } from '../server/api.ts'

/** Kinds that may be the only child of a kind without being a step of their own. */
const WRAPPED: { readonly [Kind in SpanRow['kind']]?: readonly string[] } = {
  tool: ['subagent', 'session'],
  subagent: ['session', 'llm'],
  session: ['llm'],
}

/**
 * Joins each chain of wrappers (tool, sub-agent, agent, loop), of which each is the only child of the one before, into one row
 * with the id of the first: `Task → reviewer · haiku-4-5`. Ids in `wanted` keep rows of their own.
 */
export function joinWrappers(view: TraceView, wanted: ReadonlySet<string>): TraceView {
  const childCounts = new Map<number, number>()
  for (const { parent } of view.rows) childCounts.set(parent, (childCounts.get(parent) ?? 0) + 1)
  const rows: SpanRow[] = []
  const places: number[] = []
  const lifts: number[] = []
  for (const [index, row] of view.rows.entries()) {
    const { parent } = row
    const holder = view.rows[parent]
    const isJoined =
      holder !== undefined &&
      childCounts.get(parent) === 1 &&
      WRAPPED[holder.kind]?.includes(row.kind) === true &&
      !wanted.has(row.id)
    const place = places[parent] ?? -1
    lifts.push((lifts[parent] ?? 0) + (isJoined ? 1 : 0))
    places.push(isJoined ? place : rows.length)
    if (isJoined) rows[place] = joined(rows[place] as SpanRow, row)
    else rows.push({ ...row, parent: place, depth: row.depth - (lifts[index] ?? 0) })
  }
  if (rows.length === view.rows.length) return view
  const folds = view.folds.map(fold => ({ ...fold, rows: fold.rows.map(index => places[index] ?? 0) }))
  const path = view.path.map(section => ({ ...section, row: places[section.row] ?? 0 }))
  return { ...view, rows, folds, path }
}

function joined(head: SpanRow, inner: SpanRow): SpanRow {
  const children = [...(head.childTraces ?? []), ...(inner.childTraces ?? [])]
  const marks = [...(head.marks ?? []), ...(inner.marks ?? [])]
  const failed = head.isError ? head : inner.isError ? inner : undefined
  const outcome = failed?.outcome ?? head.outcome
  return {
    ...head,
    name: joinedName(head, inner),
    kind: inner.kind === 'subagent' ? inner.kind : head.kind,
    startAt: Math.min(head.startAt, inner.startAt),
    endAt: Math.max(head.endAt, inner.endAt),
    state: head.state === 'ended' ? inner.state : head.state,
    ...(head.hint === undefined && inner.hint !== undefined && { hint: inner.hint }),
    ...(outcome !== undefined && { outcome }),
    ...(failed !== undefined && { isError: true as const }),
    ...(marks.length > 0 && { marks }),
    ...(children.length > 0 && { childTraces: children }),
  }
}

function joinedName({ name, kind }: SpanRow, inner: SpanRow): string {
  const head = name.includes(' → ') || kind === 'session' ? name : shortName(name)
  const text = shortName(inner.name)
  if (inner.kind === 'llm') return `${head} · ${text.replace(/^claude-/, '')}`
  // The agent of a sub-agent repeats its name, or has none.
  return inner.kind === 'session' && (text === 'agent' || head.endsWith(text)) ? head : `${head} → ${text}`
}

/** `tool.Task` -> `Task`, `invoke_agent reviewer` -> `reviewer` */
function shortName(name: string): string {
  return name.replace(/^(?:tool|subagent|agent|llm|execute_tool|invoke_agent)[. ](?=.)/, '')
}

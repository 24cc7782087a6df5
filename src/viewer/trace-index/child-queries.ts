import { displayText } from '../../reading/display-text.ts'
import type { ChildTraces } from './answers.ts'
import type { Database } from './database.ts'

const MAX_TRACES = 2_000

/** Finds the traces that spans of this trace started: the traces of delegated sessions, and traces with a parent link to it. */
export function queryChildren({ database }: { readonly database: Database }, traceId: string): ChildTraces[] {
  const children = delegated(database, traceId)
  const known = new Set(children.flatMap(({ traceIds }) => traceIds))
  for (const { span_id, key, trace_id } of linked(database, traceId)) {
    if (known.has(trace_id)) continue
    const sibling = children.find(({ spanId, sessionId }) => spanId === span_id && sessionId === key)
    if (sibling === undefined) children.push({ spanId: span_id, sessionId: key, traceIds: [trace_id] })
    else sibling.traceIds.push(trace_id)
  }
  return children
}

interface GrowingChild extends ChildTraces {
  readonly traceIds: string[]
}

function delegated(database: Database, traceId: string): GrowingChild[] {
  const delegations = database.all<{ span_id: string; named: string }>(
    `SELECT span_id, max(kept.text) AS named FROM span JOIN kept ON kept.id = span.named
     WHERE trace = (SELECT id FROM trace WHERE trace_id = ?) AND kept.text LIKE '%.subagent.child\\_session\\_id"%' ESCAPE '\\'
     GROUP BY span_id ORDER BY min(start_at)`,
    traceId,
  )
  return delegations.flatMap(({ span_id, named }) => {
    const sessionId = childSessionIn(named)
    const traces = database.all<{ trace_id: string }>(
      `SELECT trace_id FROM trace JOIN session ON session.id = trace.session WHERE session.key = ? AND trace_id <> ?
       ORDER BY trace.start_at, trace_id LIMIT ${MAX_TRACES}`,
      sessionId,
      traceId,
    )
    if (sessionId === '' || traces.length === 0) return []
    return [{ spanId: span_id, sessionId, traceIds: traces.map(({ trace_id }) => trace_id) }]
  })
}

function childSessionIn(named: string): string {
  const [, names] = JSON.parse(named) as [null, Record<string, string>]
  const [, id = ''] = Object.entries(names).find(([name]) => name.endsWith('.subagent.child_session_id')) ?? []
  return displayText(id)
}

interface LinkedTrace {
  readonly span_id: string
  readonly trace_id: string
  readonly key: string
}

/** Traces of processes that received the id of the span that started them. */
function linked(database: Database, traceId: string): LinkedTrace[] {
  const rows = database.all<{ name: string; trace_id: string; key: string }>(
    `SELECT used.name AS name, trace_id, session.key AS key FROM used JOIN trace ON trace.id = used.trace
     JOIN session ON session.id = trace.session WHERE used.kind = 'parent' AND used.name >= ? AND used.name < ? AND trace_id <> ?
     ORDER BY trace.start_at, trace_id LIMIT ${MAX_TRACES}`,
    `${traceId}:`,
    `${traceId};`,
    traceId,
  )
  return rows.map(({ name, ...rest }) => ({ ...rest, span_id: name.slice(traceId.length + 1) }))
}

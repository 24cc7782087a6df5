import { segment, type Tone } from '../../reading/segments.ts'
import type { Tokens } from '../../reading/span-facts.ts'
import type {
  Openness,
  OpenTrace,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SessionRow,
  Sums,
  TextMatch,
  TurnRow,
} from './answers.ts'
import type { Database, Value } from './database.ts'
import { placeOfRow, readSpanAt } from './read-places.ts'
import { findText, type TraceCondition } from './search.ts'
import type { Titles } from './titles.ts'
import { dollars, HAS_INPUT, HAS_OUTPUT, type TraceRow } from './trace-row.ts'
import { excerptOf, type SearchedText, searchedText } from './words.ts'

const DEFAULT_LIMIT = 50
const MAX_ROWS = 500
const MAX_TURNS = 2_000
const LAST_CHARACTER = '\u{10ffff}'

export interface Asked {
  readonly database: Database
  readonly titles: Titles
  readonly open: ReadonlyMap<string, OpenTrace>
}

interface StoredSession {
  readonly id: number
  readonly key: string
  readonly start_at: number
  readonly last_at: number
  readonly turns: number
  readonly spans: number
  readonly errors: number
  readonly running: number
  readonly has_tokens: number
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly nanodollars: number
  readonly paid: number
  readonly unpaid: number
  readonly waited: number
  readonly last_trace: number
}

type StoredTrace = TraceRow & { readonly id: number; readonly trace_id: string; readonly session: number }

export async function querySessions(asked: Asked, query: SessionQuery): Promise<SessionPage> {
  const { database } = asked
  const condition = conditionOf(query)
  const text = query.text === undefined ? undefined : searchedText(query.text)
  const found = text && findText(database, text, condition)
  const conditions = found === undefined ? condition : among([...found.places.keys()], condition)
  const limit = Math.min(MAX_ROWS, Math.max(1, Math.floor(query.limit ?? DEFAULT_LIMIT)))
  const sessions = selectSessions(database, conditions, found !== undefined, query.before, limit + 1)
  const rows: SessionRow[] = []
  for (const session of sessions.slice(0, limit)) {
    const match = found && text && (await matchIn(database, session.id, found.places, text))
    rows.push(await sessionRow(asked, session, match))
  }
  const last = sessions.length > limit ? sessions[limit - 1] : undefined
  const next = last === undefined ? undefined : `${last.last_at}~${last.key}`
  return { rows, next, searchedSince: found?.endedAt === undefined ? undefined : startOf(database, found.endedAt) }
}

export async function querySession(asked: Asked, id: string): Promise<SessionDetail | undefined> {
  const { database } = asked
  const session = database.get<StoredSession>('SELECT * FROM session WHERE key = ?', id)
  if (session === undefined) return undefined
  const traces = database.all<StoredTrace>(
    `SELECT * FROM trace WHERE session = ? ORDER BY start_at DESC, trace_id DESC LIMIT ${MAX_TURNS}`,
    session.id,
  )
  const turns: TurnRow[] = []
  for (const trace of traces.reverse()) turns.push(await turnRow(asked, trace, session.key))
  return { session: await sessionRow(asked, session, undefined), turns }
}

function conditionOf({ agent, model, tool, outcome, sinceAt, untilAt }: SessionQuery): TraceCondition {
  const parts: TraceCondition[] = []
  const add = (sql: string, ...values: readonly Value[]): void => {
    parts.push({ sql, values })
  }
  if (agent !== undefined) add('trace.agent = ?', agent)
  for (const [kind, name] of [['model', model] as const, ['tool', tool] as const]) {
    const used = 'trace.id IN (SELECT trace FROM used WHERE kind = ? AND name >= ? AND name < ?)'
    if (name !== undefined) add(used, kind, name, name + LAST_CHARACTER)
  }
  if (outcome === 'error') add('trace.errors > 0')
  else if (outcome === 'running') add('trace.running > 0')
  else if (outcome !== undefined) add('trace.outcome = ?', outcome)
  if (sinceAt !== undefined) add('(trace.last_at >= ? OR trace.running > 0)', sinceAt)
  if (untilAt !== undefined) add('trace.start_at <= ?', untilAt)
  return all(parts)
}

function all(parts: readonly TraceCondition[]): TraceCondition {
  return {
    sql: parts.length === 0 ? 'TRUE' : parts.map(({ sql }) => sql).join(' AND '),
    values: parts.flatMap(({ values }) => values),
  }
}

function among(traces: readonly number[], condition: TraceCondition): TraceCondition {
  return all([{ sql: 'trace.id IN (SELECT value FROM json_each(?))', values: [JSON.stringify(traces)] }, condition])
}

function selectSessions(
  database: Database,
  { sql, values }: TraceCondition,
  isFew: boolean,
  before: string | undefined,
  limit: number,
): StoredSession[] {
  const [match, last = '', key = ''] = /^(-?[\d.e+-]+)~(.*)$/s.exec(before ?? '') ?? []
  const behind = match === undefined ? 'TRUE' : '(session.last_at < ? OR (session.last_at = ? AND session.key < ?))'
  const cursor = match === undefined ? [] : [Number(last), Number(last), key]
  // With few matching traces, their sessions are looked up. Otherwise one of the newest sessions is likely to match.
  const few = `session.id IN (SELECT trace.session FROM trace WHERE ${sql})`
  const many = sql === 'TRUE' ? sql : `EXISTS (SELECT 1 FROM trace WHERE trace.session = session.id AND ${sql})`
  const has = isFew ? few : many
  return database.all<StoredSession>(
    `SELECT * FROM session WHERE turns > 0 AND ${behind} AND ${has} ORDER BY last_at DESC, key DESC LIMIT ?`,
    ...cursor,
    ...(sql === 'TRUE' ? [] : values),
    limit,
  )
}

async function matchIn(
  database: Database,
  session: number,
  places: ReadonlyMap<number, number>,
  text: SearchedText,
): Promise<TextMatch | undefined> {
  const traces = database.all<{ id: number }>('SELECT id FROM trace WHERE session = ?', session)
  const place = Math.max(0, ...traces.flatMap(({ id }) => places.get(id) ?? []))
  const where = placeOfRow(database, place)
  const span = where && (await readSpanAt(where))
  return span && { traceId: span.traceId, spanId: span.spanId, excerpt: excerptOf(span, text) }
}

function startOf(database: Database, place: number): number | undefined {
  return database.get<{ start_at: number }>('SELECT start_at FROM span WHERE place = ?', place)?.start_at
}

async function sessionRow(
  { database, titles, open }: Asked,
  session: StoredSession,
  match: TextMatch | undefined,
): Promise<SessionRow> {
  const last = database.get<StoredTrace>('SELECT * FROM trace WHERE id = ?', session.last_trace)
  const agents = 'SELECT agent FROM trace WHERE session = ? AND agent <> ? ORDER BY start_at DESC LIMIT 1'
  return {
    ...sumsOf(session),
    ...(session.running > 0 ? opennessOf(runningTraces(database, session.id), open) : ENDED),
    id: session.key,
    agent: last?.agent || (database.get<{ agent: string }>(agents, session.id, '')?.agent ?? ''),
    model: last?.model ?? '',
    turnCount: session.turns,
    title: last === undefined ? '' : await titles.of(last),
    outcome: last && outcomeOf(last),
    match,
  }
}

async function turnRow({ titles, open }: Asked, trace: StoredTrace, sessionId: string): Promise<TurnRow> {
  return {
    ...sumsOf(trace),
    ...(trace.running > 0 ? opennessOf([trace.trace_id], open) : ENDED),
    traceId: trace.trace_id,
    sessionId,
    agent: trace.agent,
    model: trace.model,
    turnNumber: trace.turn ?? undefined,
    isBackground: trace.background === 1,
    durationMillis: trace.duration,
    outcome: outcomeOf(trace),
    title: await titles.of(trace),
    subagentTokens: trace.subagent,
    auxiliaryTokens: trace.auxiliary,
    requestCount: trace.requests,
    toolCount: trace.tools,
    cacheHitRate: trace.input > 0 ? Math.min(1, trace.cached / trace.input) : undefined,
  }
}

type Summed = Pick<
  StoredSession,
  | 'start_at'
  | 'last_at'
  | 'spans'
  | 'errors'
  | 'running'
  | 'has_tokens'
  | 'input'
  | 'output'
  | 'cached'
  | 'nanodollars'
  | 'paid'
  | 'unpaid'
  | 'waited'
>

export function tokensOf({
  has_tokens,
  input,
  output,
}: Pick<TraceRow, 'has_tokens' | 'input' | 'output'>): Tokens | undefined {
  if (has_tokens === 0) return undefined
  return {
    input: (has_tokens & HAS_INPUT) === 0 ? undefined : input,
    output: (has_tokens & HAS_OUTPUT) === 0 ? undefined : output,
  }
}

function sumsOf(row: Summed): Sums {
  return {
    startAt: row.start_at,
    lastAt: row.last_at,
    spanCount: row.spans,
    errorCount: row.errors,
    runningCount: row.running,
    tokens: tokensOf(row),
    cachedTokens: row.cached,
    cost: { dollars: dollars(row.nanodollars), paidCount: row.paid, unknownCount: row.unpaid },
    waitedMillis: row.waited,
  }
}

const ENDED: Openness = { state: 'ended', isOwnerAlive: false, isWaitingForPerson: false }

function runningTraces(database: Database, session: number): string[] {
  const rows = database.all<{ trace_id: string }>(
    'SELECT trace_id FROM trace WHERE session = ? AND running > 0',
    session,
  )
  return rows.map(({ trace_id }) => trace_id)
}

/** The state of running traces. A trace whose owner was not checked yet counts as open. */
function opennessOf(traceIds: readonly string[], open: Asked['open']): Openness {
  const known = traceIds.flatMap(id => open.get(id) ?? [])
  const live = known.filter(({ state }) => state === 'open')
  const isOpen = live.length > 0 || known.length < traceIds.length
  return {
    state: isOpen ? 'open' : 'owner-dead',
    isOwnerAlive: live.some(({ isOwnerAlive }) => isOwnerAlive),
    isWaitingForPerson: live.some(({ waitingSince }) => waitingSince !== undefined),
  }
}

function outcomeOf({ outcome, tone }: Pick<TraceRow, 'outcome' | 'tone'>) {
  return outcome === null ? undefined : segment((tone ?? 'dim') as Tone, outcome)
}

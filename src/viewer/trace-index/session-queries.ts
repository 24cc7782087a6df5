import { displayText } from '../../reading/display-text.ts'
import { SpanAttributes } from '../../reading/span-attributes.ts'
import { factsOf } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { sumCosts } from '../../reading/trace-summary.ts'
import type {
  ChildTraces,
  FacetName,
  Facets,
  Openness,
  OpenTraceRow,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SessionRow,
  SessionSort,
  Sums,
  TextMatch,
} from './answers.ts'
import { LocalCalendar } from './local-calendar.ts'
import { eachLine } from './log-file.ts'
import { findTexts, parseSearchText, type SearchedLog, type SearchText } from './search.ts'
import { cutText, type Figure, type StoredTurn, type TraceFacts, unpackFigures } from './trace-facts.ts'
import { byPlace, type TraceEntry, type TraceTable } from './trace-table.ts'

const DEFAULT_LIMIT = 50
const MAX_ROWS = 500
const MAX_TURNS = 2_000
const MAX_CHILDREN = 2_000
/** Longer lines are not read for a title. One of 8 MiB takes some 50 ms, once. */
const MAX_TITLE_LINE_BYTES = 8_388_608

export type SessionSource = SearchedLog & Readonly<{ open: ReadonlyMap<string, OpenTraceRow>; now: number }>

type ListedSession = Readonly<{ id: string; traces: readonly TraceEntry[]; rank: number }>

export async function querySessions(source: SessionSource, query: SessionQuery): Promise<SessionPage> {
  const text = query.text === undefined ? undefined : parseSearchText(query.text)
  const accepts = conditionOf(query)
  const found = text && (await findTexts(source, text, entry => entry.facts !== undefined && accepts(entry.facts)))
  const limit = Math.min(MAX_ROWS, Math.max(1, Math.floor(query.limit ?? DEFAULT_LIMIT)))
  const isListed = (entry: TraceEntry): boolean =>
    found === undefined ? accepts(entry.facts as TraceFacts) : found.matches.has(entry)
  const { sort = 'last', isAscending = false } = query
  const direction = isAscending ? -1 : 1
  const all = Array.from(source.table.sessions, ([id, traces]) => ({ id, traces: [...traces] }))
  const listed = all
    .filter(({ traces }) => traces.some(isListed))
    .map(({ id, traces }): ListedSession => {
      const ranks = traces.map(entry => RANKS[sort](turnIn(entry)))
      return { id, traces, rank: ranks.reduce((all, rank) => (sort === 'last' ? Math.max(all, rank) : all + rank)) }
    })
    .sort((a, b) => direction * (b.rank - a.rank || (a.id < b.id ? 1 : -1)))
  const shown = listed.slice(0, limit)
  // The newest match comes first.
  const matches = [...(found?.matches ?? [])]
  const rows = shown.map(session => {
    const [, match] = matches.find(([entry]) => session.traces.includes(entry)) ?? []
    return sessionRow(source, session, match)
  })
  return {
    rows: await withTitles(rows),
    hasMore: listed.length > limit,
    facets: query.hasFacets ? await facetsOf(source, query, text, found?.matches) : undefined,
    searchedSince: found?.searchedSince,
  }
}

export async function querySession(source: SessionSource, id: string): Promise<SessionDetail | undefined> {
  const traces = source.table.sessions.get(id)
  if (traces === undefined) return undefined
  const newestFirst = [...traces].sort((a, b) => newer(turnIn(a), turnIn(b)))
  const turns = newestFirst
    .slice(0, MAX_TURNS)
    .reverse()
    .map(entry => {
      const turn = turnIn(entry)
      const openness = turn.runningCount > 0 ? opennessOf([turn.traceId], source.open) : ENDED
      return { titled: entry, row: { ...turn, ...openness } }
    })
  const [session] = await withTitles([sessionRow(source, { id, traces: newestFirst }, undefined)])
  return session && { session, turns: await withTitles(turns) }
}

/** Finds the traces that spans of this trace started: the traces of delegated sessions, and traces with a parent link to it. */
export function queryChildren({ table }: SessionSource, traceId: string): ChildTraces {
  const children = new Map<string, string[]>()
  const addTurns = (spanId: string, turns: readonly StoredTurn[]): void => {
    const ids = turns.map(turn => turn.traceId).filter(id => id !== traceId)
    if (ids.length > 0) children.set(spanId, [...(children.get(spanId) ?? []), ...ids])
  }
  for (const [spanId, id] of table.traces.get(traceId)?.facts?.delegations ?? []) {
    addTurns(spanId, sortedByStart(table.sessions.get(displayText(id)) ?? []))
  }
  const known = new Set([...children.values()].flat())
  const prefix = `${traceId}:`
  const linked = [...table.traces.values()].filter(({ facts }) =>
    facts?.parents.some(parent => parent.startsWith(prefix)),
  )
  for (const turn of sortedByStart(linked)) {
    const parents = table.traces.get(turn.traceId)?.facts?.parents ?? []
    const spanId = parents.find(parent => parent.startsWith(prefix))?.slice(prefix.length) ?? ''
    if (!known.has(turn.traceId)) addTurns(spanId, [turn])
  }
  return children
}

function sortedByStart(traces: Iterable<TraceEntry>): StoredTurn[] {
  return Array.from(traces, turnIn)
    .sort((a, b) => newer(b, a))
    .slice(0, MAX_CHILDREN)
}

export async function titleOf(entry: TraceEntry): Promise<string> {
  await readTitles([entry])
  return entry.title ?? ''
}

export async function sessionTitle(table: TraceTable, id: string): Promise<string> {
  const traces = table.sessions.get(id)
  return traces === undefined ? '' : titleOf(firstTrace(traces))
}

type Untitled<Row> = Readonly<{ row: Row; titled: TraceEntry; latest?: TraceEntry }>

async function withTitles<Row>(
  rows: readonly Untitled<Row>[],
): Promise<(Row & { readonly title: string; readonly latestTitle?: string })[]> {
  await readTitles(new Set(rows.flatMap(({ titled, latest = titled }) => [titled, latest])))
  return rows.map(({ row, titled, latest = titled }) => {
    return { ...row, title: titled.title ?? '', ...(latest !== titled && { latestTitle: latest.title ?? '' }) }
  })
}

/** Reads missing titles, all at once: the prompt, or else the name of the span that would contain it; one line, printable. */
async function readTitles(entries: Iterable<TraceEntry>): Promise<void> {
  const lines = [...entries].flatMap(entry => {
    const { prompt } = entry.facts ?? {}
    const isRead = entry.title !== undefined || prompt === undefined || prompt.line.length > MAX_TITLE_LINE_BYTES
    return isRead ? [] : [{ ...prompt.line, nth: prompt.nth, entry }]
  })
  await eachLine(lines.sort(byPlace), ({ nth, entry }, spans) => {
    const span = spans[nth]
    entry.title = span === undefined ? '' : titleIn(span, entry.facts?.namespace ?? '')
  })
}

function titleIn(span: StoredSpan, namespace: string): string {
  const { hint, name } = factsOf({ span, children: [], orphan: false, elsewhere: false, awaiting: false }, namespace)
  return cutText(new SpanAttributes(span, namespace).text('input.value') || hint || name)
}

type TurnCondition = (facts: TraceFacts) => boolean

const FACETS: Readonly<Record<FacetName, (facts: TraceFacts) => readonly string[]>> = {
  project: ({ turn }) => [turn.project],
  branch: ({ turn }) => [turn.branch],
  agent: ({ turn }) => [turn.agent],
  model: ({ models }) => models,
  tool: ({ tools }) => tools,
  outcome: ({ turn }) => [
    turn.runningCount > 0 ? 'running' : (turn.outcome?.text ?? ''),
    ...(turn.errorCount > 0 ? ['error'] : []),
  ],
}
const FACET_NAMES = Object.keys(FACETS) as FacetName[]
const MAX_FACET_VALUES = 12

function conditionOf({ model, tool, sinceAt, untilAt, weekHour, timeZone, ...exact }: SessionQuery): TurnCondition {
  const conditions: TurnCondition[] = []
  for (const name of ['project', 'branch', 'agent', 'outcome'] as const) {
    const wanted = exact[name]
    if (wanted !== undefined) conditions.push(facts => FACETS[name](facts).includes(wanted))
  }
  if (model !== undefined) conditions.push(({ models }) => models.some(name => name.startsWith(model)))
  if (tool !== undefined) conditions.push(({ tools }) => tools.some(name => name.startsWith(tool)))
  if (sinceAt !== undefined) conditions.push(({ turn }) => turn.lastAt >= sinceAt || turn.runningCount > 0)
  if (untilAt !== undefined) conditions.push(({ turn }) => turn.startAt <= untilAt)
  if (weekHour !== undefined) {
    const calendar = new LocalCalendar(timeZone)
    const isThen = ({ slot }: Figure): boolean => calendar.timeOf(slot).weekHour === weekHour
    conditions.push(({ figures }) => unpackFigures(figures).some(isThen))
  }
  return facts => conditions.every(holds => holds(facts))
}

/** @param listed the traces that contain the text and meet all conditions; undefined without a text */
async function facetsOf(
  source: SessionSource,
  query: SessionQuery,
  text: SearchText | undefined,
  listed: ReadonlyMap<TraceEntry, TextMatch> | undefined,
): Promise<Facets> {
  const isNarrowed = FACET_NAMES.some(name => query[name] !== undefined)
  const { sinceAt, untilAt } = query
  const isInTime = conditionOf({ ...(sinceAt !== undefined && { sinceAt }), ...(untilAt !== undefined && { untilAt }) })
  // The other values of a chosen facet have traces that are not listed.
  const found =
    isNarrowed && text
      ? await findTexts(source, text, ({ facts }) => facts !== undefined && isInTime(facts))
      : undefined
  const matches = found?.matches ?? listed
  const facets = FACET_NAMES.map(name => {
    const { [name]: chosen, ...others } = query
    return { name, chosen, accepts: conditionOf(others), counts: new Map(chosen === undefined ? [] : [[chosen, 0]]) }
  })
  for (const [, traces] of source.table.sessions) {
    for (const { name, accepts, counts } of facets) {
      const values = new Set<string>()
      for (const entry of traces) {
        const facts = entry.facts as TraceFacts
        if (matches?.has(entry) === false || !accepts(facts)) continue
        for (const value of FACETS[name](facts)) values.add(value)
      }
      for (const value of values) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1)
    }
  }
  const shown = facets.map(({ name, chosen, counts }) => {
    const frequent = [...counts].sort(([a, some], [b, more]) => more - some || (a < b ? -1 : 1))
    const kept = frequent.filter(([value], index) => index < MAX_FACET_VALUES || value === chosen)
    return [name, kept.map(([value, count]) => [displayText(value), count])]
  })
  return Object.fromEntries(shown) as Facets
}

const RANKS: Readonly<Record<SessionSort, (turn: StoredTurn) => number>> = {
  turns: () => 1,
  tokens: ({ tokens }) => (tokens?.input ?? 0) + (tokens?.output ?? 0),
  cost: ({ cost }) => cost.dollars,
  waiting: ({ waitedMillis }) => waitedMillis,
  errors: ({ errorCount }) => errorCount,
  last: ({ lastAt }) => lastAt,
}

function turnIn({ facts }: TraceEntry): StoredTurn {
  if (facts === undefined) throw new Error('a trace of a session has facts')
  return facts.turn
}

function newer(a: StoredTurn, b: StoredTurn): number {
  return b.startAt - a.startAt || (a.traceId < b.traceId ? 1 : -1)
}

function backgroundLast(a: TraceEntry, b: TraceEntry): number {
  return Number(turnIn(a).isBackground) - Number(turnIn(b).isBackground)
}

/** The trace that names a session: the first that no timer or hook of the agent started. */
function firstTrace(traces: Iterable<TraceEntry>): TraceEntry {
  const [first] = [...traces].sort((a, b) => backgroundLast(a, b) || newer(turnIn(b), turnIn(a)))
  return first as TraceEntry
}

function sessionRow(
  { open }: SessionSource,
  { id, traces }: Omit<ListedSession, 'rank'>,
  match: TextMatch | undefined,
): Untitled<Omit<SessionRow, 'title'>> {
  const newestFirst = traces.toSorted((a, b) => backgroundLast(a, b) || newer(turnIn(a), turnIn(b)))
  const turns = newestFirst.map(turnIn)
  const [latest] = newestFirst as [TraceEntry]
  const last = turnIn(latest)
  const running = turns.filter(({ runningCount }) => runningCount > 0).map(({ traceId }) => traceId)
  const agents = last.agent === '' ? turns.toSorted(newer).map(({ agent }) => agent) : [last.agent]
  const row = {
    ...sumsOf(turns),
    ...(running.length > 0 ? opennessOf(running, open) : ENDED),
    id,
    agent: agents.find(agent => agent !== '') ?? '',
    model: last.model,
    project: turns.find(({ project }) => project !== '')?.project ?? '',
    branch: turns.find(({ branch }) => branch !== '')?.branch ?? '',
    turnCount: turns.length,
    outcome: last.outcome,
    match,
  }
  return { row, titled: firstTrace(traces), latest }
}

function sumsOf(turns: readonly StoredTurn[]): Sums {
  const sum = (figure: (turn: StoredTurn) => number): number => turns.reduce((all, turn) => all + figure(turn), 0)
  const known = (key: 'input' | 'output'): number | undefined =>
    turns.some(({ tokens }) => tokens?.[key] !== undefined) ? sum(({ tokens }) => tokens?.[key] ?? 0) : undefined
  const tokens = { input: known('input'), output: known('output') }
  return {
    startAt: turns.reduce((first, { startAt }) => Math.min(first, startAt), Number.POSITIVE_INFINITY),
    lastAt: turns.reduce((last, { lastAt }) => Math.max(last, lastAt), Number.NEGATIVE_INFINITY),
    spanCount: sum(({ spanCount }) => spanCount),
    errorCount: sum(({ errorCount }) => errorCount),
    runningCount: sum(({ runningCount }) => runningCount),
    tokens: tokens.input === undefined && tokens.output === undefined ? undefined : tokens,
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    cost: sumCosts(turns.map(({ cost }) => cost)),
    waitedMillis: sum(({ waitedMillis }) => waitedMillis),
  }
}

const ENDED: Openness = { state: 'ended', isOwnerAlive: false, isWaitingForPerson: false }

/** The state of running traces. A trace whose owner was not checked yet counts as open. */
function opennessOf(traceIds: readonly string[], open: SessionSource['open']): Openness {
  const known = traceIds.flatMap(id => open.get(id) ?? [])
  const live = known.filter(({ state }) => state === 'open')
  const isOpen = live.length > 0 || known.length < traceIds.length
  return {
    state: isOpen ? 'open' : 'owner-dead',
    isOwnerAlive: live.some(({ isOwnerAlive }) => isOwnerAlive),
    isWaitingForPerson: live.some(({ waitingSince }) => waitingSince !== undefined),
  }
}

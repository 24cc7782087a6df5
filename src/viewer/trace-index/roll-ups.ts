import type { StoredSpan } from '../../reading/stored-span.ts'
import { putSpan } from '../../reading/trace-forest.ts'
import type { Database, Value } from './database.ts'
import { type Figure, figuresOf } from './figures.ts'
import type { KeptSpans, SpanRow } from './kept-span.ts'
import { inOrder } from './read-places.ts'
import { type PlacedSpan, rowOfTrace, type TraceRow } from './trace-row.ts'

type Names = ReadonlySet<string>
export interface FreshTrace {
  readonly traceId: string
  readonly rows: SpanRow[]
}

/** A range of places; `to` is exclusive. */
export interface Places {
  readonly from: number
  readonly to: number
}

const NO_SPANS: ReadonlyMap<string, PlacedSpan> = new Map()

interface StoredTrace extends TraceRow {
  readonly trace_id: string
  readonly session: number | null
  readonly revision: number
}

const COLUMNS = [
  'namespace',
  'agent',
  'model',
  'turn',
  'background',
  'start_at',
  'last_at',
  'duration',
  'outcome',
  'tone',
  'has_tokens',
  'input',
  'output',
  'subagent',
  'auxiliary',
  'cached',
  'nanodollars',
  'paid',
  'unpaid',
  'spans',
  'errors',
  'running',
  'requests',
  'tools',
  'waited',
  'root',
] as const satisfies readonly (keyof TraceRow)[]
const SAVE_TRACE = `UPDATE trace SET session = ?, revision = ?, ${COLUMNS.map(name => `${name} = ?`).join(', ')} WHERE id = ?`

/**
 * Maintains the sums. The row of a trace depends only on the rows of its spans, and that of a session only on its traces. The
 * order and number of steps therefore make no difference.
 */
export class RollUps {
  readonly #database: Database
  readonly #kept: KeptSpans
  readonly #figures = new Map<string, Figure>()
  readonly #sessions = new Set<number>()

  constructor(database: Database, kept: KeptSpans) {
    this.#database = database
    this.#kept = kept
  }

  /** Call after adding spans: `rows` are all spans of the trace in this range. Most often they are all spans of the trace. */
  added(trace: number, { traceId, rows }: FreshTrace, { from, to }: Places, revision: number): void {
    const others = this.#database.all<SpanRow>(
      'SELECT * FROM span WHERE trace = ? AND (place < ? OR place >= ?)',
      ...[trace, from, to],
    )
    const all = others.length === 0 ? rows : [...others, ...rows]
    this.#change(trace, traceId, { before: others, after: all }, revision)
  }

  /** Call before removing the spans in this range. Returns the id of the trace. */
  removed(trace: number, { from, to }: Places, revision: number): string {
    const { trace_id = '' } = this.#database.get<StoredTrace>('SELECT trace_id FROM trace WHERE id = ?', trace) ?? {}
    const all = this.#database.all<SpanRow>('SELECT * FROM span WHERE trace = ?', trace)
    const after = all.filter(({ place }) => place < from || place >= to)
    this.#change(trace, trace_id, { before: all, after }, revision)
    return trace_id
  }

  /** Call at the end of a transaction. */
  flush(): void {
    const figures = [...this.#figures.values()]
    for (const figure of figures) this.#saveFigure(figure)
    if (figures.some(({ count, input }) => count < 0 || input < 0)) {
      this.#database.run('DELETE FROM figure WHERE count = 0 AND input = 0 AND output = 0 AND nanodollars = 0')
    }
    for (const session of this.#sessions) this.#sumUp(session)
    this.forget()
  }

  /** Call after a rollback. */
  forget(): void {
    this.#figures.clear()
    this.#sessions.clear()
  }

  #spansOf(traceId: string, rows: readonly SpanRow[]): ReadonlyMap<string, PlacedSpan> {
    if (rows.length === 0) return NO_SPANS
    const spans = new Map<string, StoredSpan>()
    const placed = new Map<StoredSpan, PlacedSpan>()
    for (const row of inOrder(this.#database, rows)) {
      const span = this.#kept.read(traceId, row)
      placed.set(span, { span, place: row.place, names: this.#kept.namesOf(row) })
      putSpan(spans, span)
    }
    const found = new Map<string, PlacedSpan>()
    for (const [id, span] of spans) found.set(id, placed.get(span) as PlacedSpan)
    return found
  }

  #change(
    trace: number,
    traceId: string,
    rows: { readonly before: readonly SpanRow[]; readonly after: readonly SpanRow[] },
    revision: number,
  ): void {
    const before = this.#spansOf(traceId, rows.before)
    const after = this.#spansOf(traceId, rows.after)
    if (before.size > 0) this.#takeBack(trace, before)
    const [had, has] = [namesIn(before.values()), namesIn(after.values())]
    this.#eachOther(had, has, 'DELETE FROM used WHERE kind = ? AND name = ? AND trace = ?', trace)
    this.#eachOther(has, had, 'INSERT OR IGNORE INTO used (kind, name, trace) VALUES (?, ?, ?)', trace)
    if (after.size === 0) this.#database.run('DELETE FROM trace WHERE id = ?', trace)
    else this.#save(trace, traceId, after, revision)
  }

  #takeBack(trace: number, before: ReadonlyMap<string, PlacedSpan>): void {
    const stored = this.#database.get<StoredTrace>('SELECT * FROM trace WHERE id = ?', trace)
    if (stored === undefined || stored.session === null) return
    for (const figure of figuresOf(before, stored)) this.#add(figure, -1)
    this.#sessions.add(stored.session)
  }

  #eachOther(names: Names, others: Names, sql: string, trace: number): void {
    for (const each of names) {
      if (others.has(each)) continue
      const [kind = '', ...name] = each.split(':')
      this.#database.run(sql, kind, name.join(':'), trace)
    }
  }

  #save(trace: number, traceId: string, spans: ReadonlyMap<string, PlacedSpan>, revision: number): void {
    const { row, sessionId } = rowOfTrace(traceId, spans)
    const session = this.#sessionOf(sessionId === '' ? `trace:${traceId}` : sessionId)
    this.#sessions.add(session)
    const values = COLUMNS.map((name): Value => row[name])
    this.#database.run(SAVE_TRACE, session, revision, ...values, trace)
    for (const figure of figuresOf(spans, row)) this.#add(figure, 1)
  }

  #sessionOf(key: string): number {
    const find = 'SELECT id FROM session WHERE key = ?'
    const known = this.#database.get<{ id: number }>(find, key)
    if (known !== undefined) return known.id
    this.#database.run('INSERT INTO session (key) VALUES (?)', key)
    return this.#database.get<{ id: number }>(find, key)?.id ?? 0
  }

  #add(figure: Figure, sign: 1 | -1): void {
    const { day, kind, agent, name, outcome, bucket } = figure
    const key = JSON.stringify([day, kind, agent, name, outcome, bucket])
    const sum = this.#figures.get(key)
    this.#figures.set(key, {
      ...figure,
      count: (sum?.count ?? 0) + sign * figure.count,
      failed: (sum?.failed ?? 0) + sign * figure.failed,
      input: (sum?.input ?? 0) + sign * figure.input,
      output: (sum?.output ?? 0) + sign * figure.output,
      cached: (sum?.cached ?? 0) + sign * figure.cached,
      nanodollars: (sum?.nanodollars ?? 0) + sign * figure.nanodollars,
    })
  }

  #saveFigure(figure: Figure): void {
    const { day, kind, agent, name, outcome, bucket, count, failed, input, output, cached, nanodollars } = figure
    if (count === 0 && failed === 0 && input === 0 && output === 0 && cached === 0 && nanodollars === 0) return
    this.#database.run(
      `INSERT INTO figure VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count, failed = failed + excluded.failed,
       input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached,
       nanodollars = nanodollars + excluded.nanodollars`,
      ...[day, kind, agent, name, outcome, bucket, count, failed, input, output, cached, nanodollars],
    )
  }

  #sumUp(session: number): void {
    this.#database.run(
      `UPDATE session SET (start_at, last_at, turns, spans, errors, running, has_tokens, input, output, cached, nanodollars,
         paid, unpaid, waited) = (SELECT min(start_at), max(last_at), count(*), sum(spans), sum(errors), sum(running),
         max(has_tokens & 1) | max(has_tokens & 2), sum(input), sum(output), sum(cached), sum(nanodollars), sum(paid), sum(unpaid), sum(waited)
         FROM trace WHERE trace.session = session.id),
       last_trace = (SELECT id FROM trace WHERE trace.session = session.id ORDER BY background, start_at DESC, trace_id DESC LIMIT 1)
       WHERE id = ?`,
      session,
    )
    this.#database.run('DELETE FROM session WHERE id = ? AND turns = 0', session)
  }
}

function namesIn(placed: Iterable<PlacedSpan>): Names {
  const names = new Set<string>()
  for (const span of placed) for (const name of span.names) names.add(name)
  return names
}

import type { Database, Value } from './database.ts'
import { MAX_LINE, readLine } from './log-file.ts'
import { placeFinder, type SpanPlace } from './read-places.ts'
import { reading } from './segments.ts'
import { fold, holdsAll, type SearchedText, searchableText } from './words.ts'

export interface TraceCondition {
  readonly sql: string
  readonly values: readonly Value[]
}

export interface Found {
  readonly places: ReadonlyMap<number, number>
  /** The place at which an incomplete search stopped; undefined if it is complete. */
  readonly endedAt: number | undefined
}

const MAX_MATCHES = 10_000
/** Limits for reading the log, for texts that the index cannot find. */
const MAX_READ_BYTES = 33_554_432
const MAX_READ_TRACES = 500
const MAX_ROWS = 200_000
const ROWS_AT_ONCE = 4_000

/** Searches the word index. If that finds nothing or cannot search for the text, reads the traces that meet the condition. */
export function findText(database: Database, text: SearchedText, condition: TraceCondition): Found {
  const found = text.match === undefined ? undefined : findWords(database, text.match, condition)
  return found !== undefined && found.places.size > 0 ? found : findByReading(database, text, condition)
}

interface MatchRow {
  readonly place: number
  readonly trace: number
}

function findWords(database: Database, match: string, { sql, values }: TraceCondition): Found {
  const rows = database.all<MatchRow & { readonly isWanted: number }>(
    `SELECT span.place AS place, span.trace AS trace, (${sql}) AS isWanted
     FROM (SELECT rowid AS place FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${MAX_MATCHES}) AS matching
     CROSS JOIN span ON span.place = matching.place CROSS JOIN trace ON trace.id = span.trace`,
    ...values,
    match,
  )
  const least = rows.reduce((first, { place }) => Math.min(first, place), Number.POSITIVE_INFINITY)
  const places = newestOf(rows.filter(({ isWanted }) => isWanted === 1))
  return { places, endedAt: rows.length < MAX_MATCHES ? undefined : least }
}

function newestOf(rows: readonly MatchRow[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>()
  for (const { place, trace } of rows) places.set(trace, Math.max(place, places.get(trace) ?? 0))
  return places
}

interface ReadRow extends MatchRow {
  readonly nth: number
  readonly length: number
}

function findByReading(database: Database, { pieces }: SearchedText, { sql, values }: TraceCondition): Found {
  const places = new Map<number, number>()
  const find = placeFinder(database)
  const reader = new LineMemory()
  for (let [to, looked] = [Number.MAX_SAFE_INTEGER, 0]; ; looked += ROWS_AT_ONCE) {
    const from = placeBefore(database, to)
    if (from === undefined) return { places, endedAt: undefined }
    if (looked >= MAX_ROWS) return { places, endedAt: to }
    // CROSS JOIN fixes the join order: rows come by place, without sorting.
    const rows = database.all<ReadRow>(
      `SELECT span.place AS place, span.trace AS trace, nth, length FROM span CROSS JOIN trace ON trace.id = span.trace
       WHERE span.place >= ? AND span.place < ? AND ${sql} ORDER BY span.place DESC`,
      ...[from, to, ...values],
    )
    for (const row of rows) {
      if (reader.bytes > MAX_READ_BYTES || places.size >= MAX_READ_TRACES) return { places, endedAt: row.place }
      const place = places.has(row.trace) ? undefined : find(row)
      if (place !== undefined && reader.textsAt(place, pieces)[row.nth] === true) places.set(row.trace, row.place)
    }
    to = from
  }
}

function placeBefore(database: Database, to: number): number | undefined {
  const sql = `SELECT min(place) AS place FROM (SELECT place FROM span WHERE place < ? ORDER BY place DESC LIMIT ${ROWS_AT_ONCE})`
  return database.get<{ place: number | null }>(sql, to)?.place ?? undefined
}

/** The line read last, because one line contains several spans. */
class LineMemory {
  bytes = 0
  #key = ''
  #holds: readonly boolean[] = []

  textsAt({ path, offset, length }: SpanPlace, pieces: readonly string[]): readonly boolean[] {
    const key = `${path}:${offset}`
    if (key === this.#key) return this.#holds
    this.#key = key
    this.bytes += length
    const bytes = length > MAX_LINE ? undefined : reading(path, file => file.bytes(offset, offset + length))
    this.#holds = bytes === undefined || !mayHold(bytes, pieces) ? [] : spansThatHold(bytes, pieces)
    return this.#holds
  }
}

/** A cheap check before parsing, which costs most. Text that JSON may escape cannot be searched for this way. */
function mayHold(bytes: Buffer, pieces: readonly string[]): boolean {
  const text = fold(bytes.toString('utf8'))
  return text.includes('\\u') || pieces.every(piece => text.includes(JSON.stringify(piece).slice(1, -1)))
}

function spansThatHold(bytes: Buffer, pieces: readonly string[]): readonly boolean[] {
  const entry = readLine(bytes)
  if (entry === undefined || !('spans' in entry)) return []
  return [...entry.running, ...entry.spans].map(span => holdsAll(fold(searchableText(span)), pieces))
}

import type { Database, Value } from './database.ts'
import { LONGEST_LINE, readLine } from './log-file.ts'
import { placeFinder, type SpanPlace } from './read-places.ts'
import { reading } from './segments.ts'
import { fold, holdsAll, type SearchedText, searchableText } from './words.ts'

/** Which traces are looked at: a condition on `trace`, and its values. */
export interface TraceCondition {
  readonly sql: string
  readonly values: readonly Value[]
}

/** Traces in which a text stands. */
export interface Found {
  /** Trace → the newest place of it. */
  readonly places: ReadonlyMap<number, number>
  /** Where the search was ended before its end; undefined when it has come to it. */
  readonly endedAt: number | undefined
}

/** Of places where all words stand, from the newest back. */
const MOST_MATCHES = 10_000
/** What is read to find what the index cannot find. */
const MOST_READ_BYTES = 33_554_432
const MOST_READ_TRACES = 500
/** Of which the condition may leave few. */
const MOST_ROWS = 200_000
const ROWS_AT_ONCE = 4_000

/** By the words of the index; where it finds nothing, or cannot, by reading what the condition leaves. */
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
     FROM (SELECT rowid AS place FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${MOST_MATCHES}) AS matching
     CROSS JOIN span ON span.place = matching.place CROSS JOIN trace ON trace.id = span.trace`,
    ...values,
    match,
  )
  const least = rows.reduce((first, { place }) => Math.min(first, place), Number.POSITIVE_INFINITY)
  const places = newestOf(rows.filter(({ isWanted }) => isWanted === 1))
  return { places, endedAt: rows.length < MOST_MATCHES ? undefined : least }
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
    if (looked >= MOST_ROWS) return { places, endedAt: to }
    // In this order: the rows come as they stand, without being sorted.
    const rows = database.all<ReadRow>(
      `SELECT span.place AS place, span.trace AS trace, nth, length FROM span CROSS JOIN trace ON trace.id = span.trace
       WHERE span.place >= ? AND span.place < ? AND ${sql} ORDER BY span.place DESC`,
      ...[from, to, ...values],
    )
    for (const row of rows) {
      if (reader.bytes > MOST_READ_BYTES || places.size >= MOST_READ_TRACES) return { places, endedAt: row.place }
      const place = places.has(row.trace) ? undefined : find(row)
      if (place !== undefined && reader.textsAt(place, pieces)[row.nth] === true) places.set(row.trace, row.place)
    }
    to = from
  }
}

/** Where the rows begin that come before this place, a number of them. */
function placeBefore(database: Database, to: number): number | undefined {
  const sql = `SELECT min(place) AS place FROM (SELECT place FROM span WHERE place < ? ORDER BY place DESC LIMIT ${ROWS_AT_ONCE})`
  return database.get<{ place: number | null }>(sql, to)?.place ?? undefined
}

/** The line that was read last: several spans stand in one. */
class LineMemory {
  bytes = 0
  #key = ''
  #holds: readonly boolean[] = []

  /** Of each span of the line, whether it holds all of these. */
  textsAt({ path, offset, length }: SpanPlace, pieces: readonly string[]): readonly boolean[] {
    const key = `${path}:${offset}`
    if (key === this.#key) return this.#holds
    this.#key = key
    this.bytes += length
    const bytes = length > LONGEST_LINE ? undefined : reading(path, file => file.bytes(offset, offset + length))
    this.#holds = bytes === undefined || !mayHold(bytes, pieces) ? [] : spansThatHold(bytes, pieces)
    return this.#holds
  }
}

/** Reading a line as JSON costs most. What JSON may spell in several ways cannot be looked for before. */
function mayHold(bytes: Buffer, pieces: readonly string[]): boolean {
  const text = fold(bytes.toString('utf8'))
  return text.includes('\\u') || pieces.every(piece => text.includes(JSON.stringify(piece).slice(1, -1)))
}

function spansThatHold(bytes: Buffer, pieces: readonly string[]): readonly boolean[] {
  const entry = readLine(bytes)
  if (entry === undefined || !('spans' in entry)) return []
  return [...entry.running, ...entry.spans].map(span => holdsAll(fold(searchableText(span)), pieces))
}

import { type FileHandle, open } from 'node:fs/promises'
import { OPEN } from '../../delivery/trace-log/private-file.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { putSpan } from '../../reading/trace-forest.ts'
import type { Database } from './database.ts'
import { MAX_LINE, readLine } from './log-file.ts'
import { offsetOfPlace, segmentOfPlace } from './schema.ts'

export interface LinePlace {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/** `nth` counts the spans of the line, running ones first. */
export interface SpanPlace extends LinePlace {
  readonly nth: number
}

/** Limit per trace: more would not fit into memory. */
const MAX_SPANS = 50_000
const GAP_BYTES = 65_536
const MAX_BYTES = 4_194_304

interface PlaceRow {
  readonly place: number
  readonly nth: number
  readonly length: number
}

/** Sorts rows as they were written. A segment found later may be older than those already known. */
export function inOrder<Row extends Pick<PlaceRow, 'place'>>(database: Database, rows: readonly Row[]): Row[] {
  const byPlace = rows.toSorted((a, b) => a.place - b.place)
  const segments = new Set(byPlace.map(({ place }) => segmentOfPlace(place)))
  if (segments.size <= 1) return byPlace
  const sorted = database.all<{ id: number }>('SELECT id FROM segment ORDER BY path')
  const ranks = new Map(sorted.map(({ id }, rank) => [id, rank] as const))
  const rankOf = ({ place }: Row): number => ranks.get(segmentOfPlace(place)) ?? 0
  return byPlace.sort((a, b) => rankOf(a) - rankOf(b))
}

export function linesOfTrace({ database }: { readonly database: Database }, traceId: string): LinePlace[] {
  const rows = database.all<PlaceRow>(
    `SELECT place, nth, length FROM span WHERE trace = (SELECT id FROM trace WHERE trace_id = ?) ORDER BY place LIMIT ${MAX_SPANS}`,
    traceId,
  )
  const lines = new Map(inOrder(database, rows).map(row => [row.place - row.nth, row] as const))
  const find = placeFinder(database)
  return [...lines.values()].flatMap(row => find(row) ?? [])
}

/** Returns undefined for a row whose file is no longer indexed. */
export function placeFinder(database: Database): (row: PlaceRow) => SpanPlace | undefined {
  const segments = database.all<{ id: number; path: string }>('SELECT id, path FROM segment')
  const paths = new Map(segments.map(({ id, path }) => [id, path] as const))
  return ({ place, nth, length }) => {
    const path = paths.get(segmentOfPlace(place))
    return path === undefined ? undefined : { path, offset: offsetOfPlace(place) - nth, length, nth }
  }
}

export function placeOfRow(database: Database, place: number): SpanPlace | undefined {
  const row = database.get<PlaceRow>('SELECT place, nth, length FROM span WHERE place = ?', place)
  return row && placeFinder(database)(row)
}

/** The spans of a trace in these lines, each once. Unreadable lines are skipped. */
export async function readTrace(traceId: string, lines: readonly LinePlace[]): Promise<StoredSpan[]> {
  const spans = new Map<string, StoredSpan>()
  await eachLine(lines, (_, found) => {
    for (const span of found) if (span.traceId === traceId) putSpan(spans, span)
  })
  return [...spans.values()]
}

/** Undefined if the line is not readable any more. */
export async function readSpanAt(place: SpanPlace): Promise<StoredSpan | undefined> {
  let span: StoredSpan | undefined
  await eachLine([place], (_, spans) => {
    span = spans[place.nth]
  })
  return span
}

async function eachLine(
  lines: readonly LinePlace[],
  visit: (line: LinePlace, spans: readonly StoredSpan[]) => void,
): Promise<void> {
  let file: { readonly path: string; readonly handle: FileHandle } | undefined
  try {
    for (const group of groupsOf(lines)) {
      const [first] = group
      if (first === undefined) continue
      if (file?.path !== first.path) {
        await file?.handle.close()
        file = undefined
        file = { path: first.path, handle: await open(first.path, OPEN.read) }
      }
      const bytes = await bytesOf(file.handle, group)
      for (const line of group) visit(line, spansIn(bytes, line.offset - first.offset, line.length))
    }
  } catch (error) {
    // This part of the log has been removed since.
    if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error
  } finally {
    await file?.handle.close()
  }
}

function groupsOf(lines: readonly LinePlace[]): LinePlace[][] {
  const groups: LinePlace[][] = []
  for (const line of lines) {
    if (line.length > MAX_LINE) continue
    const group = groups.at(-1)
    const [first] = group ?? []
    const last = group?.at(-1)
    const isNear =
      first?.path === line.path &&
      last !== undefined &&
      line.offset - (last.offset + last.length) < GAP_BYTES &&
      line.offset + line.length - first.offset < MAX_BYTES
    if (isNear) group?.push(line)
    else groups.push([line])
  }
  return groups
}

async function bytesOf(handle: FileHandle, group: readonly LinePlace[]): Promise<Buffer> {
  const [first] = group
  const last = group.at(-1)
  if (first === undefined || last === undefined) return Buffer.alloc(0)
  const buffer = Buffer.allocUnsafe(last.offset + last.length - first.offset)
  let done = 0
  while (done < buffer.length) {
    const { bytesRead } = await handle.read(buffer, done, buffer.length - done, first.offset + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return buffer.subarray(0, done)
}

function spansIn(bytes: Buffer, at: number, length: number): readonly StoredSpan[] {
  const entry = readLine(bytes.subarray(at, at + length))
  return entry !== undefined && 'spans' in entry ? [...entry.running, ...entry.spans] : []
}

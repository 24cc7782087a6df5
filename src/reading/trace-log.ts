import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { OnRead } from './line-reader.ts'
import { readTraceFile, type SpanPricer, type StoredSpan, type TraceFileEntry } from './stored-span.ts'
import { rangeOf, type TimeRange } from './time-ranges.ts'
import { FilterMatcher, type MetConditions, type TraceFilter } from './trace-filter.ts'
import { buildForest, type TraceTree } from './trace-forest.ts'

export type TraceQuery = TraceFilter & Readonly<{ last: number }>

export type UnreadableLine = Readonly<{ path: string; line: number; problem: string }>

export interface TraceSelection {
  readonly trees: readonly TraceTree[]
  /** Older matching traces that are still running, by start. If there are many, those with the latest activity. */
  readonly running: readonly TraceTree[]
  readonly traceCount: number
  readonly matchCount: number
  readonly extent: TimeRange | undefined
  readonly unreadableCount: number
  readonly firstUnreadable: UnreadableLine | undefined
}

export async function listSegments(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  const segments = names
    .filter(name => name.endsWith('.jsonl'))
    .map(async name => {
      const path = join(directory, name)
      const found = await stat(path).catch(() => undefined)
      return found?.isFile() === true ? [{ path, at: found.mtimeMs }] : []
    })
  const dated = (await Promise.all(segments)).flat()
  return dated.sort((a, b) => a.at - b.at || a.path.localeCompare(b.path, 'en')).map(({ path }) => path)
}

async function* readSegment(...args: Parameters<typeof readTraceFile>): AsyncGenerator<TraceFileEntry, void> {
  try {
    yield* readTraceFile(...args)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

interface TraceNote {
  startAt: number
  endAt: number
  met: MetConditions
  open: Set<string> | undefined
}

/** Limits the older running traces: a machine crash leaves many that look as if they were running. */
const MAX_RUNNING = 5

/**
 * Reads the traces that match a query. The files are read twice, because the newest traces are known only at the end. A log of
 * hundreds of megabytes must not be held in memory to find five of them.
 *
 * @param onRead receives the number of bytes read, in the first and in the second pass
 * @param price applied to the spans of the returned traces
 * @throws the error of the file system when a file cannot be read, or an error of `onRead`
 */
export async function selectTraces(
  paths: readonly string[],
  query: TraceQuery,
  onRead?: OnRead,
  price: SpanPricer = span => span,
): Promise<TraceSelection> {
  const { sinceAt, ...rest } = query
  const matcher = new FilterMatcher(rest)
  const notes = new Map<string, TraceNote>()
  let unreadableCount = 0
  let firstUnreadable: UnreadableLine | undefined
  for (const path of paths) {
    for await (const entry of readSegment(path, undefined, onRead)) {
      if ('spans' in entry) {
        noteSpans(entry.running, notes, matcher)
        noteSpans(entry.spans, notes, matcher)
      } else {
        unreadableCount += 1
        firstUnreadable ??= { path, ...entry }
      }
    }
  }
  const matching = [...notes]
    // A span noted as running may end in a later line, so this is known only at the end.
    .filter(([, { endAt, open }]) => sinceAt === undefined || endAt >= sinceAt || open !== undefined)
    .filter(([, { met }]) => matcher.isMet(met))
    .sort(([, a], [, b]) => a.startAt - b.startAt)
  const newest = matching.slice(Math.max(0, matching.length - query.last))
  const older = matching.slice(0, matching.length - newest.length).filter(([, { open }]) => open !== undefined)
  const running = older.sort(([, a], [, b]) => b.endAt - a.endAt).slice(0, MAX_RUNNING)
  const traceIds = new Set([...newest, ...running].map(([traceId]) => traceId))
  const forest = buildForest((await readTraces(paths, traceIds, onRead)).map(price))
  const isNewest = new Set(newest.map(([traceId]) => traceId))
  return {
    trees: forest.filter(({ traceId }) => isNewest.has(traceId)),
    running: forest.filter(tree => !isNewest.has(tree.traceId) && tree.isRunning),
    traceCount: notes.size,
    matchCount: matching.length,
    extent: notes.size === 0 ? undefined : rangeOf(notes.values()),
    unreadableCount,
    firstUnreadable,
  }
}

function noteSpans(spans: readonly StoredSpan[], notes: Map<string, TraceNote>, matcher: FilterMatcher): void {
  for (const span of spans) {
    const { traceId, startAt, endAt } = span
    const note = notes.get(traceId) ?? { startAt, endAt, met: 0, open: undefined }
    note.startAt = Math.min(note.startAt, startAt)
    note.endAt = Math.max(note.endAt, endAt)
    note.met = matcher.addSpan(note.met, span)
    if (span.running === true) note.open = (note.open ?? new Set()).add(span.spanId)
    else if (note.open?.delete(span.spanId) && note.open.size === 0) note.open = undefined
    notes.set(traceId, note)
  }
}

async function readTraces(paths: readonly string[], traceIds: ReadonlySet<string>, onRead?: OnRead) {
  const spans: StoredSpan[] = []
  const mayHold = lineFilter(traceIds)
  for (const path of traceIds.size === 0 ? [] : paths) {
    for await (const entry of readSegment(path, mayHold, onRead)) {
      if (!('spans' in entry)) continue
      for (const span of [...entry.running, ...entry.spans]) if (traceIds.has(span.traceId)) spans.push(span)
    }
  }
  return spans
}

/** Searching for ids is many times faster than parsing. Ids that JSON may escape cannot be searched for. */
export function lineFilter(traceIds: ReadonlySet<string>): (line: string) => boolean {
  const ids = [...traceIds]
  if (!ids.every(id => /^[0-9a-z]+$/i.test(id))) return () => true
  if (ids.length <= 20) return line => ids.some(id => line.includes(id))
  return line => {
    for (const [, id = ''] of line.matchAll(/"traceId"\s*:\s*"([0-9a-zA-Z]+)"/g)) if (traceIds.has(id)) return true
    return false
  }
}

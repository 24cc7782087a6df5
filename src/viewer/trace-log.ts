import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readTraceFile, type StoredSpan } from './stored-span.ts'
import { FilterMatcher, type Met, type TraceFilter } from './trace-filter.ts'
import { buildForest, type TraceTree } from './trace-forest.ts'
import type { Extent } from './waterfall.ts'

/** Which traces to take: of those that pass the filter at most so many, the newest. */
export interface TraceQuery extends TraceFilter {
  readonly last: number
}

export interface UnreadableLine {
  readonly path: string
  readonly line: number
  readonly problem: string
}

export interface TraceSelection {
  /** By start, the newest last. */
  readonly trees: readonly TraceTree[]
  /** Older ones that pass the filter and are still running, by start; of very many those in which something happened last. */
  readonly running: readonly TraceTree[]
  /** Traces that there are, whatever the query. */
  readonly traceCount: number
  /** Traces that pass the filter. */
  readonly matchCount: number
  /** First start and last end of all traces that there are; undefined when there are none. */
  readonly extent: Extent | undefined
  readonly unreadableCount: number
  readonly firstUnreadable: UnreadableLine | undefined
}

/** Is told, while files are read, how much of all the reading is behind: from 0 to 1. */
export type OnShare = (share: number) => void

/** The segments of a trace log, oldest first; none when there is no such directory. */
export async function listSegments(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(noDirectory)
  const segments = names.filter(name => name.endsWith('.jsonl')).map(name => join(directory, name))
  const dated = await Promise.all(segments.map(async path => ({ path, at: await modifiedAt(path) })))
  return dated.sort((a, b) => a.at - b.at || a.path.localeCompare(b.path, 'en')).map(({ path }) => path)
}

function noDirectory(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
  throw error
}

/** A segment may be rotated away while we look. */
async function modifiedAt(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found?.mtimeMs ?? 0
}

/** What the first pass keeps of a trace. */
interface TraceNote {
  startAt: number
  endAt: number
  met: Met
  /** Ids of the spans that were noted as running and have not ended so far. */
  open: Set<string> | undefined
}

/** More than these are not looked for behind the newest: a machine that went down leaves many that look like it. */
const MOST_RUNNING = 5

/** The second pass parses only a few lines. */
const SECOND_PASS = 0.2

/**
 * Reads the traces that a query asks for. The files are read twice, because which traces are the newest is known only
 * at the end, and a log of hundreds of megabytes must not be held in memory to find five of them.
 *
 * @throws the error of the file system when a file cannot be read
 */
export async function selectTraces(
  paths: readonly string[],
  query: TraceQuery,
  onShare?: OnShare,
): Promise<TraceSelection> {
  const reading = new Reading(paths, onShare && (await sizeOf(paths)), onShare)
  const { sinceAt, ...rest } = query
  const matcher = new FilterMatcher(rest)
  const notes = new Map<string, TraceNote>()
  const unreadable: UnreadableLine[] = []
  let unreadableCount = 0
  for await (const { path, entry } of reading.entries(1 - SECOND_PASS)) {
    if ('spans' in entry) {
      noteSpans(entry.running, notes, matcher)
      noteSpans(entry.spans, notes, matcher)
    } else if (++unreadableCount === 1) unreadable.push({ path, ...entry })
  }
  const matching = [...notes].filter(([, note]) => matcher.isMet(note.met) && isSince(note, sinceAt)).sort(byStart)
  const newest = matching.slice(Math.max(0, matching.length - query.last))
  const older = matching.slice(0, matching.length - newest.length).filter(([, { open }]) => open !== undefined)
  const running = older.sort(([, a], [, b]) => b.endAt - a.endAt).slice(0, MOST_RUNNING)
  const forest = buildForest(await readTraces(reading, new Set([...newest, ...running].map(([traceId]) => traceId))))
  const isNewest = new Set(newest.map(([traceId]) => traceId))
  return {
    trees: forest.filter(({ traceId }) => isNewest.has(traceId)),
    running: forest.filter(tree => !isNewest.has(tree.traceId) && tree.isRunning),
    traceCount: notes.size,
    matchCount: matching.length,
    extent: extentOf(notes.values()),
    unreadableCount,
    firstUnreadable: unreadable[0],
  }
}

/** The files that are read, and how far that is. */
class Reading {
  readonly #paths: readonly string[]
  readonly #size: number
  readonly #onShare: OnShare | undefined
  /** Of the passes that are over. */
  #behind = 0

  constructor(paths: readonly string[], size: number | undefined, onShare: OnShare | undefined) {
    this.#paths = paths
    this.#size = size ?? 0
    this.#onShare = onShare
  }

  /** @param share of all the reading that this pass is */
  async *entries(share: number, mayMatter?: (line: string) => boolean) {
    let bytes = 0
    const onRead = (more: number): void => {
      bytes += more
      // A file may grow while it is read.
      this.#onShare?.(this.#behind + share * Math.min(1, bytes / this.#size))
    }
    for (const path of this.#paths) {
      for await (const entry of readTraceFile(path, mayMatter, this.#size > 0 ? onRead : undefined))
        yield { path, entry }
    }
    this.#behind += share
  }
}

/** Bytes of all of these. @throws the error of the file system */
export async function sizeOf(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(path => stat(path).then(({ size }) => size)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

function noteSpans(spans: readonly StoredSpan[], notes: Map<string, TraceNote>, matcher: FilterMatcher): void {
  for (const span of spans) {
    const { traceId, startAt, endAt } = span
    const note = notes.get(traceId) ?? { startAt, endAt, met: 0, open: undefined }
    note.startAt = Math.min(note.startAt, startAt)
    note.endAt = Math.max(note.endAt, endAt)
    note.met = matcher.add(note.met, span)
    if (span.running === true) note.open = (note.open ?? new Set()).add(span.spanId)
    else if (note.open?.delete(span.spanId) && note.open.size === 0) note.open = undefined
    notes.set(traceId, note)
  }
}

/** What was noted as running may have ended later on: whether something still is, is known only at the end. */
function isSince({ endAt, open }: TraceNote, sinceAt: number | undefined): boolean {
  return sinceAt === undefined || endAt >= sinceAt || open !== undefined
}

function byStart([, a]: readonly [string, TraceNote], [, b]: readonly [string, TraceNote]): number {
  return a.startAt - b.startAt
}

function extentOf(notes: Iterable<TraceNote>): Extent | undefined {
  let extent: Extent | undefined
  for (const { startAt, endAt } of notes) {
    extent = { startAt: Math.min(extent?.startAt ?? startAt, startAt), endAt: Math.max(extent?.endAt ?? endAt, endAt) }
  }
  return extent
}

async function readTraces(reading: Reading, traceIds: ReadonlySet<string>): Promise<StoredSpan[]> {
  const spans: StoredSpan[] = []
  if (traceIds.size === 0) return spans
  for await (const { entry } of reading.entries(SECOND_PASS, lineFilter(traceIds))) {
    if (!('spans' in entry)) continue
    for (const span of [...entry.running, ...entry.spans]) if (traceIds.has(span.traceId)) spans.push(span)
  }
  return spans
}

/** Looking for ids is many times faster than parsing. Ids that JSON may spell in two ways cannot be looked for. */
function lineFilter(traceIds: ReadonlySet<string>): (line: string) => boolean {
  const ids = [...traceIds]
  if (!ids.every(id => /^[0-9a-z]+$/i.test(id))) return () => true
  if (ids.length <= 20) return line => ids.some(id => line.includes(id))
  return line => {
    for (const [, id = ''] of line.matchAll(/"traceId"\s*:\s*"([0-9a-zA-Z]+)"/g)) if (traceIds.has(id)) return true
    return false
  }
}

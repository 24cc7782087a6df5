import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readTraceFile, type StoredSpan } from './stored-span.ts'
import { buildForest, type TraceTree } from './trace-forest.ts'

/** Which traces to take. */
export interface TraceQuery {
  /** At most so many, the newest. */
  readonly last: number
  /** Only traces with a span of this session; a sub-agent's session finds the trace of its parent. */
  readonly sessionId?: string
}

export interface UnreadableLine {
  readonly path: string
  readonly line: number
  readonly problem: string
}

export interface TraceSelection {
  /** By start, the newest last. */
  readonly trees: readonly TraceTree[]
  /** Traces that there are, whatever the query. */
  readonly traceCount: number
  readonly unreadableCount: number
  readonly firstUnreadable: UnreadableLine | undefined
}

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

export function isOfSession(span: StoredSpan, sessionId: string): boolean {
  const { attributes } = span
  if (attributes['session.id'] === sessionId || attributes['gen_ai.conversation.id'] === sessionId) return true
  return Object.keys(attributes).some(name => name.endsWith('.session.id') && attributes[name] === sessionId)
}

/** What the first pass keeps of a trace. */
interface TraceNote {
  startAt: number
  isWanted: boolean
}

/**
 * Reads the traces that a query asks for. The files are read twice, because which traces are the newest is known only
 * at the end, and a log of hundreds of megabytes must not be held in memory to find five of them.
 *
 * @param onRead is told of so many bytes more, in the first reading and in the second
 * @throws the error of the file system when a file cannot be read, or what `onRead` throws
 */
export async function selectTraces(
  paths: readonly string[],
  query: TraceQuery,
  onRead?: (bytes: number) => void,
): Promise<TraceSelection> {
  const notes = new Map<string, TraceNote>()
  let unreadableCount = 0
  let firstUnreadable: UnreadableLine | undefined
  for (const path of paths) {
    for await (const entry of readTraceFile(path, undefined, onRead)) {
      if ('spans' in entry) noteSpans(entry.spans, notes, query.sessionId)
      else {
        unreadableCount += 1
        firstUnreadable ??= { path, ...entry }
      }
    }
  }
  const trees = buildForest(await readTraces(paths, newest(notes, query.last), onRead))
  return { trees, traceCount: notes.size, unreadableCount, firstUnreadable }
}

function noteSpans(spans: readonly StoredSpan[], notes: Map<string, TraceNote>, sessionId: string | undefined): void {
  for (const span of spans) {
    const isWanted = sessionId === undefined || isOfSession(span, sessionId)
    const note = notes.get(span.traceId)
    if (note === undefined) notes.set(span.traceId, { startAt: span.startAt, isWanted })
    else {
      note.startAt = Math.min(note.startAt, span.startAt)
      note.isWanted ||= isWanted
    }
  }
}

function newest(notes: ReadonlyMap<string, TraceNote>, last: number): ReadonlySet<string> {
  const wanted = [...notes].filter(([, note]) => note.isWanted).sort(([, a], [, b]) => b.startAt - a.startAt)
  return new Set(wanted.slice(0, last).map(([traceId]) => traceId))
}

async function readTraces(
  paths: readonly string[],
  traceIds: ReadonlySet<string>,
  onRead: ((bytes: number) => void) | undefined,
): Promise<StoredSpan[]> {
  const spans: StoredSpan[] = []
  const mayHold = lineFilter(traceIds)
  for (const path of traceIds.size === 0 ? [] : paths) {
    for await (const entry of readTraceFile(path, mayHold, onRead)) {
      if (!('spans' in entry)) continue
      for (const span of [...entry.running, ...entry.spans]) if (traceIds.has(span.traceId)) spans.push(span)
    }
  }
  return spans
}

/** Looking for a few ids is many times faster than parsing. Ids that JSON may spell in two ways cannot be looked for. */
function lineFilter(traceIds: ReadonlySet<string>): (line: string) => boolean {
  const ids = [...traceIds]
  if (ids.length > 20 || !ids.every(id => /^[0-9a-z]+$/i.test(id))) return () => true
  return line => ids.some(id => line.includes(id))
}

import type { LinePlace } from './log-file.ts'
import type { TraceFacts } from './trace-facts.ts'

export interface TraceEntry {
  readonly traceId: string
  /** Path of a file -> offset and length of each line, one after the other. An object per line would take several times the memory. */
  readonly lines: Map<string, number[]>
  facts: TraceFacts | undefined
  /** Lines were added or removed since the facts were derived. */
  isStale: boolean
  title: string | undefined
}

export class TraceTable {
  readonly traces: Map<string, TraceEntry> = new Map()
  readonly sessions: Map<string, Set<TraceEntry>> = new Map()

  get staleTraces(): TraceEntry[] {
    return [...this.traces.values()].filter(({ isStale }) => isStale)
  }

  addTrace(traceId: string, lines: Map<string, number[]> = new Map()): TraceEntry {
    const entry: TraceEntry = { traceId, lines, facts: undefined, isStale: true, title: undefined }
    this.traces.set(traceId, entry)
    return entry
  }

  addLines(traceId: string, lines: readonly LinePlace[]): TraceEntry {
    const entry = this.traces.get(traceId) ?? this.addTrace(traceId)
    for (const { path, offset, length } of lines) {
      const known = entry.lines.get(path)
      if (known === undefined) entry.lines.set(path, [offset, length])
      else known.push(offset, length)
    }
    entry.isStale = true
    return entry
  }

  removeFile(path: string): void {
    for (const entry of this.traces.values()) if (entry.lines.delete(path)) entry.isStale = true
  }

  /** @param facts undefined if no span could be read; the lines stay until the removal of their file is noticed */
  putFacts(entry: TraceEntry, facts: TraceFacts | undefined): void {
    const [before, after] = [entry.facts?.turn.sessionId, facts?.turn.sessionId]
    entry.facts = facts
    entry.isStale = false
    entry.title = undefined
    if (entry.lines.size === 0) this.traces.delete(entry.traceId)
    if (before === after) return
    if (before !== undefined) {
      const left = this.sessions.get(before)
      left?.delete(entry)
      if (left?.size === 0) this.sessions.delete(before)
    }
    if (after !== undefined) this.sessions.set(after, (this.sessions.get(after) ?? new Set()).add(entry))
  }
}

export function linesOf({ lines }: TraceEntry): LinePlace[] {
  const places: LinePlace[] = []
  for (const [path, numbers] of lines) {
    for (let at = 0; at < numbers.length; at += 2) {
      places.push({ path, offset: numbers[at] ?? 0, length: numbers[at + 1] ?? 0 })
    }
  }
  return places.sort(byPlace)
}

export function byPlace(a: LinePlace, b: LinePlace): number {
  return a.path === b.path ? a.offset - b.offset : a.path < b.path ? -1 : 1
}

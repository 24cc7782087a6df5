import type { LinePlace } from './log-file.ts'
import type { TraceFacts } from './trace-facts.ts'

export interface TraceEntry {
  readonly traceId: string
  lines: LinePlace[]
  facts: TraceFacts | undefined
  /** Lines were added or removed since the facts were derived. */
  isStale: boolean
  title: string | undefined
}

export class TraceTable {
  readonly #traces = new Map<string, TraceEntry>()
  readonly #sessions = new Map<string, Set<TraceEntry>>()

  get traces(): Iterable<TraceEntry> {
    return this.#traces.values()
  }

  get sessions(): Iterable<readonly [string, ReadonlySet<TraceEntry>]> {
    return this.#sessions
  }

  get staleTraces(): TraceEntry[] {
    return [...this.#traces.values()].filter(({ isStale }) => isStale)
  }

  trace(traceId: string): TraceEntry | undefined {
    return this.#traces.get(traceId)
  }

  session(id: string): ReadonlySet<TraceEntry> | undefined {
    return this.#sessions.get(id)
  }

  addLines(traceId: string, lines: readonly LinePlace[]): TraceEntry {
    let entry = this.#traces.get(traceId)
    if (entry === undefined) {
      entry = { traceId, lines: [], facts: undefined, isStale: true, title: undefined }
      this.#traces.set(traceId, entry)
    }
    for (const line of lines) entry.lines.push(line)
    entry.isStale = true
    return entry
  }

  removeFile(path: string): void {
    for (const entry of this.#traces.values()) {
      const lines = entry.lines.filter(line => line.path !== path)
      if (lines.length === entry.lines.length) continue
      entry.lines = lines
      entry.isStale = true
    }
  }

  /** @param facts undefined if no span could be read; the lines stay until the removal of their file is noticed */
  putFacts(entry: TraceEntry, facts: TraceFacts | undefined): void {
    const [before, after] = [entry.facts?.turn.sessionId, facts?.turn.sessionId]
    entry.facts = facts
    entry.isStale = false
    entry.title = undefined
    if (entry.lines.length === 0) this.#traces.delete(entry.traceId)
    if (before === after) return
    if (before !== undefined) this.#removeFromSession(before, entry)
    if (after === undefined) return
    const session = this.#sessions.get(after)
    if (session === undefined) this.#sessions.set(after, new Set([entry]))
    else session.add(entry)
  }

  #removeFromSession(id: string, entry: TraceEntry): void {
    const session = this.#sessions.get(id)
    session?.delete(entry)
    if (session?.size === 0) this.#sessions.delete(id)
  }
}

export function byPlace(a: LinePlace, b: LinePlace): number {
  return a.path === b.path ? a.offset - b.offset : a.path < b.path ? -1 : 1
}

import { LogLineReader, type OnRead } from './line-reader.ts'
import { readEntry, type SpanPricer, type StoredSpan } from './stored-span.ts'
import { FilterMatcher } from './trace-filter.ts'
import { buildTree, putSpan, type TraceTree } from './trace-forest.ts'
import type { TraceQuery } from './trace-log.ts'

/** Limits the memory for traces whose root never ends, and for the ids of traces already returned. */
const MAX_OPEN = 1_000
const MAX_DONE = 10_000

interface GrowingTrace {
  readonly spans: Map<string, StoredSpan>
  readonly notedIn: Set<string>
  isShown: boolean
}

export type RunningTrace = Readonly<{ tree: TraceTree; notedIn: ReadonlySet<string> }>

/**
 * Follows growing files. `poll` returns the traces whose root span, the one without a parent, has ended since the last poll. A
 * trace that had running spans then is returned once more when none are left. Later spans are ignored: the log has their lines. A
 * trace whose root is elsewhere has one local root per turn and is returned with each.
 */
export class TraceFollower {
  readonly #listFiles: () => Promise<readonly string[]>
  readonly #last: number
  readonly #price: SpanPricer
  readonly #filter: FilterMatcher
  readonly #readers = new Map<string, LogLineReader>()
  readonly #growing = new Map<string, GrowingTrace>()
  readonly #done = new Set<string>()
  #hasPolled = false

  constructor(listFiles: () => Promise<readonly string[]>, query: TraceQuery, price: SpanPricer = span => span) {
    this.#listFiles = listFiles
    this.#price = price
    this.#last = query.last
    this.#filter = new FilterMatcher(query)
  }

  /** Returns traces by start. The first poll reads everything, and returns only the newest `last` ones of the query. */
  async poll(onRead?: OnRead): Promise<TraceTree[]> {
    const most = this.#hasPolled ? Number.POSITIVE_INFINITY : this.#last
    this.#hasPolled = true
    const ready = new Set<string>()
    const paths = await this.#listFiles()
    for (const path of this.#readers.keys()) if (!paths.includes(path)) this.#readers.delete(path)
    for (const path of paths) {
      for await (const span of this.#newSpans(path, onRead)) this.#addSpan(span, path, ready, most)
    }
    return this.#buildReady(ready)
  }

  runningTraces(): RunningTrace[] {
    const open: RunningTrace[] = []
    for (const [traceId, trace] of this.#growing) {
      const isRunning = [...trace.spans.values()].some(({ running }) => running === true)
      if (!isRunning || !this.#filter.matches(trace.spans.values())) continue
      open.push({ tree: buildTree(traceId, trace.spans, true), notedIn: trace.notedIn })
    }
    return open
  }

  async *#newSpans(path: string, onRead?: OnRead): AsyncGenerator<StoredSpan, void> {
    const reader = this.#readers.get(path) ?? new LogLineReader(path)
    this.#readers.set(path, reader)
    try {
      for await (const line of reader.readLines(onRead)) {
        const entry = readEntry(line)
        if (!('spans' in entry)) continue
        yield* entry.running
        yield* entry.spans
      }
    } catch (error) {
      // A segment that was rotated away between listing and reading is not an error.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }

  #addSpan(span: StoredSpan, path: string, ready: Set<string>, most: number): void {
    const { traceId } = span
    if (this.#done.has(traceId)) return
    const trace = this.#growing.get(traceId) ?? { spans: new Map(), notedIn: new Set(), isShown: false }
    this.#growing.set(traceId, trace)
    putSpan(trace.spans, this.#price(span))
    if (span.running === true) trace.notedIn.add(path)
    const isPart = isElsewhere(span, trace)
    const isEndOfRoot = (isPart || span.parentSpanId === undefined) && span.running !== true
    if (isPart && isEndOfRoot) trace.isShown = false
    if (trace.isShown) ready.add(traceId)
    else if (isEndOfRoot) {
      if (this.#filter.matches(trace.spans.values())) ready.add(traceId)
      else if (!isPart) this.#closeTrace(traceId)
    }
    if (ready.size > most) this.#dropFirst(ready, ready)
    const older = this.#growing.size > MAX_OPEN ? [...this.#growing.keys()].filter(id => !ready.has(id)) : []
    this.#dropFirst(older, ready)
  }

  #dropFirst([first]: Iterable<string>, ready: Set<string>): void {
    if (first === undefined) return
    ready.delete(first)
    this.#closeTrace(first)
  }

  #closeTrace(traceId: string): void {
    this.#growing.delete(traceId)
    this.#done.add(traceId)
    const [oldest] = this.#done
    if (this.#done.size > MAX_DONE && oldest !== undefined) this.#done.delete(oldest)
  }

  #buildReady(ready: ReadonlySet<string>): TraceTree[] {
    const trees: TraceTree[] = []
    for (const traceId of ready) {
      const trace = this.#growing.get(traceId)
      if (trace === undefined) continue
      const isGrowing = mayGrow(trace)
      if (!isGrowing || !trace.isShown) trees.push(buildTree(traceId, trace.spans, isGrowing))
      trace.isShown = true
      if (!isGrowing && ![...trace.spans.values()].some(span => isElsewhere(span, trace))) this.#closeTrace(traceId)
    }
    return trees.sort((a, b) => a.startAt - b.startAt)
  }
}

function isElsewhere({ parentSpanId, parentIsRemote }: StoredSpan, { spans }: GrowingTrace): boolean {
  return parentIsRemote === true && parentSpanId !== undefined && !spans.has(parentSpanId)
}

function mayGrow({ spans }: GrowingTrace): boolean {
  for (const { running, parentSpanId, parentIsRemote } of spans.values()) {
    if (running === true || (parentSpanId !== undefined && !parentIsRemote && !spans.has(parentSpanId))) return true
  }
  return false
}

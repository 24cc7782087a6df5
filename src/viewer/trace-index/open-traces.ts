import { basename } from 'node:path'
import { isAlive, listCheckpoints } from '../../delivery/trace-log/index.ts'
import { innermostOpen, waitingSince } from '../../reading/open-turns.ts'
import { factsOf } from '../../reading/span-facts.ts'
import type { StoredSpan } from '../../reading/stored-span.ts'
import { buildTree, putSpan, type TraceNode } from '../../reading/trace-forest.ts'
import type { OpenSpan, OpenTrace } from './answers.ts'
import type { Database } from './database.ts'
import { KeptSpans, type SpanRow } from './kept-span.ts'
import { placeFinder, readSpanAt } from './read-places.ts'
import { tokensOf } from './session-queries.ts'
import type { Titles } from './titles.ts'
import type { TraceRow } from './trace-row.ts'

/** A machine crash leaves many traces that look open. */
const MAX_TRACES = 300
/** Limit per trace: a turn with a hundred parallel tools must not push the others out of sight. */
const MAX_SPANS = 20

type StoredTrace = TraceRow & {
  readonly id: number
  readonly trace_id: string
  readonly key: string
  readonly revision: number
}

/** An open trace without its owner's state, which changes without a line in the log. */
interface Known {
  readonly revision: number
  readonly trace: Omit<OpenTrace, 'state' | 'isOwnerAlive'>
  readonly paths: readonly string[]
}

export class OpenTraceReader {
  readonly #database: Database
  readonly #titles: Titles
  readonly #kept: KeptSpans
  /** Only for our own log, in which each process records the file it writes. */
  readonly #stateDirectory: string | undefined
  #known = new Map<number, Known>()

  constructor(database: Database, titles: Titles, stateDirectory: string | undefined) {
    this.#database = database
    this.#titles = titles
    this.#kept = new KeptSpans(database)
    this.#stateDirectory = stateDirectory
  }

  async read(now: number): Promise<OpenTrace[]> {
    const rows = this.#database.all<StoredTrace>(
      `SELECT trace.*, session.key AS key FROM trace JOIN session ON session.id = trace.session
       WHERE trace.running > 0 ORDER BY trace.last_at DESC LIMIT ${MAX_TRACES}`,
    )
    const known = new Map<number, Known>()
    this.#kept.forget()
    for (const row of rows) {
      const before = this.#known.get(row.id)
      known.set(row.id, before?.revision === row.revision ? before : await this.#look(row))
    }
    this.#known = known
    const owned = rows.length === 0 ? undefined : await this.#ownedFiles(now)
    return Array.from(known.values(), ({ trace, paths }) => {
      const isOwned = owned === undefined || paths.some(path => owned.has(basename(path)))
      return { ...trace, state: isOwned ? 'open' : 'owner-dead', isOwnerAlive: owned !== undefined && isOwned } as const
    })
  }

  /** Files whose writer lives; undefined if writers are not recorded. */
  async #ownedFiles(now: number): Promise<ReadonlySet<string> | undefined> {
    if (this.#stateDirectory === undefined) return undefined
    const entries = await listCheckpoints(this.#stateDirectory)
    const owned = entries.filter(({ owner, heartbeatAt }) => owner !== undefined && isAlive(owner, heartbeatAt, now))
    return new Set(owned.map(({ segment }) => `${segment}.jsonl`))
  }

  async #look(row: StoredTrace): Promise<Known> {
    const spans = new Map<string, StoredSpan>()
    const rows = new Map<string, SpanRow>()
    for (const each of this.#database.all<SpanRow>('SELECT * FROM span WHERE trace = ? ORDER BY place', row.id)) {
      putSpan(spans, this.#kept.read(row.trace_id, each))
      rows.set(each.span_id, each)
    }
    const running = [...spans.values()].filter(span => span.running === true)
    const innermost = [...innermostOpen(buildTree(row.trace_id, spans))].sort((a, b) => a.span.startAt - b.span.startAt)
    const doing: OpenSpan[] = []
    for (const { span } of innermost.slice(0, MAX_SPANS)) {
      const open = await this.#readOpen(rows.get(span.spanId), row.namespace)
      if (open !== undefined) doing.push(open)
    }
    const find = placeFinder(this.#database)
    return {
      revision: row.revision,
      trace: {
        traceId: row.trace_id,
        sessionId: row.key,
        agent: row.agent,
        model: row.model,
        title: await this.#titles.of(row),
        startAt: row.start_at,
        openSince: running.reduce((first, { startAt }) => Math.min(first, startAt), Number.POSITIVE_INFINITY),
        silentSince: row.last_at,
        waitingSince: waitingSince(innermost, row.namespace),
        tokens: tokensOf(row),
        doing,
      },
      paths: running.flatMap(({ spanId }) => {
        const place = rows.get(spanId)
        return (place && find(place)?.path) ?? []
      }),
    }
  }

  async #readOpen(row: SpanRow | undefined, namespace: string): Promise<OpenSpan | undefined> {
    const place = row && placeFinder(this.#database)(row)
    const span = place && (await readSpanAt(place))
    if (span === undefined) return undefined
    const node: TraceNode = { span, children: [], orphan: false, elsewhere: false, awaiting: false }
    const { kind, name, hint } = factsOf(node, namespace)
    return { spanId: span.spanId, kind, name, hint, startAt: span.startAt }
  }
}

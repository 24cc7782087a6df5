import { idOf, peek, plausibleAt } from '../contract/foreign.ts'
import type { HookMeta } from '../contract/index.ts'
import { randomIds } from '../delivery/pipeline/span-id-generator.ts'
import type { SessionView, TurnView, ViewedKind, ViewedSpan } from '../tracker/session-view.ts'
import type { ReservedIds } from '../tracker/span-tracker.ts'

export interface ForeseeableRecord {
  /** Undefined for a log line. */
  readonly hook: string | undefined
  readonly payload: unknown
  readonly meta: HookMeta | undefined
  readonly at: number
  reserved: ReservedIds | undefined
}

/** A span that a processed record has started, or will start when the queued `record` is processed. */
type ForeseenSpan = ViewedSpan | { readonly record: ForeseeableRecord; readonly retryCount: unknown }

/**
 * Answers `traceparent` without processing the queue: gives ids to the span that a queued record will start, and notes them on
 * that record. Answers only if every queued record is a plain start or end within one named turn of one named session, so that
 * its effect is certain.
 */
export class EarlyContexts {
  readonly #host: string
  readonly #silenceMillis: number

  /** @param silenceMillis a turn that is silent for this long may have ended */
  constructor(host: string, silenceMillis: number) {
    this.#host = host
    this.#silenceMillis = silenceMillis
  }

  /**
   * @param view the session as processed records have left it; undefined if its next records are not foreseeable
   * @returns undefined if only processing the queue can tell
   */
  traceparent(
    ids: unknown,
    records: readonly ForeseeableRecord[],
    view: (sessionId: string) => SessionView | undefined,
  ): string | undefined {
    const sessionId = idOf(peek(ids, 'session_id'))
    const askedHost = peek(ids, 'host')
    if (sessionId === undefined || (askedHost !== undefined && askedHost !== this.#host)) return undefined
    const processed = view(sessionId)
    if (processed === undefined) return undefined
    const session = new ForeseenSession(processed, this.#silenceMillis)
    for (const record of records) {
      if (record.hook !== undefined && !session.apply(record, record.hook, sessionId, this.#host)) return undefined
    }
    return session.traceparent(ids)
  }
}

class ForeseenSession {
  readonly #view: SessionView
  readonly #silenceMillis: number
  readonly #ownTurns = new Set<string>()
  readonly #otherTurns = new Set<string>()
  #turn: ForeseenTurn | undefined
  #earliestAt = Number.POSITIVE_INFINITY
  #latestAt = Number.NEGATIVE_INFINITY

  constructor(view: SessionView, silenceMillis: number) {
    this.#view = view
    this.#silenceMillis = silenceMillis
    if (view.turn === undefined) return
    this.#turn = new ForeseenTurn(view.turn.turnId, view.turn, undefined)
    this.#ownTurns.add(view.turn.turnId)
    this.#noteTime(view.turn.activityAt)
  }

  /** Returns false if the effect of the record is not foreseeable. */
  apply(record: ForeseeableRecord, hook: string, asked: string, host: string): boolean {
    const { payload, meta, at } = record
    const [sessionId, turnId] = [idOf(peek(payload, 'session_id')), idOf(peek(payload, 'turn_id'))]
    const isOwnHost = meta?.host === undefined || meta.host === host
    const effect = EFFECTS.get(hook)
    if (effect === undefined || sessionId === undefined || turnId === undefined) return false
    if (!isOwnHost || meta?.delivery_id !== undefined) return false
    this.#noteTime(plausibleAt(meta?.at) ?? at)
    if (sessionId !== asked) {
      this.#otherTurns.add(turnId)
      return true
    }
    if (this.#turn === undefined) return this.#open(effect, turnId, record)
    if (this.#turn.id !== turnId || effect === 'start of turn') return false
    if (effect !== 'end of turn') return this.#turn.apply(effect, record)
    this.#turn = undefined
    return true
  }

  #open(effect: Effect, turnId: string, record: ForeseeableRecord): boolean {
    if (effect === 'end of turn' || this.#ownTurns.has(turnId) || !this.#view.isNewTurn(turnId)) return false
    this.#ownTurns.add(turnId)
    this.#turn = new ForeseenTurn(turnId, undefined, record)
    if (effect === 'start of turn') return peek(record.payload, 'traceparent') === undefined
    return effect.kind === 'llm' && effect.phase === 'start' && this.#turn.apply(effect, record)
  }

  #noteTime(at: number): void {
    this.#earliestAt = Math.min(this.#earliestAt, at)
    this.#latestAt = Math.max(this.#latestAt, at)
  }

  traceparent(ids: unknown): string | undefined {
    const turn = this.#turn
    const [turnId, tool] = [idOf(peek(ids, 'turn_id')), idOf(peek(ids, 'tool_call_id'))]
    if (turn === undefined || (turnId !== undefined && turnId !== turn.id)) return undefined
    if (this.#latestAt - this.#earliestAt >= this.#silenceMillis) return undefined
    // The id of a turn may join a record of another session to it.
    for (const other of this.#otherTurns) if (this.#ownTurns.has(other)) return undefined
    return turn.traceparent(tool)
  }
}

type SpanEffect = Readonly<{ kind: ViewedKind; phase: 'start' | 'end' }>
type Effect = 'start of turn' | 'end of turn' | SpanEffect

const EFFECTS: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ['on_session_start', 'start of turn'],
  ['pre_llm_call', { kind: 'llm', phase: 'start' }],
  ['pre_api_request', { kind: 'api', phase: 'start' }],
  ['post_api_request', { kind: 'api', phase: 'end' }],
  ['pre_tool_call', { kind: 'tool', phase: 'start' }],
  ['post_tool_call', { kind: 'tool', phase: 'end' }],
  ['post_llm_call', { kind: 'llm', phase: 'end' }],
  ['on_session_end', 'end of turn'],
])

const KEYS = { llm: undefined, api: 'api_request_id', tool: 'tool_call_id' } as const
const LLM_KEY = 'llm'

class ForeseenTurn {
  readonly id: string
  readonly #view: TurnView | undefined
  /** The record that opens the turn; undefined if it is open. */
  readonly #opening: ForeseeableRecord | undefined
  readonly #started = new Map<string, ForeseenSpan>()
  readonly #ended = new Set<string>()
  readonly #requests: string[]
  #isAnswered = false

  constructor(id: string, view: TurnView | undefined, opening: ForeseeableRecord | undefined) {
    this.id = id
    this.#view = view
    this.#opening = opening
    this.#requests = [...(view?.requests ?? [])]
  }

  apply({ kind, phase }: SpanEffect, record: ForeseeableRecord): boolean {
    // After the answer, only the end of the turn is foreseeable.
    if (this.#isAnswered || peek(record.payload, 'traceparent') !== undefined) return false
    const field = KEYS[kind]
    const key = field === undefined ? LLM_KEY : idOf(peek(record.payload, field))
    if (key === undefined) return false
    return phase === 'start' ? this.#start(kind, key, record) : this.#end(kind, key, record)
  }

  #start(kind: ViewedKind, key: string, record: ForeseeableRecord): boolean {
    const slot = `${kind} ${key}`
    if (this.#find(kind, key) !== undefined || this.#ended.has(slot)) return false
    if (this.#view?.hasEndedSpan(kind, key)) return false
    const retryCount = peek(record.payload, 'retry_count')
    this.#started.set(slot, { record, retryCount })
    if (kind === 'api') this.#requests.push(key)
    return true
  }

  #end(kind: ViewedKind, key: string, record: ForeseeableRecord): boolean {
    const open = this.#find(kind, key)
    // If an earlier span of this key has ended, the end may be meant for that one.
    if (open === undefined || this.#view?.hasEndedSpan(kind, key)) return false
    const retryCount = peek(record.payload, 'retry_count')
    if (kind === 'api' && retryCount !== undefined && retryCount !== open.retryCount) return false
    this.#ended.add(`${kind} ${key}`)
    if (kind === 'api') this.#requests.splice(this.#requests.indexOf(key), 1)
    this.#isAnswered = kind === 'llm'
    return true
  }

  #find(kind: ViewedKind, key: string): ForeseenSpan | undefined {
    const slot = `${kind} ${key}`
    if (this.#ended.has(slot)) return undefined
    return this.#started.get(slot) ?? this.#view?.openSpan(kind, key)
  }

  /** The tool itself, or for a turn its request, else its loop, else its root: see `namedSpan`. */
  traceparent(tool: string | undefined): string | undefined {
    if (this.#isAnswered) return undefined
    const request = this.#requests.at(-1)
    const span =
      tool === undefined
        ? ((request === undefined ? undefined : this.#find('api', request)) ?? this.#find('llm', LLM_KEY))
        : this.#find('tool', tool)
    if (tool !== undefined && span === undefined) return undefined
    const { traceId, rootSpanId } = this.#view ?? this.#reservedRoot()
    return `00-${traceId}-${span === undefined ? rootSpanId : spanIdOf(span, traceId)}-01`
  }

  #reservedRoot(): ReservedIds {
    const opening = this.#opening as ForeseeableRecord
    const { generateTraceId, generateSpanId } = randomIds
    opening.reserved ??= { traceId: generateTraceId(), rootSpanId: generateSpanId(), spanId: undefined }
    return opening.reserved
  }
}

function spanIdOf(span: ForeseenSpan, traceId: string): string {
  if ('spanId' in span) return span.spanId
  const { record } = span
  record.reserved ??= { traceId, rootSpanId: undefined, spanId: undefined }
  record.reserved.spanId ??= randomIds.generateSpanId()
  return record.reserved.spanId
}

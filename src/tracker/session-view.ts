import { isSpanContextValid } from '@opentelemetry/api'
import { peek } from '../contract/foreign.ts'
import { LOOP } from './spans/llm.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import { slot } from './turn-history.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import { idsOf, type TurnRegistry } from './turn-registry.ts'

export type ViewedKind = 'llm' | 'api' | 'tool'

export interface ViewedSpan {
  readonly spanId: string
  readonly retryCount: unknown
}

/** A turn whose next records have a foreseeable effect. */
export interface TurnView {
  readonly turnId: string
  readonly traceId: string
  readonly rootSpanId: string
  readonly activityAt: number
  openSpan(kind: ViewedKind, key: string): ViewedSpan | undefined
  hasEndedSpan(kind: ViewedKind, key: string): boolean
  /** Keys of the open requests, the innermost last. */
  readonly requests: readonly string[]
}

export interface SessionView {
  readonly turn: TurnView | undefined
  /** Returns true if a record with this turn id opens a turn with a trace of its own. */
  isNewTurn(turnId: string): boolean
}

const SAMPLED = 1
const OPEN_SPANS_LIMIT = 1000
const OPEN_TURNS_LIMIT = 10_000

/** The state of a session as `EarlyContexts` needs it. Undefined if records may have other effects than to start and end spans. */
export function viewSession(
  registry: TurnRegistry,
  { delegations }: TurnLifecycle,
  host: string,
  sessionId: string,
): SessionView | undefined {
  const session = registry.knownSession(idsOf('pre_tool_call', { session_id: sessionId }, host))
  const [main, ...others] = session?.turns ?? []
  if (main !== session?.main || others.length > 0 || session?.orphanHistory !== undefined) return undefined
  if (registry.openCount > OPEN_TURNS_LIMIT) return undefined
  const turn = main && viewTurn(main)
  if (main !== undefined && turn === undefined) return undefined
  return {
    turn,
    isNewTurn: turn_id =>
      registry.findEnded(idsOf('pre_llm_call', { session_id: sessionId, turn_id }, host), 0, false) === undefined &&
      delegations.find(host, { child_session_id: sessionId }) === undefined,
  }
}

function viewTurn(turn: TrackedTurn): TurnView | undefined {
  const { turnId, root, open, history } = turn
  if (turnId === undefined || root === undefined || root.ended || turn.sharedWith.length > 0) return undefined
  if (turn.isSide || turn.isBackground || turn.isReview || turn.delegation !== undefined) return undefined
  if (turn.answeredAt !== undefined || turn.deadEnd !== undefined || open.size > OPEN_SPANS_LIMIT) return undefined
  const { traceId, spanId, traceFlags } = root.span.spanContext()
  if (traceFlags !== SAMPLED || !isSpanContextValid({ traceId, spanId, traceFlags })) return undefined
  const openSpan = (kind: ViewedKind, key: string): ViewedSpan | undefined =>
    viewSpan(open.find(slot(kind, kind === 'llm' ? LOOP : key)))
  return {
    turnId,
    traceId,
    rootSpanId: spanId,
    activityAt: turn.activityAt,
    openSpan,
    hasEndedSpan: (kind, key) => history.ended.get(slot(kind, kind === 'llm' ? LOOP : key)) !== undefined,
    requests: open
      .all(({ kind }) => kind === 'api')
      .reverse()
      .map(request => request.slot.slice(slot('api', '').length)),
  }
}

function viewSpan(open: TrackedSpan | undefined): ViewedSpan | undefined {
  return open && { spanId: open.span.spanContext().spanId, retryCount: peek(open.start, 'retry_count') }
}

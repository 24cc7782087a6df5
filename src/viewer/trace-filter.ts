import type { StoredSpan } from './stored-span.ts'

/** Which traces to take; of several conditions all must hold, each of some span of the trace. */
export interface TraceFilter {
  /** The beginning of its id. */
  readonly traceId?: string
  /** The beginning of a session's id; a sub-agent's session finds the trace of its parent. */
  readonly sessionId?: string
  /** The beginning of the name of a model that was asked. */
  readonly model?: string
  /** The beginning of the name of a tool that was used. */
  readonly tool?: string
  /** Something in it has failed. */
  readonly hasError?: boolean
  /** Epoch milliseconds: something in it ended then or later, or is still running. */
  readonly sinceAt?: number
}

type Condition = (span: StoredSpan) => boolean

/** Which conditions of a filter some span of a trace has met, a bit each. */
export type Met = number

/** Judges a trace span by span, in whatever order they come. */
export class FilterMatcher {
  readonly #conditions: readonly Condition[]

  constructor(filter: TraceFilter) {
    this.#conditions = conditionsOf(filter)
  }

  /** What is met when this span is there, too. */
  add(met: Met, span: StoredSpan): Met {
    return this.#conditions.reduce((bits, holds, index) => {
      const bit = 1 << index
      return (bits & bit) === 0 && holds(span) ? bits | bit : bits
    }, met)
  }

  isMet(met: Met): boolean {
    return met === (1 << this.#conditions.length) - 1
  }

  matches(spans: Iterable<StoredSpan>): boolean {
    let met: Met = 0
    for (const span of spans) met = this.add(met, span)
    return this.isMet(met)
  }
}

const MODEL_NAMES = ['gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name']
const TOOL_NAMES = ['gen_ai.tool.name', 'tool.name']
const SESSION_NAMES = ['session.id', 'gen_ai.conversation.id']

function conditionsOf({ traceId, sessionId, model, tool, hasError, sinceAt }: TraceFilter): Condition[] {
  const conditions: (Condition | undefined)[] = [
    traceId === undefined ? undefined : span => span.traceId.toLowerCase().startsWith(traceId.toLowerCase()),
    sessionId === undefined ? undefined : span => isOfSession(span, sessionId),
    model === undefined ? undefined : span => begins(span, MODEL_NAMES, model),
    tool === undefined ? undefined : span => begins(span, TOOL_NAMES, tool),
    hasError === true ? ({ status }) => status === 'error' : undefined,
    sinceAt === undefined ? undefined : ({ endAt, running }) => running === true || endAt >= sinceAt,
  ]
  return conditions.filter(condition => condition !== undefined)
}

function isOfSession(span: StoredSpan, sessionId: string): boolean {
  if (begins(span, SESSION_NAMES, sessionId)) return true
  const names = Object.keys(span.attributes).filter(name => name.endsWith('.session.id'))
  return begins(span, names, sessionId)
}

function begins({ attributes }: StoredSpan, names: readonly string[], beginning: string): boolean {
  return names.some(name => {
    const value = attributes[name]
    return typeof value === 'string' && value.startsWith(beginning)
  })
}

import type { StoredSpan } from './stored-span.ts'

/** Conditions on traces. All must hold, each for some span of the trace. */
export interface TraceFilter {
  readonly traceId?: string
  /** Prefix of a session id. The session of a sub-agent finds the trace of its parent. */
  readonly sessionId?: string
  readonly model?: string
  readonly tool?: string
  readonly hasError?: boolean
  /** Epoch milliseconds: a span ended then or later, or is still running. */
  readonly sinceAt?: number
}

type Condition = (span: StoredSpan) => boolean

/** A bit per condition that some span of the trace has met. */
export type MetConditions = number

export class FilterMatcher {
  readonly #conditions: readonly Condition[]

  constructor(filter: TraceFilter) {
    this.#conditions = conditionsOf(filter)
  }

  addSpan(met: MetConditions, span: StoredSpan): MetConditions {
    return this.#conditions.reduce((bits, holds, index) => {
      const bit = 1 << index
      return (bits & bit) === 0 && holds(span) ? bits | bit : bits
    }, met)
  }

  isMet(met: MetConditions): boolean {
    return met === (1 << this.#conditions.length) - 1
  }

  matches(spans: Iterable<StoredSpan>): boolean {
    let met: MetConditions = 0
    for (const span of spans) met = this.addSpan(met, span)
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

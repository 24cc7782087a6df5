import { isPromise } from '../contract/foreign.ts'
import type { HookName, SpanKindName } from '../contract/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import { type Complain, readAttributes } from '../spans/belongings.ts'
import type { Draw } from '../spans/span-definition.ts'
import type { Guard } from './guard.ts'
import type { AnyFired } from './incoming.ts'
import type { OpenSpan } from './turn.ts'

/** The hook record that begins or ends a span, as the host told it. */
export interface EnrichRecord {
  /** Its name */
  readonly hook: HookName
  /** Epoch milliseconds. */
  readonly at: number
  /** The host's own object, not a copy: not to be changed. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** The span that is written. */
export interface EnrichedSpan {
  /** Each span is asked about twice */
  readonly phase: 'start' | 'end'
  /** What it is: `tool`, `api`, … */
  readonly kind: SpanKindName
  /** As drawn: `tool.terminal` */
  readonly name: string
  /** 32 hex digits */
  readonly traceId: string
  /** 16 hex digits */
  readonly spanId: string
  /** The span's own: a child agent's spans have the child's */
  readonly sessionId: string | undefined
  /** Of the turn that it belongs to */
  readonly turnId: string | undefined
  /** Epoch milliseconds. */
  readonly startAt: number
  /** Epoch milliseconds; at the end only. */
  readonly endAt: number | undefined
  /** At the end of what failed: the value of `error.type`. */
  readonly errorType: string | undefined
}

/** Attributes of one's own for a span: a flat map of text, numbers and booleans; nothing for none. */
export type Enrich = (
  record: EnrichRecord,
  span: EnrichedSpan,
) => Readonly<Record<string, string | number | boolean | null | undefined>> | null | undefined

/** What is known at the end only. */
export interface EndFacts {
  readonly at: number
  readonly errorType: string | undefined
}

/** On average a call may take so long; told when it has cost this much in all. */
const SLOW_MILLIS = 1
const SLOW_IN_ALL_MILLIS = 50
/** What we add to the record that ends a turn. */
const INTERNAL = new Set([
  'finalStatus',
  'totals',
  'durationMillis',
  'agentName',
  'isBackground',
  'traceId',
  'isPart',
  'judgedEarly',
])

/** Asks somebody else's callback what else is to be said of a span. The agent waits for it. */
export class Enrichment {
  readonly #enrich: Enrich
  readonly #draw: Draw
  readonly #guard: Guard
  readonly #clock: () => number
  readonly #complain: Complain
  #isAsking = false
  #isSlowTold = false
  #calls = 0
  #millis = 0

  /** @param clock milliseconds, of any beginning */
  constructor(enrich: Enrich, draw: Draw, guard: Guard, clock: () => number) {
    this.#enrich = enrich
    this.#draw = draw
    this.#guard = guard
    this.#clock = clock
    this.#complain = line => guard.tell(line)
  }

  /** Undefined when there is nothing to add. */
  ask(open: OpenSpan, fired: AnyFired, end?: EndFacts): AttributeList | undefined {
    // What it does may be told to us by hooks, and is not to be enriched in turn.
    if (this.#isAsking) return undefined
    this.#isAsking = true
    const answer = this.#guard.call('enrich', this.#timed, undefined, recordOf(fired), spanOf(open, end), undefined)
    this.#isAsking = false
    return answer == null ? undefined : this.#read(answer)
  }

  readonly #timed = (record: EnrichRecord, span: EnrichedSpan): unknown => {
    const since = this.#clock()
    try {
      return this.#enrich(record, span)
    } finally {
      this.#time(this.#clock() - since)
    }
  }

  #read(answer: unknown): AttributeList | undefined {
    if (isPromise(answer)) {
      this.#complain('enrich: it returned a promise, which no span can wait for; nothing is added')
      return undefined
    }
    if (typeof answer !== 'object') {
      this.#complain('enrich: expected an object of attributes; nothing is added')
      return undefined
    }
    const list = new AttributeList()
    for (const [name, value] of readAttributes('enrich', answer, this.#draw, this.#complain)) list.set(name, value)
    return list
  }

  #time(millis: number): void {
    this.#calls += 1
    this.#millis += millis
    const mean = this.#millis / this.#calls
    if (this.#isSlowTold || this.#millis < SLOW_IN_ALL_MILLIS || mean < SLOW_MILLIS) return
    this.#isSlowTold = true
    this.#complain(`enrich takes ${mean.toFixed(1)} ms each time it is called, and the agent waits for it`)
  }
}

function recordOf({ hook, at, payload }: AnyFired): EnrichRecord {
  if (hook !== 'on_session_end') return { hook, at, payload }
  const told = Object.entries(payload).filter(([name, value]) => value !== undefined && !INTERNAL.has(name))
  return { hook, at, payload: Object.fromEntries(told) }
}

function spanOf({ kind, name, span, turn, startAt }: OpenSpan, end?: EndFacts): EnrichedSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    phase: end === undefined ? 'start' : 'end',
    kind,
    name,
    traceId,
    spanId,
    sessionId: turn.session.id,
    turnId: turn.turnId,
    startAt,
    endAt: end?.at,
    errorType: end?.errorType,
  }
}

import { isPromise } from '../contract/foreign.ts'
import type { HookName, SpanKindName } from '../contract/index.ts'
import type { Guard } from './guard.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AnyHookEvent, AttributeOptions } from './spans/span-definition.ts'
import { readAttributes } from './spans/turn-metadata.ts'
import type { TrackedSpan } from './turn.ts'

/** The hook record that starts or ends a span, as the host emitted it. */
export interface EnrichRecord {
  /** The name of the hook. */
  readonly hook: HookName
  /** Epoch milliseconds. */
  readonly at: number
  /** The host's own object, not a copy. Do not change it. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** The span that is written. */
export interface EnrichedSpan {
  /** `enrich` is called at the start and at the end of each span. */
  readonly phase: 'start' | 'end'
  /** Kind of the span: `tool`, `api`, … */
  readonly kind: SpanKindName
  /** Name of the span: `tool.terminal` */
  readonly name: string
  /** 32 hex digits */
  readonly traceId: string
  /** 16 hex digits */
  readonly spanId: string
  /** Session of the span: a child agent's spans have the child's. */
  readonly sessionId: string | undefined
  /** The turn of the span. */
  readonly turnId: string | undefined
  /** Epoch milliseconds. */
  readonly startAt: number
  /** Epoch milliseconds; at the end only. */
  readonly endAt: number | undefined
  /** The value of `error.type`, at the end of a span that failed. */
  readonly errorType: string | undefined
}

/** Returns custom attributes of a span: a flat map of text, numbers and booleans, or nothing. */
export type Enrich = (
  record: EnrichRecord,
  span: EnrichedSpan,
) => Readonly<Record<string, string | number | boolean | null | undefined>> | null | undefined

export interface EndFacts {
  readonly at: number
  readonly errorType: string | undefined
}

/** Average time that a call may take. A slow callback is reported once it has cost `SLOW_IN_ALL_MILLIS` in total. */
const SLOW_MILLIS = 1
const SLOW_IN_ALL_MILLIS = 50

export class Enrichment {
  readonly #enrich: Enrich
  readonly #attributeOptions: AttributeOptions
  readonly #guard: Guard
  readonly #clock: () => number
  #isCalling = false
  #isSlowReported = false
  #calls = 0
  #millis = 0

  /** @param sweepByClock false in a replay, in which the duration of the calls does not matter */
  constructor(
    enrich: Enrich,
    { attributeOptions, sweepByClock }: { readonly attributeOptions: AttributeOptions; readonly sweepByClock: boolean },
    guard: Guard,
  ) {
    this.#enrich = enrich
    this.#attributeOptions = attributeOptions
    this.#guard = guard
    this.#clock = sweepByClock ? () => performance.now() : () => 0
  }

  attributesFor(open: TrackedSpan, event: AnyHookEvent, end?: EndFacts): AttributeList | undefined {
    // The callback may emit hooks itself; their spans are not enriched in turn.
    if (this.#isCalling) return undefined
    this.#isCalling = true
    const answer = this.#guard.call('enrich', this.#timed, undefined, recordOf(event), spanOf(open, end), undefined)
    this.#isCalling = false
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
      this.#attributeOptions.warnOnce('enrich: it returned a promise, which no span can wait for; nothing is added')
      return undefined
    }
    if (typeof answer !== 'object') {
      this.#attributeOptions.warnOnce('enrich: expected an object of attributes; nothing is added')
      return undefined
    }
    const list = new AttributeList()
    for (const [name, value] of readAttributes('enrich', answer, this.#attributeOptions)) list.setNamed(name, value)
    return list
  }

  #time(millis: number): void {
    this.#calls += 1
    this.#millis += millis
    const mean = this.#millis / this.#calls
    if (this.#isSlowReported || this.#millis < SLOW_IN_ALL_MILLIS || mean < SLOW_MILLIS) return
    this.#isSlowReported = true
    this.#attributeOptions.warnOnce(
      `enrich takes ${mean.toFixed(1)} ms each time it is called, and the agent waits for it`,
    )
  }
}

function recordOf({ hook, at, payload, reported }: AnyHookEvent): EnrichRecord {
  if (reported === undefined) return { hook, at, payload }
  return { hook, at, payload: Object.fromEntries(Object.entries(reported).filter(([, value]) => value !== undefined)) }
}

function spanOf({ kind, name, span, turn, startAt }: TrackedSpan, end?: EndFacts): EnrichedSpan {
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

import { type Context, type Link, type Span, SpanStatusCode } from '@opentelemetry/api'
import { literal } from '../content/safe-text.ts'
import { numberOf, peek } from '../contract/foreign.ts'
import type { IncompleteReason, SpanKindName } from '../contract/index.ts'
import { GENERAL, LABEL } from '../contract/semconv/index.ts'
import { noteLateFailure } from './delegation.ts'
import type { Enrichment } from './enrichment.ts'
import type { Guard } from './guard.ts'
import type { Instruments } from './instruments.ts'
import type { LogEvents } from './log-events.ts'
import type { CoreOptions } from './options.ts'
import { millis } from './spans/api.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { isFailedCall } from './spans/auxiliary.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { keptStart } from './spans/kept-start.ts'
import type { AnyHookEvent, AttributeOptions, EndedSpan, MetricPoint, SpanEnd } from './spans/span-definition.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import type { ReceivedHook } from './turn-registry.ts'
import { foldEnd, foldStart } from './turn-summary.ts'

type TrackerOptions = CoreOptions & {
  readonly instruments: Instruments
  readonly guard: Guard
  readonly enrichment: Enrichment | undefined
  readonly logEvents: LogEvents | undefined
}

/** Ids of the spans that a record will start, given out before it is processed. */
export interface ReservedIds {
  readonly traceId: string
  /** The root of the turn, if the record opens it. `spanId`: the loop, request or tool that it starts. */
  readonly rootSpanId: string | undefined
  spanId: string | undefined
}

export interface SpanStartOptions {
  readonly slot: string
  readonly parent: Context
  readonly startAt: number
  readonly isExplicit: boolean
  readonly attempt?: number | undefined
  readonly links?: Link[] | undefined
  readonly attributes?: AttributeList | undefined
  /** The record is the end of a span without a start. `computed`: it has a duration; `instant`: it has none. */
  readonly retroactive?: 'computed' | 'instant' | undefined
}

export interface SpanEndOptions {
  readonly incomplete?: IncompleteReason | undefined
  readonly isUnset?: boolean | undefined
}

interface DeferredStart {
  readonly open: TrackedSpan
  readonly event: AnyHookEvent
  readonly options: SpanStartOptions
  isFolded: boolean
}

const NO_POINTS: readonly MetricPoint[] = []

/** Guards against values that are not a duration, in milliseconds. */
const MAX_MILLIS = 4.1e12
/** A host's own end may be this much after the record, because its clock rounds, and its start this much before. */
const TOLERANCE_MILLIS = 1000
const EARLIER_START_MILLIS = 250

type Payload = Readonly<Record<string, unknown>>

export function isRequest(kind: SpanKindName): boolean {
  return kind === 'api' || kind === 'auxiliary'
}

export function isFailedEnd(kind: SpanKindName, { hook, payload }: AnyHookEvent): boolean {
  return hook === 'api_request_error' || (kind === 'auxiliary' && isFailedCall(payload))
}

export function endTime(kind: SpanKindName, { at, payload }: AnyHookEvent, startAt: number): number {
  const reported = isRequest(kind) ? millis(payload['ended_at']) : undefined
  const believable = reported !== undefined && reported >= startAt && reported <= at + TOLERANCE_MILLIS
  return Math.max(startAt, believable ? reported : at)
}

export function reportedDuration(kind: SpanKindName, payload: Payload): number | undefined {
  const reported = isRequest(kind)
    ? (numberOf(payload['api_duration']) ?? Number.NaN) * 1000
    : numberOf(payload['duration_ms'])
  return reported !== undefined && reported >= 0 && reported < MAX_MILLIS ? reported : undefined
}

/**
 * The duration of a span, for attributes and metrics alike. The host's value for a request may cover earlier attempts
 * and the back-off between them. The span's own length is used for a retry, and if the host's value exceeds a span
 * whose start was seen.
 *
 * @param spanMillis undefined if the start was not seen
 */
export function measuredDuration(
  kind: SpanKindName,
  payload: Payload,
  attempt: number,
  spanMillis: number | undefined,
): number | undefined {
  if (!isRequest(kind) && spanMillis !== undefined) return spanMillis
  const reported = reportedDuration(kind, payload)
  if (reported === undefined || spanMillis === undefined) return reported ?? spanMillis
  return attempt > 0 || reported > spanMillis + EARLIER_START_MILLIS ? spanMillis : reported
}

type CountedEnd = Pick<EndedSpan<unknown>, 'startSeen' | 'isSubagent' | 'agentName'>

/** An end that gets no span. */
function countedEnd(kind: SpanKindName, { at, payload }: AnyHookEvent, how: CountedEnd): EndedSpan<unknown> {
  return { startAt: at, endAt: at, start: undefined, durationMillis: reportedDuration(kind, payload), ...how }
}

/** Starts and ends spans, each exactly once. Knows lifetimes, not the attributes that the definitions write. */
export class SpanTracker {
  readonly #options: TrackerOptions
  #openCount = 0
  /** Defers the attributes of a starting tool until `setDeferredAttributes`, or until the tool ends. */
  defersToolAttributes = false
  deferred: DeferredStart | undefined
  reserved: ReservedIds | undefined

  constructor(options: TrackerOptions) {
    this.#options = options
  }

  get openCount(): number {
    return this.#openCount
  }

  keyOf({ hook, definition, payload }: ReceivedHook): string | undefined {
    return this.#options.guard.call(hook, definition.key, undefined, payload, undefined)
  }

  startSpan(turn: TrackedTurn, definition: AnyDefinition, event: AnyHookEvent, options: SpanStartOptions): TrackedSpan {
    const { tracer, attributeOptions, guard } = this.#options
    const { kind } = definition
    const name = guard.call(event.hook, definition.name, literal(kind), event.payload, attributeOptions)
    this.#options.seedIds?.(turn.history.seed, turn.history.nextSeed(options.slot))
    const reserved = kind === 'session' ? this.reserved?.rootSpanId : this.reserved?.spanId
    if (this.reserved !== undefined && reserved !== undefined)
      this.#options.reserveIds?.(this.reserved.traceId, reserved)
    const span = tracer.startSpan(
      name,
      { kind: definition.spanKind, startTime: options.startAt, ...(options.links && { links: options.links }) },
      options.parent,
    )
    const open: TrackedSpan = {
      kind,
      name,
      slot: options.slot,
      definition,
      span,
      turn,
      startAt: options.startAt,
      startIsExplicit: options.isExplicit,
      start: options.retroactive === undefined ? guard.call(event.hook, keptStart, {}, kind, event.payload) : undefined,
      attempt: options.attempt ?? 0,
      context: undefined,
      ended: false,
      followedAt: undefined,
      streamEnd: undefined,
      transformable: undefined,
      activityAt: options.startAt,
      seenAt: 0,
    }
    if (span.isRecording()) {
      if (this.defersToolAttributes && open.kind === 'tool') this.deferred = { open, event, options, isFolded: false }
      else this.#setStartAttributes(open, event, options)
    }
    turn.open.push(open)
    this.#openCount += 1
    return open
  }

  setDeferredAttributes(): void {
    const { deferred } = this
    this.deferred = undefined
    if (deferred === undefined) return
    const { open, event, options, isFolded } = deferred
    this.#setStartAttributes(open, event, options)
    if (isFolded) this.foldStart(open.turn, event)
  }

  endSpan(open: TrackedSpan, event: AnyHookEvent, options: SpanEndOptions = {}): void {
    if (open.ended) return
    const { attributeOptions, guard, instruments } = this.#options
    const ended = this.#closeSpan(open, event, options)
    instruments.record(guard.call(event.hook, open.definition.measure, NO_POINTS, event, attributeOptions, ended))
    guard.call(event.hook, foldEnd, undefined, open.turn, event, attributeOptions, ended)
    if (options.incomplete !== undefined) this.#countIncomplete(options.incomplete)
  }

  /** Ends a span whose end arrived before its start. It was counted at that time. */
  endCounted(open: TrackedSpan, event: AnyHookEvent): void {
    this.#closeSpan(open, event, {})
  }

  abandonSpan(open: TrackedSpan, given: IncompleteReason, endAt: number): void {
    if (open.ended) return
    const { streamEnd, followedAt } = open
    const reason = given === 'turn_ended' && followedAt !== undefined ? 'superseded' : given
    if (streamEnd?.error !== undefined) {
      const { at, error } = streamEnd
      this.endSpan(open, { hook: 'api_request_error', at, payload: { error }, facts: {} }, { incomplete: reason })
      return
    }
    const at = Math.max(open.startAt, Math.min(endAt, streamEnd?.at ?? followedAt ?? endAt))
    this.#detach(open, at, false, false)
    const { facts } = this.#options.attributeOptions
    new AttributeList().set(facts.spanIncomplete, literal(reason)).writeTo(open.span)
    this.#options.guard.call(open.kind, endOtelSpan, undefined, open.span, at)
    this.#countIncomplete(reason)
  }

  /** Adds a start to the turn's totals. If its attributes are deferred, so is this: content is not captured before. */
  foldStart(turn: TrackedTurn, event: AnyHookEvent): void {
    if (this.deferred?.event === event) this.deferred.isFolded = true
    else this.#options.guard.call(event.hook, foldStart, undefined, turn, event, this.#options.attributeOptions)
  }

  countOnly(event: ReceivedHook, turn: TrackedTurn | undefined, how: CountedEnd): void {
    const { attributeOptions, guard, instruments } = this.#options
    const ended = countedEnd(event.definition.kind, event, how)
    instruments.record(guard.call(event.hook, event.definition.measure, NO_POINTS, event, attributeOptions, ended))
    if (turn !== undefined && !turn.hasEnded)
      guard.call(event.hook, foldEnd, undefined, turn, event, attributeOptions, ended)
  }

  /** Adds an end to a turn's totals that was counted before the turn was known. */
  foldCounted(turn: TrackedTurn, kind: SpanKindName, event: AnyHookEvent): void {
    const ended = countedEnd(kind, event, { startSeen: false, isSubagent: false, agentName: undefined })
    this.#options.guard.call(event.hook, foldEnd, undefined, turn, event, this.#options.attributeOptions, ended)
  }

  #closeSpan(open: TrackedSpan, event: AnyHookEvent, options: SpanEndOptions): EndedSpan<unknown> {
    if (this.deferred?.open === open) this.setDeferredAttributes()
    const endAt = endTime(open.kind, event, open.startAt)
    this.#detach(open, endAt, options.incomplete === undefined, isFailedEnd(open.kind, event))
    const { kind, startAt, start, attempt, turn } = open
    const spanMillis = start === undefined ? undefined : endAt - startAt
    const { guard } = this.#options
    const durationMillis = guard.call(event.hook, measuredDuration, undefined, kind, event.payload, attempt, spanMillis)
    const isSubagent = turn.delegation !== undefined
    const { agentName } = turn
    const ended = { startAt, endAt, start, durationMillis, startSeen: start !== undefined, isSubagent, agentName }
    if (open.span.isRecording()) this.#setEndAttributes(open, event, ended, options)
    if (this.#options.logEvents !== undefined && !options.isUnset) this.#emitLogEvent(open, event, ended)
    guard.call(kind, endOtelSpan, undefined, open.span, endAt)
    return ended
  }

  #emitLogEvent({ definition, span, turn }: TrackedSpan, event: AnyHookEvent, ended: EndedSpan<unknown>): void {
    const { attributeOptions, guard, logEvents } = this.#options
    if (definition.logEvent === undefined) return
    const logEvent = guard.call(event.hook, definition.logEvent, undefined, event, attributeOptions, ended)
    if (logEvent !== undefined) logEvents?.emitSpanEvent(logEvent, ended.endAt, span.spanContext(), turn.identity)
  }

  #setStartAttributes(open: TrackedSpan, event: AnyHookEvent, options: SpanStartOptions): void {
    const { attributeOptions, guard, enrichment } = this.#options
    const attributes = guard.call(event.hook, open.definition.start, new AttributeList(), event, attributeOptions)
    const { facts } = attributeOptions
    if (open.kind === 'tool') attributes.set(facts.toolAgentName, open.turn.agentName)
    attributes.set(facts.spanKind, literal(open.kind))
    if (options.retroactive === 'computed') attributes.set(facts.spanRetroactive, true)
    if (event.correlation === 'inferred' || event.correlation === 'ambiguous') {
      attributes.set(facts.correlation, literal(event.correlation))
    }
    open.turn.identity.writeTo(open.span)
    attributes.writeTo(open.span)
    options.attributes?.writeTo(open.span)
    if (options.retroactive === undefined) enrichment?.attributesFor(open, event)?.writeTo(open.span)
  }

  #setEndAttributes(open: TrackedSpan, event: AnyHookEvent, ended: EndedSpan<unknown>, options: SpanEndOptions): void {
    const { attributeOptions, guard, enrichment } = this.#options
    const { facts } = attributeOptions
    const nothing: SpanEnd = { attributes: new AttributeList() }
    const end: SpanEnd = guard.call(event.hook, open.definition.end, nothing, event, attributeOptions, ended)
    const { attributes } = end
    const error = options.isUnset ? undefined : end.error
    if (options.incomplete !== undefined) attributes.set(facts.spanIncomplete, literal(options.incomplete))
    if (error !== undefined) attributes.set(facts.errorType, error.type)
    if (error !== undefined) noteLateFailure(open, attributes, attributeOptions)
    if (open.kind === 'api' || open.kind === 'llm') {
      guard.call(event.hook, nameByModel, undefined, open, event, attributeOptions)?.writeTo(open.span)
    }
    attributes.writeTo(open.span)
    enrichment?.attributesFor(open, event, { at: ended.endAt, errorType: error?.type })?.writeTo(open.span)
    if (error !== undefined && end.exception) {
      const exception = {
        [GENERAL.exceptionType]: error.type,
        [GENERAL.exceptionMessage]: error.message,
        [GENERAL.exceptionEscaped]: true,
      }
      open.span.addEvent('exception', exception, ended.endAt)
    }
    if (options.isUnset) return
    if (error !== undefined) {
      open.turn.totals.signs.errors += 1
      const message = error.message === undefined ? {} : { message: error.message }
      open.span.setStatus({ code: SpanStatusCode.ERROR, ...message })
    } else open.span.setStatus({ code: SpanStatusCode.OK })
  }

  #countIncomplete(reason: IncompleteReason): void {
    this.#options.instruments.add('spansIncomplete', 1, { [LABEL.reason]: reason })
  }

  #detach(open: TrackedSpan, endAt: number, byHost: boolean, failed: boolean): void {
    const { turn, slot, span, startAt, attempt } = open
    open.ended = true
    this.#openCount -= 1
    turn.open.remove(open)
    // The end of a later attempt may have arrived first. Its mark must stay, to recognise a repeat.
    const known = isRequest(open.kind) ? turn.history.ended.get(slot) : undefined
    if (known !== undefined && known.attempt > attempt) {
      turn.history.ended.set(slot, { ...known, earlierStartAt: startAt })
      return
    }
    turn.history.ended.set(slot, { context: span.spanContext(), startAt, endAt, attempt, byHost, failed })
  }
}

/** Calls the span processors, which may be user code: one that throws must not keep the rest of a turn open. */
const endOtelSpan = (span: Span, at: number): void => span.end(at)

/** Renames a span if the model is known only at the end: `llm` -> `llm.claude-opus-5-5`. */
function nameByModel(open: TrackedSpan, event: AnyHookEvent, options: AttributeOptions): AttributeList | undefined {
  const { kind, definition, name, span, start } = open
  if (peek(start, 'model') !== undefined) return undefined
  const { facts, capture } = options
  const model = capture.id(peek(event.payload, 'model'))
  const named = definition.name(event.payload, options)
  if (model === undefined || named === name) return undefined
  span.updateName(named)
  // The end of a turn names the model that answered, which may differ from the requested one.
  return new AttributeList()
    .set(facts.inferenceModel, model)
    .set(facts.requestModel, kind === 'api' ? model : undefined)
}

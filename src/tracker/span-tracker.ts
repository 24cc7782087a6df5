import { type Context, type Link, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { literal } from '../content/capture.ts'
import type { IncompleteReason } from '../contract/index.ts'
import { LABEL } from '../contract/semconv/index.ts'
import type { EndFacts, Enrichment } from './enrichment.ts'
import type { Guard } from './guard.ts'
import type { AnyHookEvent } from './incoming.ts'
import type { Instruments } from './instruments.ts'
import { nameByModel } from './late-model.ts'
import type { LogEvents } from './log-events.ts'
import { durationOf, endTime, isFailedEnd, isRequest, saidDuration } from './span-ends.ts'
import { AttributeList } from './spans/attribute-list.ts'
import type { AnyDefinition } from './spans/hook-plan.ts'
import { keptStart } from './spans/kept-start.ts'
import type { AttributeOptions, EndedSpan, MetricPoint, SpanEnd } from './spans/span-definition.ts'
import type { OpenSpan, Turn } from './turn.ts'
import { type FoldedEnd, foldEnd, foldStart } from './turn-summary.ts'
import { noteLateFailure } from './turns-above.ts'

export interface TrackerOptions {
  readonly tracer: Tracer
  readonly draw: AttributeOptions
  readonly instruments: Instruments
  readonly guard: Guard
  /** Sets status OK on success. False leaves it unset, as the OpenTelemetry specification prefers. */
  /** Seeds the ids of the next span, for repeatable traces. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  readonly enrichment: Enrichment | undefined
  readonly logEvents: LogEvents | undefined
}

export interface StartOptions {
  readonly slot: string
  readonly parent: Context
  readonly startAt: number
  readonly isExplicit: boolean
  readonly attempt?: number | undefined
  readonly links?: Link[] | undefined
  readonly attributes?: AttributeList | undefined
  /**
   * The start was never seen, and the record is the span's end. `computed`: the start comes from a duration; `instant`:
   * there is none.
   */
  readonly retroactive?: 'computed' | 'instant' | undefined
}

export interface EndOptions {
  /** hookspan ends the span, not the host. */
  readonly incomplete?: IncompleteReason | undefined
  readonly status?: 'drawn' | 'unset' | undefined
}

interface Drawn extends EndedSpan<unknown> {
  readonly endAt: number
}

/** A started span whose attributes are deferred. */
interface Undrawn {
  readonly open: OpenSpan
  readonly fired: AnyHookEvent
  readonly options: StartOptions
  isFolded: boolean
}

const NO_POINTS: readonly MetricPoint[] = []

/** Starts and ends spans, each exactly once. Knows lifetimes, not the attributes that the definitions write. */
export class SpanTracker {
  readonly #options: TrackerOptions
  #openCount = 0
  /** Defers the attributes of a starting tool until `drawRest`, or until the tool ends. */
  drawsToolsLater = false
  #undrawn: Undrawn | undefined

  constructor(options: TrackerOptions) {
    this.#options = options
  }

  get openCount(): number {
    return this.#openCount
  }

  /** The key that pairs an end with its start. Undefined if the record gets no span. */
  keyOf(definition: AnyDefinition, { hook, payload }: AnyHookEvent): string | undefined {
    return this.#options.guard.call(hook, definition.key, undefined, payload, undefined, undefined)
  }

  start(turn: Turn, definition: AnyDefinition, fired: AnyHookEvent, options: StartOptions): OpenSpan {
    const { tracer, draw, guard } = this.#options
    const name = guard.call(fired.hook, definition.name, literal(definition.kind), fired.payload, draw, undefined)
    this.#options.seedIds?.(turn.memory.seed, turn.memory.nextSeed(options.slot))
    const span = tracer.startSpan(
      name,
      { kind: definition.spanKind, startTime: options.startAt, ...(options.links && { links: options.links }) },
      options.parent,
    )
    const open: OpenSpan = {
      kind: definition.kind,
      name,
      slot: options.slot,
      definition,
      span,
      turn,
      startAt: options.startAt,
      startIsExplicit: options.isExplicit,
      start: options.retroactive === undefined ? this.#keep(definition, fired) : undefined,
      attempt: options.attempt ?? 0,
      context: undefined,
      ended: false,
      followedAt: undefined,
      streamEnd: undefined,
      offered: undefined,
      activityAt: options.startAt,
      seenAt: 0,
    }
    if (span.isRecording()) {
      if (this.drawsToolsLater && open.kind === 'tool') this.#undrawn = { open, fired, options, isFolded: false }
      else this.#drawStart(open, fired, options)
    }
    turn.add(open)
    this.#openCount += 1
    return open
  }

  get isUndrawn(): boolean {
    return this.#undrawn !== undefined
  }

  drawRest(): void {
    const undrawn = this.#undrawn
    this.#undrawn = undefined
    if (undrawn === undefined) return
    const { open, fired, options, isFolded } = undrawn
    this.#drawStart(open, fired, options)
    if (isFolded) this.foldStart(open.turn, fired)
  }

  /** Ends a span with its definition's attributes, records its points and adds it to the turn's totals. */
  end(open: OpenSpan, fired: AnyHookEvent, options: EndOptions = {}): void {
    if (open.ended) return
    const { draw, guard, instruments } = this.#options
    const ended = this.#close(open, fired, options)
    instruments.record(guard.call(fired.hook, open.definition.measure, NO_POINTS, fired, draw, ended))
    guard.call(fired.hook, this.#fold, undefined, open.turn, fired, ended)
    if (options.incomplete !== undefined) this.#countIncomplete(options.incomplete)
  }

  /** Ends a span whose end arrived before its start. It was counted at that time. */
  endCounted(open: OpenSpan, fired: AnyHookEvent): void {
    this.#close(open, fired, {})
  }

  /** Ends a span that the host did not end: marks it, leaves the status unset and counts it. */
  abandon(open: OpenSpan, told: IncompleteReason, endAt: number): void {
    if (open.ended) return
    const { streamEnd, followedAt } = open
    const reason = told === 'turn_ended' && followedAt !== undefined ? 'superseded' : told
    if (streamEnd?.error !== undefined) {
      const { at, error } = streamEnd
      this.end(open, { hook: 'api_request_error', at, payload: { error }, facts: {} }, { incomplete: reason })
      return
    }
    const at = Math.max(open.startAt, Math.min(endAt, streamEnd?.at ?? followedAt ?? endAt))
    this.#detach(open, at, false, false)
    const { own } = this.#options.draw.names
    if (own.spanIncomplete !== '') open.span.setAttribute(own.spanIncomplete, reason)
    this.#options.guard.call(open.kind, endSpan, undefined, open.span, at, undefined)
    this.#countIncomplete(reason)
  }

  /** Adds a start to the turn's totals. If its attributes are deferred, so is this: content is not captured before. */
  foldStart(turn: Turn, fired: AnyHookEvent): void {
    if (this.#undrawn?.fired === fired) this.#undrawn.isFolded = true
    else this.#options.guard.call(fired.hook, foldStart, undefined, turn, fired, this.#options.draw)
  }

  /** Handles an end without a span: records its points and adds it to the turn's totals, if there is a turn. */
  countOnly(
    definition: AnyDefinition,
    fired: AnyHookEvent,
    turn: Turn | undefined,
    how: Pick<EndedSpan<unknown>, 'isSubagent' | 'agentName'> & { readonly startSeen: boolean },
  ): void {
    const { draw, guard, instruments } = this.#options
    const durationMillis = saidDuration(definition.kind, fired.payload)
    const ended = { startAt: fired.at, start: undefined, durationMillis, ...how }
    instruments.record(guard.call(fired.hook, definition.measure, NO_POINTS, fired, draw, ended))
    if (turn !== undefined && !turn.over) guard.call(fired.hook, this.#fold, undefined, turn, fired, ended)
  }

  /** Adds an end to a turn's totals that was counted before the turn was known. */
  foldCounted(turn: Turn, definition: AnyDefinition, fired: AnyHookEvent): void {
    const durationMillis = saidDuration(definition.kind, fired.payload)
    const ended = { startAt: fired.at, start: undefined, durationMillis, startSeen: false }
    this.#options.guard.call(fired.hook, this.#fold, undefined, turn, fired, ended)
  }

  #close(open: OpenSpan, fired: AnyHookEvent, options: EndOptions): Drawn & FoldedEnd {
    if (this.#undrawn?.open === open) this.drawRest()
    const endAt = endTime(open.kind, fired, open.startAt)
    this.#detach(open, endAt, options.incomplete === undefined, isFailedEnd(open.kind, fired))
    const { startAt, start, turn } = open
    const durationMillis = this.#options.guard.call(fired.hook, durationOf, undefined, open, fired, endAt)
    const isSubagent = turn.delegation !== undefined
    const { agentName } = turn
    const ended = { startAt, endAt, start, durationMillis, startSeen: start !== undefined, isSubagent, agentName }
    if (open.span.isRecording()) this.#drawEnd(open, fired, ended, options)
    if (this.#options.logEvents !== undefined && options.status !== 'unset') this.#tell(open, fired, ended)
    this.#options.guard.call(open.kind, endSpan, undefined, open.span, endAt, undefined)
    return ended
  }

  #tell({ definition, span, turn }: OpenSpan, fired: AnyHookEvent, ended: Drawn): void {
    const { draw, guard, logEvents } = this.#options
    if (definition.tell === undefined) return
    const told = guard.call(fired.hook, definition.tell, undefined, fired, draw, ended)
    if (told !== undefined) logEvents?.tell(told, ended.endAt, span.spanContext(), turn.identity)
  }

  #keep({ kind }: AnyDefinition, { hook, payload }: AnyHookEvent): unknown {
    return this.#options.guard.call(hook, keptStart, {}, kind, payload, undefined)
  }

  #drawStart(open: OpenSpan, fired: AnyHookEvent, options: StartOptions): void {
    const { draw, guard } = this.#options
    const attributes = guard.call(fired.hook, open.definition.start, new AttributeList(), fired, draw, undefined)
    const { own, genAiNext } = draw.names
    if (open.kind === 'tool') attributes.set(genAiNext.toolAgentName, open.turn.agentName)
    attributes.set(own.spanKind, literal(open.kind))
    if (options.retroactive === 'computed') attributes.set(own.spanRetroactive, true)
    if (fired.correlation === 'inferred' || fired.correlation === 'ambiguous') {
      attributes.set(own.correlation, literal(fired.correlation))
    }
    open.turn.identity.writeTo(open.span)
    attributes.writeTo(open.span)
    options.attributes?.writeTo(open.span)
    if (options.retroactive === undefined) this.#enrich(open, fired)
  }

  #drawEnd(open: OpenSpan, fired: AnyHookEvent, ended: Drawn, options: EndOptions): void {
    const { draw, guard } = this.#options
    const { general, own } = draw.names
    const nothing: SpanEnd = { attributes: new AttributeList() }
    const drawn: SpanEnd = guard.call(fired.hook, open.definition.end, nothing, fired, draw, ended)
    const { attributes } = drawn
    const error = options.status === 'unset' ? undefined : drawn.error
    if (options.incomplete !== undefined) attributes.set(own.spanIncomplete, literal(options.incomplete))
    if (error !== undefined) attributes.set(general.errorType, error.type)
    if (error !== undefined) noteLateFailure(open, attributes, draw)
    guard.call(fired.hook, nameByModel, undefined, open, fired, draw)?.writeTo(open.span)
    attributes.writeTo(open.span)
    this.#enrich(open, fired, { at: ended.endAt, errorType: error?.type })
    if (error !== undefined && drawn.exception) {
      const facts = {
        [general.exceptionType]: error.type,
        [general.exceptionMessage]: error.message,
        [general.exceptionEscaped]: true,
      }
      open.span.addEvent('exception', facts, ended.endAt)
    }
    if (options.status === 'unset') return
    if (error !== undefined) {
      open.turn.totals.signs.errors += 1
      const message = error.message === undefined ? {} : { message: error.message }
      open.span.setStatus({ code: SpanStatusCode.ERROR, ...message })
    } else open.span.setStatus({ code: SpanStatusCode.OK })
  }

  #enrich(open: OpenSpan, fired: AnyHookEvent, end?: EndFacts): void {
    this.#options.enrichment?.ask(open, fired, end)?.writeTo(open.span)
  }

  readonly #fold = (turn: Turn, fired: AnyHookEvent, ended: FoldedEnd): void => {
    foldEnd(turn, fired, this.#options.draw, ended)
  }

  #countIncomplete(reason: IncompleteReason): void {
    this.#options.instruments.add('spansIncomplete', 1, { [LABEL.reason]: reason })
  }

  #detach(open: OpenSpan, endAt: number, byHost: boolean, failed: boolean): void {
    const { turn, slot, span, startAt, attempt } = open
    open.ended = true
    this.#openCount -= 1
    turn.remove(open)
    // The end of a later attempt may have arrived first. Its mark must stay, to recognise a repeat.
    const known = isRequest(open.kind) ? turn.memory.ended(slot) : undefined
    if (known !== undefined && known.attempt > attempt) return
    turn.memory.keepEnded(slot, { context: span.spanContext(), startAt, endAt, attempt, byHost, failed })
  }
}

/**
 * Calls the span processors that `pipeline/pipeline.ts` registers: the trace log or an exporter. They may be user code;
 * one that throws must not keep the rest of a turn open.
 */
const endSpan = (span: Span, at: number): void => span.end(at)

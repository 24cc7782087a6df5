import { type Context, type Link, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { literal } from '../content/capture.ts'
import type { IncompleteReason } from '../contract/index.ts'
import { LABEL } from '../semconv/index.ts'
import { AttributeList } from '../spans/attribute-list.ts'
import type { AnyDefinition } from '../spans/index.ts'
import type { Draw, EndedSpan, Fired, MetricPoint, SpanEnd } from '../spans/span-definition.ts'
import { isFailedEnd, isRequest } from './api-attempts.ts'
import type { EndFacts, Enrichment } from './enrichment.ts'
import type { Guard } from './guard.ts'
import type { Instruments } from './instruments.ts'
import { labelled, type RootLabel } from './root-label.ts'
import { durationOf, endTime, saidDuration } from './span-times.ts'
import type { EndedMark, OpenSpan, Turn } from './turn.ts'
import { noteDeadEnd } from './turn-outcome.ts'
import { foldEnd } from './turn-summary.ts'

export interface TrackerOptions {
  readonly tracer: Tracer
  readonly draw: Draw
  readonly instruments: Instruments
  readonly guard: Guard
  /** Status OK on success; false leaves it unset, as the OpenTelemetry specification prefers. */
  readonly statusOk: boolean
  /** Seeds the ids of the next span, for repeatable traces. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  readonly enrichment: Enrichment | undefined
}

export interface StartOptions {
  readonly key: string
  readonly parent: Context
  readonly startAt: number
  readonly isExplicit: boolean
  readonly attempt?: number | undefined
  readonly links?: Link[] | undefined
  readonly attributes?: AttributeList | undefined
  /** Behind the name. */
  readonly label?: RootLabel | undefined
  /** The start was never seen: the record is the span's end. Computed from a duration, or without any. */
  readonly retroactive?: 'computed' | 'instant' | undefined
}

export interface EndOptions {
  /** We end it, not the host. */
  readonly incomplete?: IncompleteReason
  readonly status?: 'drawn' | 'unset'
}

interface Drawn extends EndedSpan<unknown> {
  readonly endAt: number
}

type AnyFired = Fired<Readonly<Record<string, unknown>>>

const NO_POINTS: readonly MetricPoint[] = []

/** The name of a span among the open and the ended ones of its turn. */
export function slot(definition: AnyDefinition, key: string): string {
  return `${definition.kind} ${key}`
}

/** Starts and ends spans, each exactly once. It knows lifetimes, and nothing of what the rows write. */
export class SpanTracker {
  readonly #options: TrackerOptions
  #openCount = 0

  constructor(options: TrackerOptions) {
    this.#options = options
  }

  get openCount(): number {
    return this.#openCount
  }

  start(turn: Turn, definition: AnyDefinition, fired: AnyFired, options: StartOptions): OpenSpan {
    const { tracer, draw, guard } = this.#options
    const name = guard.call(fired.hook, definition.name, literal(definition.kind), fired.payload, draw, undefined)
    this.#seed(turn, definition, options)
    const span = tracer.startSpan(
      options.label === undefined ? name : labelled(name, options.label),
      { kind: definition.spanKind, startTime: options.startAt, ...(options.links && { links: options.links }) },
      options.parent,
    )
    const open: OpenSpan = {
      kind: definition.kind,
      name,
      key: slot(definition, options.key),
      definition,
      span,
      turn,
      startAt: options.startAt,
      startIsExplicit: options.isExplicit,
      start: options.retroactive === undefined ? fired.payload : undefined,
      attempt: options.attempt ?? 0,
      next: undefined,
      last: undefined,
      context: undefined,
      ended: false,
      followedAt: undefined,
      streamEnd: undefined,
      offered: undefined,
      activityAt: options.startAt,
      seenAt: 0,
    }
    if (span.isRecording()) this.#drawStart(open, fired, options)
    this.#attach(open)
    return open
  }

  /** Ends a span with what its row says, records its points and folds it into the turn's sums. */
  end(open: OpenSpan, fired: AnyFired, options: EndOptions = {}): void {
    if (open.ended) return
    const { draw, guard, instruments } = this.#options
    const ended = this.#close(open, fired, options)
    instruments.record(guard.call(fired.hook, open.definition.measure, NO_POINTS, fired, draw, ended))
    guard.call(fired.hook, this.#fold, undefined, open.turn, fired, ended)
    if (options.incomplete !== undefined) this.#countIncomplete(options.incomplete)
  }

  /** Ends a span with an end that came before its start, and was counted then. */
  endCounted(open: OpenSpan, fired: AnyFired): void {
    this.#close(open, fired, {})
  }

  /** Ends a span that the host did not end: marked, status unset, counted. */
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

  /** The open span under a key; of several that share it, the one that started first. */
  find(turn: Turn, definition: AnyDefinition, key: string): OpenSpan | undefined {
    return turn.open.get(slot(definition, key))
  }

  setAttributes(open: OpenSpan, attributes: AttributeList | undefined): void {
    if (attributes !== undefined && open.span.isRecording()) write(open.span, attributes)
  }

  /** An end that has no span of its own: it counts, and it tells the turn (when there is one) what it knows. */
  countOnly(
    definition: AnyDefinition,
    fired: AnyFired,
    turn: Turn | undefined,
    how: { readonly startSeen: boolean; readonly isSubagent: boolean },
  ): void {
    const { draw, guard, instruments } = this.#options
    const durationMillis = saidDuration(definition.kind, fired.payload)
    const ended = { startAt: fired.at, start: undefined, durationMillis, ...how }
    instruments.record(guard.call(fired.hook, definition.measure, NO_POINTS, fired, draw, ended))
    if (turn !== undefined && !turn.over) guard.call(fired.hook, this.#fold, undefined, turn, fired, ended)
  }

  /** An end that was counted when its turn was not known yet. */
  foldCounted(turn: Turn, definition: AnyDefinition, fired: AnyFired): void {
    const durationMillis = saidDuration(definition.kind, fired.payload)
    const ended = { start: undefined, durationMillis, startSeen: false }
    this.#options.guard.call(fired.hook, this.#fold, undefined, turn, fired, ended)
  }

  #close(open: OpenSpan, fired: AnyFired, options: EndOptions): Drawn & Parameters<typeof foldEnd>[3] {
    const endAt = endTime(open.kind, fired, open.startAt)
    this.#detach(open, endAt, options.incomplete === undefined, isFailedEnd(open.kind, fired))
    const { startAt, start, turn } = open
    const durationMillis = this.#options.guard.call(fired.hook, durationOf, undefined, open, fired, endAt)
    const isSubagent = turn.delegation !== undefined
    const ended = { startAt, endAt, start, durationMillis, startSeen: start !== undefined, isSubagent }
    if (open.span.isRecording()) this.#drawEnd(open, fired, ended, options)
    this.#options.guard.call(open.kind, endSpan, undefined, open.span, endAt, undefined)
    return ended
  }

  #drawStart(open: OpenSpan, fired: AnyFired, options: StartOptions): void {
    const { draw, guard } = this.#options
    const attributes = guard.call(fired.hook, open.definition.start, new AttributeList(), fired, draw, undefined)
    const { own } = draw.names
    attributes.set(own.spanKind, literal(open.kind))
    if (options.retroactive === 'computed') attributes.set(own.spanRetroactive, true)
    if (fired.correlation === 'inferred' || fired.correlation === 'ambiguous') {
      attributes.set(own.correlation, literal(fired.correlation))
    }
    write(open.span, open.turn.identity)
    write(open.span, attributes)
    if (options.attributes !== undefined) write(open.span, options.attributes)
    if (options.retroactive === undefined) this.#enrich(open, fired)
  }

  #drawEnd(open: OpenSpan, fired: AnyFired, ended: Drawn, options: EndOptions): void {
    const { draw, guard, statusOk } = this.#options
    const { general, own } = draw.names
    const nothing: SpanEnd = { attributes: new AttributeList() }
    const drawn: SpanEnd = guard.call(fired.hook, open.definition.end, nothing, fired, draw, ended)
    const { attributes } = drawn
    const error = options.status === 'unset' ? undefined : drawn.error
    if (options.incomplete !== undefined) attributes.set(own.spanIncomplete, literal(options.incomplete))
    if (error !== undefined) attributes.set(general.errorType, error.type)
    write(open.span, attributes)
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
      const message = error.message === undefined ? {} : { message: error.message }
      open.span.setStatus({ code: SpanStatusCode.ERROR, ...message })
    } else if (statusOk) open.span.setStatus({ code: SpanStatusCode.OK })
  }

  #enrich(open: OpenSpan, fired: AnyFired, end?: EndFacts): void {
    const { enrichment } = this.#options
    if (enrichment !== undefined) this.setAttributes(open, enrichment.ask(open, fired, end))
  }

  readonly #fold = (turn: Turn, fired: AnyFired, ended: Parameters<typeof foldEnd>[3]): void => {
    foldEnd(turn.totals, fired, this.#options.draw, ended)
    noteDeadEnd(turn, fired, this.#options.draw)
  }

  #countIncomplete(reason: IncompleteReason): void {
    this.#options.instruments.add('spansIncomplete', 1, { [LABEL.reason]: reason })
  }

  #seed(turn: Turn, definition: AnyDefinition, { key }: StartOptions): void {
    const { seedIds } = this.#options
    if (seedIds === undefined) return
    const identity = `${turn.seed}\u0000${slot(definition, key)}`
    const ordinal = turn.seeds.get(identity) ?? 0
    turn.seeds.set(identity, ordinal + 1)
    seedIds(turn.seed, `${identity}\u0000${ordinal}`)
  }

  #attach(open: OpenSpan): void {
    const head = open.turn.open.get(open.key)
    if (head === undefined) open.turn.open.set(open.key, open)
    else {
      const last = head.last ?? head
      last.next = open
      head.last = open
    }
    open.turn.stack.push(open)
    this.#openCount += 1
  }

  #detach(open: OpenSpan, endAt: number, byHost: boolean, failed: boolean): void {
    open.ended = true
    this.#openCount -= 1
    open.turn.stack.remove(open)
    const head = open.turn.open.get(open.key)
    if (head === open) {
      if (open.next === undefined) open.turn.open.delete(open.key)
      else {
        open.next.last = open.last
        open.turn.open.set(open.key, open.next)
      }
    } else {
      let before = head
      while (before !== undefined && before.next !== open) before = before.next
      if (before !== undefined) before.next = open.next
      if (head !== undefined && head.last === open) head.last = before
    }
    // The end of a later attempt may have come first, and is what a repeat of it is known by.
    const known = isRequest(open.kind) ? open.turn.ended.get(open.key) : undefined
    if (known !== undefined && known.attempt > open.attempt) return
    const mark: EndedMark = {
      context: open.span.spanContext(),
      startAt: open.startAt,
      endAt,
      attempt: open.attempt,
      byHost,
      failed,
    }
    open.turn.ended.set(open.key, mark)
  }
}

/** Behind it are processors that may be anybody's; one that throws must not keep the rest of a turn open. */
const endSpan = (span: Span, at: number): void => span.end(at)

function write(span: Span, { names, values }: AttributeList): void {
  for (let at = 0; at < names.length; at++) span.setAttribute(names[at] as string, values[at] as string)
}

import { type Context, trace } from '@opentelemetry/api'
import { idOf } from '../contract/foreign.ts'
import type { HookMeta, HookName, HookResult } from '../contract/index.ts'
import { isHookName } from '../contract/index.ts'
import { LABEL, LOG_ATTRIBUTE } from '../contract/semconv/index.ts'
import { BoundedMap } from './bounded-map.ts'
import { Enrichment } from './enrichment.ts'
import { Flusher } from './flush.ts'
import { Guard } from './guard.ts'
import { HookCounts } from './hook-counts.ts'
import { HookEnds } from './hook-ends.ts'
import { HookEvents } from './hook-events.ts'
import { HookStarts } from './hook-starts.ts'
import { idsOf, inSession, isToldApproval, plausibleAt, type ReceivedHook, type RecordIds } from './incoming.ts'
import { Instruments } from './instruments.ts'
import { type HostLine, LogEvents } from './log-events.ts'
import type { CoreOptions } from './options.ts'
import { SessionChanges } from './session-changes.ts'
import { PayloadLinter } from './slips.ts'
import { SpanTracker } from './span-tracker.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { HOOK_PLAN } from './spans/hook-plan.ts'
import type { SamplingReason } from './spans/keep.ts'
import type { CoreStats, CrashedTrace } from './stats.ts'
import { formatTraceparent, namedSpan, spanBeside } from './traceparent.ts'
import { TurnFacts } from './turn-facts.ts'
import { TurnLifecycle } from './turn-lifecycle.ts'
import { TurnOpening } from './turn-opening.ts'
import { TurnRegistry } from './turn-registry.ts'

const DELIVERIES_LIMIT = 10_000
/** Clock of a replay, in which the duration of `enrich` calls does not matter. */
const NO_CLOCK = (): number => 0
const UNKNOWN_HOOK = 'unknown'
/** The longest delay until the timer notices a silent turn. */
const SWEEP_INTERVAL_MILLIS = 10_000
/**
 * A live record may be this far ahead of our clock. Beyond it our clock is used: one such record must not expire all
 * other turns.
 */
const FUTURE_LIMIT_MILLIS = 24 * 3_600_000

/** The whole core: receives hook records, emits spans and metric points. No input makes it throw. */
export class Core {
  readonly #options: CoreOptions
  readonly #guard: Guard
  readonly #slips: PayloadLinter
  readonly #instruments: Instruments
  readonly #logEvents: LogEvents | undefined
  readonly #registry: TurnRegistry
  readonly #tracker: SpanTracker
  readonly #lifecycle: TurnLifecycle
  readonly #starts: HookStarts
  readonly #ends: HookEnds
  readonly #events: HookEvents
  readonly #changes: SessionChanges
  readonly #flusher: Flusher | undefined
  readonly #deliveries = new BoundedMap<string, true>(DELIVERIES_LIMIT)
  readonly #counts = new HookCounts()
  #timer: NodeJS.Timeout | undefined
  /** Time of the last record. A replay uses it for a record without a time. */
  #lastAt = 0
  #over = false

  constructor(options: CoreOptions) {
    this.#options = options
    const { report, nearestName } = options
    const { id } = options.draw.capture
    this.#guard = new Guard(report, name => id(name) ?? 'an error without a name')
    this.#slips = new PayloadLinter(
      report,
      nearestName,
      name => id(name) ?? '(a name that is not shown)',
      !options.sweepByClock,
    )
    this.#instruments = this.#createInstruments()
    this.#logEvents = options.log && new LogEvents(options, this.#isReadAgain, line => this.#guard.tell(line))
    this.#tracker = this.#createTracker()
    this.#registry = new TurnRegistry(options.draw)
    this.#lifecycle = new TurnLifecycle(options, this.#registry, this.#tracker)
    const facts = new TurnFacts(options.draw, this.#guard)
    const known = { options, registry: this.#registry, tracker: this.#tracker, lifecycle: this.#lifecycle, facts }
    const opening = new TurnOpening(known)
    this.#starts = new HookStarts({ ...known, opening })
    this.#ends = new HookEnds({ ...known, opening })
    this.#events = new HookEvents(options.draw, this.#registry, this.#lifecycle)
    this.#changes = new SessionChanges(options.draw.capture, this.#registry, this.#lifecycle)
    this.#flusher = options.flush && new Flusher(options.flush, options.flushWaitMillis, options)
    if (options.sweepByClock) this.#startTimer()
  }

  /**
   * Receives one hook record. Returns a promise only for the end of a session, so that the host can await the flush.
   *
   * @param isAskedFor the caller waits only for the position of the span: the attributes of a tool span are set by
   * `drawRest`
   */
  on(hook: string, payload: unknown, meta: HookMeta | undefined, isAskedFor = false): Promise<void> | undefined {
    if (this.#over) {
      this.#counts.countLate()
      return undefined
    }
    this.drawRest()
    const settledBefore = this.#lifecycle.settled
    const errorsBefore = this.#guard.count
    this.#tracker.drawsToolsLater = isAskedFor
    const isKnown = isHookName(hook)
    const result: HookResult = isKnown
      ? this.#guard.call(hook, this.#taking, 'error', hook, payload, meta)
      : this.#guard.call(UNKNOWN_HOOK, this.#ignoring, 'error', hook, undefined, undefined)
    if (this.#isReadAgain()) return undefined
    this.#counts.count(isKnown ? hook : UNKNOWN_HOOK, this.#guard.count > errorsBefore ? 'error' : result)
    if (this.#options.settle !== undefined) this.#guard.run('settle', this.#options.settle, undefined)
    const isSettled = this.#lifecycle.settled > settledBefore
    if (!isSettled || this.#flusher === undefined || !this.#options.flushOnSessionEnd) return undefined
    const flushed = this.#flusher.turnEnded()
    return hook === 'on_session_end' ? flushed : undefined
  }

  /** Sets the attributes that were deferred for a waiting caller. The next record does it, too. */
  drawRest(): void {
    if (this.#tracker.isUndrawn) this.#guard.run('draw', () => this.#tracker.drawRest(), undefined)
  }

  /** Flushes everything recorded until now. Resolves after the flush wait at the latest and never rejects. */
  flush(): Promise<void> {
    return this.#flusher?.request() ?? Promise.resolve()
  }

  /** Ends everything that is open as `shutdown`. Idempotent; later records are ignored. */
  endAll(): void {
    if (this.#over) return
    this.leaveOpen()
    this.#lifecycle.endAll(end => this.#guard.run('shutdown', end, undefined))
  }

  /** Ignores later records and leaves spans open, because another process continues them. */
  leaveOpen(): void {
    this.#over = true
    clearInterval(this.#timer)
  }

  /**
   * Applies the sampling rules to the turns of a trace before they end. `none` means not kept; undefined if no such
   * turn is open.
   */
  judgeEarly(traceId: string): SamplingReason | undefined {
    return this.#guard.run('keep', () => this.#lifecycle.judgeEarly(traceId), undefined)
  }

  /** Counts spans that another process left open when it was killed. They have been ended on its behalf. */
  countCrashed(crashed: readonly CrashedTrace[]): void {
    for (const { spans, ...outermost } of crashed) {
      this.#instruments.add('spansIncomplete', spans, { [LABEL.reason]: 'crashed' })
      const attributes = new AttributeList().set(LOG_ATTRIBUTE.spans, spans)
      this.#logEvents?.tell({ event: 'crashFound', attributes }, this.#options.now(), { ...outermost, traceFlags: 1 })
    }
  }

  stats(): CoreStats {
    const open = { spansOpen: this.#tracker.openCount, turnsOpen: this.#lifecycle.turnsOpen }
    return { hooks: this.#counts.total, ...open, openSince: this.#lifecycle.openSince(), unread: this.#slips.stats }
  }

  /** W3C `traceparent` of exactly the tool or turn that the ids name; undefined if it is not open. */
  traceparent(ids: unknown, host: string): string | undefined {
    return this.#guard.call('traceparent', this.#traceparentOf, undefined, ids, host, undefined)
  }

  /** A context with the span of exactly the tool or turn that the ids name; `base` itself if it is not open. */
  context(ids: unknown, host: string, base: Context): Context {
    return this.#guard.call('context', this.#contextOf, base, ids, host, base)
  }

  log(line: HostLine): void {
    const { host, now, draw } = this.#options
    this.drawRest()
    const write = (): void => this.#logEvents?.line(line, spanBeside(this.#registry, line.about, host), now(), draw)
    this.#guard.run('log', write, undefined)
  }

  readonly #traceparentOf = (ids: unknown, host: string): string | undefined => {
    const named = namedSpan(this.#registry, ids, host)
    return named && formatTraceparent(named.context)
  }

  /** Contains the ids alone: with the span itself, user code could end it or write attributes that are not masked. */
  readonly #contextOf = (ids: unknown, host: string, base: Context): Context => {
    const named = namedSpan(this.#registry, ids, host)
    return named === undefined ? base : trace.setSpanContext(base, named.context)
  }

  readonly #isReadAgain = (): boolean => this.#options.isReadAgain?.() === true

  readonly #ignoring = (hook: string): HookResult => {
    this.#slips.hook(hook)
    return 'ignored'
  }

  readonly #taking = (hook: HookName, payload: unknown, meta: HookMeta | undefined): HookResult => {
    if (this.#isRedelivered(meta)) return 'duplicate'
    this.#slips.look(hook, payload)
    const incoming = this.#receive(hook, payload, meta)
    this.#lifecycle.endSilent(incoming.event.at)
    return this.#route(hook, incoming)
  }

  #receive(hook: HookName, payload: unknown, meta: HookMeta | undefined): ReceivedHook {
    const said = plausibleAt(meta?.at)
    const now = this.#options.now()
    const isExplicit = said !== undefined && (!this.#options.sweepByClock || said < now + FUTURE_LIMIT_MILLIS)
    const fields = typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {}
    const fired: ReceivedHook['event'] = {
      hook,
      at: isExplicit ? said : this.#options.sweepByClock ? now : this.#lastAt || now,
      payload: fields,
      facts: {},
      correlation: meta?.correlation,
    }
    const host = typeof meta?.host === 'string' && meta.host !== '' ? (idOf(meta.host) ?? '') : this.#options.host
    this.#lastAt = fired.at
    return { event: fired, host, ids: this.#idsOf(hook, fields, host), isExplicit, deliveryId: meta?.delivery_id }
  }

  /** Some hosts send the session id as the task id, in records that name neither session nor turn. */
  #idsOf(hook: HookName, fields: Readonly<Record<string, unknown>>, host: string): RecordIds {
    const ids = idsOf(hook, fields)
    const { sessionId, turnId, taskId } = ids
    if (sessionId !== undefined || turnId !== undefined || taskId === undefined) return ids
    const ofSession = inSession(ids, taskId)
    return this.#registry.knownSession(host, ofSession) === undefined ? ids : ofSession
  }

  #route(hook: HookName, incoming: ReceivedHook): HookResult {
    const { definition, phase } = HOOK_PLAN[hook]
    if (isToldApproval(incoming.event)) return 'ok'
    if (definition.kind === 'session' && phase !== 'event') this.#registry.noteSessionHook(incoming.host)
    if (phase === 'event') return this.#events.take(incoming)
    if (phase === 'identity') {
      return hook === 'on_session_reset' ? this.#changes.reset(incoming) : this.#changes.finalize(incoming)
    }
    if (phase === 'start') {
      if (definition.kind === 'session') return this.#starts.session(incoming)
      return definition.kind === 'llm'
        ? this.#starts.turn(definition, incoming)
        : this.#starts.span(definition, incoming)
    }
    if (definition.kind === 'session') return this.#ends.session(incoming)
    return definition.kind === 'subagent'
      ? this.#ends.subagent(definition, incoming)
      : this.#ends.span(definition, incoming)
  }

  #isRedelivered(meta: HookMeta | undefined): boolean {
    const id = idOf(meta?.delivery_id)
    if (id === undefined) return false
    const key = `${idOf(meta?.host) ?? ''}\u0000${id}`
    if (this.#deliveries.has(key)) return true
    this.#deliveries.set(key, true)
    return false
  }

  #startTimer(): void {
    const everyMillis = Math.min(SWEEP_INTERVAL_MILLIS, Math.max(1000, this.#options.rootSpanTtlMillis / 10))
    this.#timer = setInterval(() => {
      this.#options.catchUp?.()
      const now = this.#options.now()
      this.#guard.run('sweep', () => this.#lifecycle.endUnseen(now), undefined)
    }, everyMillis)
    this.#timer.unref()
  }

  #createInstruments(): Instruments {
    const { meter, namespace, emitGenAiMetrics: emitGenAi, gauges } = this.#options
    const { catchUp, draw } = this.#options
    return new Instruments(
      meter,
      { namespace, emitGenAi, emitGenAiNext: draw.nextMetrics, catchUp, isMuted: this.#isReadAgain },
      {
        hooks: result => this.#counts.observe(result),
        spansOpen: result => result.observe(this.#tracker.openCount),
        turnsOpen: result => result.observe(this.#lifecycle.turnsOpen),
        ...gauges,
      },
    )
  }

  #createTracker(): SpanTracker {
    const { enrich, draw, sweepByClock } = this.#options
    const guard = this.#guard
    const enrichment = enrich && new Enrichment(enrich, draw, guard, sweepByClock ? () => performance.now() : NO_CLOCK)
    return new SpanTracker({
      ...this.#options,
      instruments: this.#instruments,
      guard,
      enrichment,
      logEvents: this.#logEvents,
    })
  }
}

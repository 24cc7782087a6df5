import { type Context, type Meter, type ObservableResult, trace } from '@opentelemetry/api'
import { idOf, plausibleAt } from '../contract/foreign.ts'
import type { HookMeta, HookName, HookResult } from '../contract/index.ts'
import { LABEL, LOG_ATTRIBUTE } from '../contract/semconv/index.ts'
import { BoundedMap } from './bounded-map.ts'
import { sampleEarly } from './delegation.ts'
import { Enrichment } from './enrichment.ts'
import { Flusher } from './flush.ts'
import { Guard } from './guard.ts'
import { HookProcessor } from './hook-processor.ts'
import { Instruments } from './instruments.ts'
import { type HostLine, LogEvents } from './log-events.ts'
import type { CoreOptions } from './options.ts'
import { PayloadLinter } from './payload-linter.ts'
import { type SessionView, viewSession } from './session-view.ts'
import { type ReservedIds, SpanTracker } from './span-tracker.ts'
import { AttributeList } from './spans/attribute-list.ts'
import { HOOK_PLAN, type HookPlan } from './spans/hook-plan.ts'
import type { SamplingReason } from './spans/keep.ts'
import type { CoreStats, CrashedSpanCount } from './stats.ts'
import { formatTraceparent, namedSpan, spanBeside } from './traceparent.ts'
import { TurnLifecycle } from './turn-lifecycle.ts'
import { idsOf, type ReceivedHook, TurnRegistry } from './turn-registry.ts'

const DELIVERIES_LIMIT = 10_000
const UNKNOWN_HOOK = 'unknown'
const SWEEP_INTERVAL_MILLIS = 10_000
/** Beyond this, a live record gets our time instead of its own: one such record must not expire all other turns. */
const FUTURE_LIMIT_MILLIS = 24 * 3_600_000

const PLANS: ReadonlyMap<unknown, HookPlan> = new Map(Object.entries(HOOK_PLAN))

type Counts = Record<HookResult, number>
const RESULTS = ['ok', 'ignored', 'duplicate', 'error'] as const

function noCounts(): Counts {
  return { ok: 0, ignored: 0, duplicate: 0, error: 0 }
}

class HookCounts {
  readonly #byHook = new Map<string, Counts>()
  /** Records that arrived after shutdown. No metric shows them. */
  late = 0

  get total(): Readonly<Counts> {
    const total = { ...noCounts(), ignored: this.late }
    for (const counts of this.#byHook.values()) for (const result of RESULTS) total[result] += counts[result]
    return total
  }

  count(hook: string, result: HookResult): void {
    let counts = this.#byHook.get(hook)
    if (counts === undefined) {
      counts = noCounts()
      this.#byHook.set(hook, counts)
    }
    counts[result] += 1
  }

  observe(observer: ObservableResult): void {
    for (const [hook, counts] of this.#byHook) {
      for (const result of RESULTS)
        if (counts[result] > 0) observer.observe(counts[result], { [LABEL.hook]: hook, [LABEL.result]: result })
    }
  }
}

/** The whole core: receives hook records, emits spans and metric points. No input makes it throw. */
export class Core {
  readonly #options: CoreOptions
  readonly #guard: Guard
  readonly #linter: PayloadLinter
  readonly #instruments: Instruments
  readonly #logEvents: LogEvents | undefined
  readonly #registry: TurnRegistry
  readonly #tracker: SpanTracker
  readonly #lifecycle: TurnLifecycle
  readonly #processor: HookProcessor
  readonly #flusher: Flusher | undefined
  readonly #deliveries = new BoundedMap<string, true>(DELIVERIES_LIMIT)
  readonly #counts = new HookCounts()
  #timer: NodeJS.Timeout | undefined
  #lastAt = 0
  #isClosed = false

  constructor(options: CoreOptions) {
    this.#options = options
    const { id } = options.attributeOptions.capture
    this.#guard = new Guard(options.report, name => id(name) ?? 'an error without a name')
    this.#linter = new PayloadLinter(options, name => id(name) ?? '(a name that is not shown)')
    this.#instruments = new Instruments(options, {
      hooks: result => this.#counts.observe(result),
      spansOpen: result => result.observe(this.#tracker.openCount),
      turnsOpen: result => result.observe(this.#lifecycle.turnsOpen),
      ...options.gauges,
    })
    if (options.meter !== undefined) this.#instruments.attach(options.meter)
    this.#logEvents = options.log && new LogEvents(options)
    this.#tracker = new SpanTracker({
      ...options,
      instruments: this.#instruments,
      guard: this.#guard,
      enrichment: options.enrich && new Enrichment(options.enrich, options, this.#guard),
      logEvents: this.#logEvents,
    })
    this.#registry = new TurnRegistry(options.attributeOptions)
    this.#lifecycle = new TurnLifecycle(options, this.#registry, this.#tracker)
    this.#processor = new HookProcessor(options, this.#registry, this.#tracker, this.#lifecycle)
    this.#flusher = options.flush && new Flusher(options.flush, options.flushWaitMillis, options)
    if (options.sweepByClock) this.#startTimer()
  }

  attachMeter(meter: Meter): void {
    this.#instruments.attach(meter)
  }

  /**
   * Receives one hook record. Returns a promise only for the end of a session, so that the host can await the flush.
   *
   * @param needsSpanContextOnly the caller waits only for the position of the span: the attributes of a tool span are set by
   * `setDeferredAttributes`
   * @param reserved ids that the spans of this record have already been promised
   */
  handleHook(
    hook: string,
    payload: unknown,
    meta: HookMeta | undefined,
    needsSpanContextOnly = false,
    reserved?: ReservedIds,
  ): Promise<void> | undefined {
    if (this.#isClosed) {
      this.#counts.late += 1
      return undefined
    }
    this.setDeferredAttributes()
    const endedBefore = this.#lifecycle.endedCount
    const errorsBefore = this.#guard.count
    this.#tracker.defersToolAttributes = needsSpanContextOnly
    this.#tracker.reserved = reserved
    const plan = PLANS.get(hook)
    const result: HookResult =
      plan === undefined
        ? this.#guard.call(UNKNOWN_HOOK, this.#ignoreUnknownHook, 'error', hook, undefined, undefined)
        : this.#guard.call(hook, this.#handle, 'error', hook as HookName, payload, meta, plan)
    if (this.#options.isReadAgain?.()) return undefined
    this.#counts.count(plan === undefined ? UNKNOWN_HOOK : hook, this.#guard.count > errorsBefore ? 'error' : result)
    if (this.#options.flushLogSync !== undefined) this.#guard.run('flush', this.#options.flushLogSync, undefined)
    const hasEndedTurn = this.#lifecycle.endedCount > endedBefore
    if (!hasEndedTurn || this.#flusher === undefined || !this.#options.flushOnSessionEnd) return undefined
    const flushed = this.#flusher.turnEnded()
    return hook === 'on_session_end' ? flushed : undefined
  }

  setDeferredAttributes(): void {
    if (this.#tracker.deferred !== undefined)
      this.#guard.run('attributes', () => this.#tracker.setDeferredAttributes(), undefined)
  }

  /** Flushes everything recorded until now. Resolves after the flush wait at the latest and never rejects. */
  flush(): Promise<void> {
    return this.#flusher?.request() ?? Promise.resolve()
  }

  endAll(): void {
    if (this.#isClosed) return
    this.leaveOpen()
    this.#lifecycle.endAll(end => this.#guard.run('shutdown', end, undefined))
  }

  /** Ignores later records and leaves spans open, because another process continues them. */
  leaveOpen(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
  }

  /** Samples the turns of a trace before they end. `none`: not kept; undefined if no such turn is open. */
  sampleEarly(traceId: string): SamplingReason | undefined {
    return this.#guard.run('keep', () => sampleEarly(this.#registry, traceId, this.#options), undefined)
  }

  countCrashed(crashed: readonly CrashedSpanCount[]): void {
    for (const { spans, ...outermost } of crashed) {
      this.#instruments.add('spansIncomplete', spans, { [LABEL.reason]: 'crashed' })
      const attributes = new AttributeList().setNamed(LOG_ATTRIBUTE.spans, spans)
      const context = { ...outermost, traceFlags: 1 }
      this.#logEvents?.emitSpanEvent({ event: 'crashFound', attributes }, this.#options.now(), context)
    }
  }

  stats(): CoreStats {
    const open = { spansOpen: this.#tracker.openCount, turnsOpen: this.#lifecycle.turnsOpen }
    return { hooks: this.#counts.total, ...open, openSince: this.#lifecycle.openSince(), unread: this.#linter.stats }
  }

  /** W3C `traceparent` of exactly the tool or turn that the ids name; undefined if it is not open. */
  traceparent(ids: unknown, host: string): string | undefined {
    return this.#guard.call('traceparent', this.#traceparentOf, undefined, ids, host, undefined)
  }

  /** Undefined if the effect of the session's next records cannot be foreseen. */
  viewSession(sessionId: string): SessionView | undefined {
    return viewSession(this.#registry, this.#lifecycle, this.#options.host, sessionId)
  }

  context(ids: unknown, host: string, base: Context): Context {
    return this.#guard.call('context', this.#contextOf, base, ids, host, base)
  }

  log(line: HostLine): void {
    const { host, now, attributeOptions } = this.#options
    this.setDeferredAttributes()
    const write = (): void =>
      this.#logEvents?.emitHostLine(line, spanBeside(this.#registry, line.about, host), now(), attributeOptions)
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

  readonly #ignoreUnknownHook = (hook: string): HookResult => {
    this.#linter.checkHookName(hook)
    return 'ignored'
  }

  readonly #handle = (hook: HookName, payload: unknown, meta: HookMeta | undefined, plan: HookPlan): HookResult => {
    if (this.#isRedelivered(meta)) return 'duplicate'
    this.#linter.checkPayload(hook, payload)
    const event = this.#receive(hook, payload, meta, plan)
    this.#lifecycle.expire(event.at, 'activityAt')
    return this.#processor.process(event, plan.phase)
  }

  #receive(hook: HookName, payload: unknown, meta: HookMeta | undefined, { definition }: HookPlan): ReceivedHook {
    const reported = plausibleAt(meta?.at)
    const now = this.#options.now()
    const isExplicit = reported !== undefined && (!this.#options.sweepByClock || reported < now + FUTURE_LIMIT_MILLIS)
    const fields = typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {}
    const at = isExplicit ? reported : this.#options.sweepByClock ? now : this.#lastAt || now
    this.#lastAt = at
    const host = typeof meta?.host === 'string' && meta.host !== '' ? (idOf(meta.host) ?? '') : this.#options.host
    const ids = idsOf(hook, fields, host)
    const { turnId, taskId, apiRequestId, toolCallId } = ids
    let { sessionId } = ids
    if (sessionId === undefined && turnId === undefined && taskId !== undefined) {
      // Some hosts send the session id as the task id, in records that name neither session nor turn.
      const isSession = this.#registry.knownSession({ ...ids, sessionId: taskId }) !== undefined
      if (isSession) sessionId = taskId
    }
    // Each field by its name, because V8 takes several times as long for a spread.
    return {
      hook,
      definition,
      at,
      payload: fields,
      facts: {},
      correlation: meta?.correlation,
      host,
      sessionId,
      turnId,
      taskId,
      apiRequestId,
      toolCallId,
      isExplicit,
      deliveryId: meta?.delivery_id,
    }
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
      this.#guard.run('sweep', () => this.#lifecycle.expire(now, 'seenAt'), undefined)
    }, everyMillis)
    this.#timer.unref()
  }
}

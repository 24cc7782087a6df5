import { existsSync } from 'node:fs'
import type { Attributes, MeterProvider, Span } from '@opentelemetry/api'
import type { IMetricReader } from '@opentelemetry/sdk-metrics'
import type { BackendConfig } from '../backends/backend-config.ts'
import type { PlainResource, RecoveredTrace, Resend, ResendRequest } from '../trace-log/index.ts'
import { keptDirectory, LossLog, Store } from '../trace-log/index.ts'
import { type BackendPlan, planBackend } from './backend-plan.ts'
import { codeOf } from './delivery.ts'
import { DeliveryReport } from './delivery-report.ts'
import { type LogCounts, LogEmitter } from './log-queue.ts'
import type { LogEvent } from './log-sink.ts'
import { createMetricReader, type MetricQueue } from './metrics.ts'
import { type OpenBackend, openBackend } from './open-backend.ts'
import type { OwnTracerProvider } from './own-tracer.ts'
import { PrometheusEndpoint } from './prometheus.ts'
import type { OwnMeterProvider } from './providers.ts'
import { createMeterProvider, createOwnTracerProvider, createResource, createSdkTracerProvider } from './providers.ts'
import { http, https } from './sdk.ts'
import type { LocalLogSettings, PipelineSettings, Reporter } from './settings.ts'
import { SpanIdGenerator } from './span-id-generator.ts'
import { directProcessor, newSpanFilter, type SpanListener } from './span-processors.ts'
import { NO_SPANS, type SpanCounts, type SpanQueue } from './span-queue.ts'
import { type EarlyDecision, TailSampler } from './tail-sampler.ts'
import { type UserExtensionOptions, type UserExtensions, userExtensions, within } from './user-extensions.ts'

const BURST_SPANS = 65_536
const LAST_WORDS_MILLIS = 200
/** The metrics SDK is loaded this long after the pipeline is opened, or when metrics are first read. */
const METRICS_DELAY_MILLIS = 1000

/** Counts of the spans for one backend by outcome. */
export interface BackendStats extends SpanCounts {
  /** Configured name; `local_log` for the local trace log */
  readonly name: string
  /** Kind of backend */
  readonly type: string
  /** Undelivered spans stay in the trace log until they are delivered. */
  readonly isKept: boolean
  /** Bytes of the trace log that this process has still to deliver. */
  readonly spoolBytes: number
  /** Present if the backend accepts logs. */
  readonly logs?: LogCounts
  /** The latest error, in words for the user. */
  readonly lastError?: string
}

export interface PipelineStats {
  readonly backends: readonly BackendStats[]
  readonly traceFiles: readonly string[]
}

export type Pipeline = Pick<DeliveryPipeline, keyof DeliveryPipeline>

/** Builds the pipeline without touching anything global. Problems with one backend do not affect the others. */
export function createPipeline(
  settings: PipelineSettings,
  report: Reporter,
  extensions: UserExtensionOptions = {},
): Pipeline {
  const checked = userExtensions(extensions, settings.flushWaitMillis, line => report.warn(line))
  return new DeliveryPipeline(settings, report, checked)
}

export class DeliveryPipeline {
  readonly tracerProvider: OwnTracerProvider
  readonly log: ((event: LogEvent) => void) | undefined
  /** Derives the ids of the next span; the trace id only if it is a root. Undefined unless ids are deterministic. */
  readonly seedIds: SpanIdGenerator['seed'] | undefined
  /** Sets the ids of the next span in the same way. Undefined if ids are deterministic. */
  readonly reserveIds: SpanIdGenerator['reserve'] | undefined
  readonly #settings: PipelineSettings
  readonly #report: Reporter
  readonly #extensions: UserExtensions
  readonly #resource: PlainResource
  readonly #backends: readonly OpenBackend[]
  readonly #queues: readonly SpanQueue[]
  readonly #local: OpenTraceLog | undefined
  readonly #stores: readonly Store[]
  readonly #sampler: TailSampler | undefined
  readonly #prometheus: PrometheusEndpoint | undefined
  /** Undefined if no backend gets log events. */
  readonly #emitter: LogEmitter | undefined
  readonly #metricQueues: readonly MetricQueue[]
  readonly #readers: readonly IMetricReader[]
  readonly #hasReports: boolean
  #meters: OwnMeterProvider | undefined
  #metersTimer: NodeJS.Timeout | undefined
  #useMeterProvider: ((provider: MeterProvider) => void) | undefined
  #closed: Promise<void> | undefined
  #isFlushStarted = false
  /** One listener per signal: many listeners would cause a leak warning on the host's stderr. */
  readonly #givenUp: Promise<void>[]

  constructor(settings: PipelineSettings, report: Reporter, extensions: UserExtensions) {
    const plans = planned(settings, report)
    const { localLog, continuation } = settings
    const losses = localLog && new LossLog(localLog.directory)
    const resource = createResource(settings, Object.assign({}, ...plans.map(plan => plan.resource)) as Attributes)
    const emitter = new LogEmitter(settings.namespace)
    this.#settings = settings
    this.#report = report
    this.#extensions = extensions
    this.#resource = resource
    this.#backends = plans.map(plan => openBackend(plan, settings, report, losses, emitter, resource))
    this.#queues = this.#backends.flatMap(({ queue }) => queue ?? [])
    this.#metricQueues = this.#backends.flatMap(({ metricQueue }) => metricQueue ?? [])
    this.#emitter = emitter.hasQueues ? emitter : undefined
    this.#hasReports = this.#metricQueues.length > 0 || emitter.hasQueues
    const tailSampling = settings.backends.length > 0 ? settings.tailSampling : undefined
    const reasonName = tailSampling?.reasonName
    this.#local = localLog && losses && openTraceLog(localLog, losses, this.#backends, settings, report, reasonName)
    const { store, kept } = this.#local ?? {}
    this.#stores = [store, kept].flatMap(each => each ?? [])
    this.#prometheus = settings.prometheus && new PrometheusEndpoint(settings.prometheus, report)
    this.#readers = [...(this.#prometheus ? [this.#prometheus.reader] : []), ...extensions.metricReaders]
    const isDirect = store === undefined && this.#queues.length > 0
    const direct = isDirect ? directProcessor(this.#queues, () => continuation?.isReplaying === true) : undefined
    const toSend = kept?.traceLog ?? direct
    this.#sampler = tailSampling && toSend && new TailSampler(toSend, tailSampling)
    const sender = this.#sampler ?? direct
    const onlyNew = (next: SpanListener, known: 'isWritten' | 'isKept'): SpanListener =>
      continuation ? newSpanFilter(next, continuation[known]) : next
    // With a log, `TraceLog` passes written spans to the queues itself: see `consumers` in `openTraceLog`.
    const spanProcessors = [
      ...(store ? [onlyNew(store.traceLog, 'isWritten')] : []),
      ...(sender ? [onlyNew(sender, store ? 'isKept' : 'isWritten')] : []),
      ...extensions.spanProcessors,
    ]
    for (const { traceLog } of this.#stores) continuation?.savers.push(() => traceLog.forceFlush())
    const ids = new SpanIdGenerator()
    const provided = { settings, resource, spanProcessors, idGenerator: ids }
    // Only processors of ours accept the lighter spans.
    const isOwn = extensions.spanProcessors.length === 0
    this.tracerProvider = isOwn ? createOwnTracerProvider(provided) : createSdkTracerProvider(provided)
    this.seedIds = settings.deterministicIds ? ids.seed : undefined
    this.reserveIds = settings.deterministicIds ? undefined : ids.reserve
    this.log = emitter.hasQueues ? event => emitter.emit(event) : undefined
    this.#givenUp = settings.giveUp === undefined ? [] : [aborted(settings.giveUp)]
    const delayMillis = Math.min(METRICS_DELAY_MILLIS, settings.metricsIntervalMillis)
    if (this.#canMetersWait) this.#metersTimer = setTimeout(() => this.#openMeters(), delayMillis).unref()
  }

  get meterProvider(): MeterProvider {
    return this.#openMeters().meterProvider
  }

  /** Calls `use` once the metrics SDK is loaded, before any metric is read. */
  onMeterProvider(use: (provider: MeterProvider) => void): void {
    this.#useMeterProvider = use
    if (this.#meters !== undefined) use(this.#meters.meterProvider)
    else if (!this.#canMetersWait) this.#openMeters()
  }

  get #canMetersWait(): boolean {
    return this.#readers.length === 0 && this.#metricQueues.length > 0
  }

  #openMeters(): OwnMeterProvider {
    if (this.#meters === undefined) {
      clearTimeout(this.#metersTimer)
      this.#meters = this.#createMeters()
      this.#useMeterProvider?.(this.#meters.meterProvider)
    }
    return this.#meters
  }

  #createMeters(): OwnMeterProvider {
    try {
      const ofQueues = this.#metricQueues.map(queue => createMetricReader(queue, this.#settings.metricsIntervalMillis))
      return createMeterProvider(this.#resource, [...ofQueues, ...this.#readers])
    } catch (error) {
      this.#report.error(`metrics: none are sent, because the SDK cannot be loaded (${codeOf(error)})`)
      return createMeterProvider(this.#resource, [])
    }
  }

  /** Resolves when all data is in the trace log and delivered or failed. Never rejects. No time limit of its own. */
  async flush(): Promise<void> {
    if (this.#closed) return this.#closed
    // Keeps the process alive. Requests do not: a hanging collector must not hold the process.
    const hold = setTimeout(() => undefined, this.#settings.flushWaitMillis)
    const extended = this.#extensions.spanProcessors.map(processor => processor.forceFlush())
    // First: writing to the log passes the spans on to the backends.
    await this.#flushLog()
    const sent: Promise<void>[] = []
    for (const queue of this.#queues) sent.push(queue.forceFlush())
    const delivered = Promise.all(sent)
    if (this.#hasReports) await this.#beforeMetrics(delivered)
    await Promise.allSettled([
      delivered,
      this.#metricQueues.length + this.#readers.length > 0 ? this.#openMeters().forceFlush() : undefined,
      this.#emitter?.flush(),
      ...extended,
    ])
    clearTimeout(hold)
  }

  /** A flush waits for all backends, and a hanging one must not delay new data for the others. */
  startFlush(): void {
    if (this.#closed || this.#isFlushStarted) return
    this.#isFlushStarted = true
    void this.#flushLog().finally(() => {
      this.#isFlushStarted = false
      for (const queue of this.#queues) queue.startFlush()
    })
    void this.#emitter?.flush()
  }

  /** Delivers pending data within `flushWaitMillis`. The rest stays in the trace log, or is dropped and counted. Never rejects. */
  shutdown(): Promise<void> {
    this.#releaseUndecided()
    this.#closed ??= this.#close()
    return this.#closed.finally(() => this.#local?.reportUnstored())
  }

  startLogFlush(): void {
    for (const { traceLog: log } of this.#stores) log.startFlush()
  }

  renewNote(span: Span): void {
    this.#local?.store.traceLog.renewNote(span)
  }

  flushLogSync(): void {
    for (const { traceLog: log } of this.#stores) log.flushSync()
  }

  /** For a process that ends immediately: writes everything to the trace log and stops delivery. */
  shutdownSync(): void {
    clearTimeout(this.#metersTimer)
    this.#releaseUndecided()
    for (const { traceLog } of this.#stores) traceLog.shutdownSync()
    for (const queue of this.#queues) queue.abandonNow()
    for (const store of this.#stores) store.release()
    this.#local?.reportUnstored()
  }

  setEarlyDecision(decide: EarlyDecision): void {
    if (this.#sampler) this.#sampler.decideEarly = decide
  }

  /** Ends the spans that killed processes left open, and delivers pending data of other processes, in the background. */
  recover(onCrashed: (crashed: readonly RecoveredTrace[]) => void): void {
    const { continuation } = this.#settings
    const run = (): void => void this.#recoverAll(onCrashed)
    if (continuation) continuation.afterReplay(run)
    else run()
  }

  async deliverBacklog(): Promise<void> {
    await this.#recoverAll(() => undefined)
    await Promise.all(this.#queues.map(queue => queue.drainRecovered()))
  }

  /** Starts all recoveries in the same tick: shutdown waits only for recoveries that have begun. */
  async #recoverAll(onCrashed: (crashed: readonly RecoveredTrace[]) => void): Promise<void> {
    await Promise.all(this.#stores.map(store => store.recover(onCrashed)))
  }

  /** Sends the requested spans again: see `Resend`. Undefined without a trace log. Must be called after `deliverBacklog`. */
  resend(request: ResendRequest): Resend | undefined {
    return this.#local?.store.resend(request)
  }

  stats(): PipelineStats {
    const local = this.#local
    return {
      backends: [...(local ? [local.stats()] : []), ...this.#backends.map(backend => statsOf(backend, this.#stores))],
      traceFiles: local?.store.segments.paths ?? [],
    }
  }

  /** With a log, the next process finds undecided traces there. A continuing process rebuilds them from what it reads. */
  #releaseUndecided(): void {
    if (!this.#local && !this.#settings.continuation?.leavesOpen) this.#sampler?.releaseUndecided()
  }

  async #close(): Promise<void> {
    const extensions = Promise.all(this.#extensions.spanProcessors.map(processor => processor.shutdown()))
    const closed = Promise.all(this.#stores.map(({ traceLog }) => traceLog.shutdown()))
    // Bounded: a disk can hang like a backend.
    await within(this.#settings.flushWaitMillis, closed)
    const leavingAt = performance.now()
    const recovered = Promise.all(this.#stores.map(store => store.recovered()))
    void this.#emitter?.flush()
    const left = Promise.all(this.#queues.map(queue => this.#closeQueue(queue, queue.shutdown(recovered))))
    if (this.#hasReports) await this.#beforeMetrics(left)
    const meters = this.#openMeters()
    const measured = meters.shutdown().catch(() => undefined)
    const waitMillis = this.#settings.flushWaitMillis - (performance.now() - leavingAt)
    const read = this.#extensions.metricReaders.length > 0 ? within(waitMillis, measured) : undefined
    this.#emitter?.emitLosses()
    const logs = this.#emitter?.queues.map(queue => this.#closeQueue(queue, queue.shutdown(), waitMillis)) ?? []
    const metrics = this.#metricQueues.map(queue => this.#closeQueue(queue, measured, waitMillis))
    await Promise.all([left, read, ...metrics, ...logs])
    await within(LAST_WORDS_MILLIS, Promise.all(this.#stores.map(store => store.stop())))
    for (const store of this.#stores) store.release()
    await extensions
    this.#prometheus?.close()
  }

  /** Metrics and logs report the outcome of the spans. After half the wait they are sent without it. */
  async #beforeMetrics(delivered: Promise<unknown>): Promise<void> {
    await within(this.#settings.flushWaitMillis / 2, Promise.race([delivered, ...this.#givenUp]))
  }

  async #flushLog(): Promise<void> {
    const written: Promise<void>[] = []
    for (const { traceLog } of this.#stores) written.push(traceLog.forceFlush())
    await Promise.all(written)
  }

  /** Subtracts the time that a flush has already waited for this export. */
  async #closeQueue(
    leaving: Pick<SpanQueue, 'waitedMillis' | 'abandon'> & Partial<Pick<SpanQueue, 'stop'>>,
    delivered: Promise<unknown>,
    waitMillis: number = this.#settings.flushWaitMillis,
  ): Promise<void> {
    await within(Math.max(0, waitMillis - leaving.waitedMillis()), Promise.race([delivered, ...this.#givenUp]))
    if (leaving.stop) await within(LAST_WORDS_MILLIS, leaving.stop())
    await within(LAST_WORDS_MILLIS, leaving.abandon())
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The modules needed for sending, which may be loaded in advance. `node:https` with TLS takes milliseconds. */
export function loadsToSend(backends: readonly BackendConfig[]): readonly (() => unknown)[] {
  const urls = backends.map(planBackend).flatMap(planned => (planned.ok ? Object.values(planned.plan.urls) : []))
  const needsTls = urls.some(url => url.startsWith('https:'))
  return urls.length === 0 ? [] : needsTls ? [http, https] : [http]
}

function planned(settings: PipelineSettings, report: Reporter): BackendPlan[] {
  return settings.backends.flatMap(backend => {
    const result = planBackend(backend)
    if (!result.ok) {
      report.error(result.problem)
      return []
    }
    for (const warning of result.warnings) report.warn(warning)
    return [result.plan]
  })
}

const LOCAL_LOG = { name: 'local_log', type: 'local_log' } as const
const FACTS = { ...LOCAL_LOG, urls: {}, protocol: 'http/json', credentials: '', defaultEndpoint: undefined } as const

interface OpenTraceLog {
  readonly store: Store
  readonly kept: Store | undefined
  reportUnstored(): void
  stats(): BackendStats
}

function openTraceLog(
  localLog: LocalLogSettings,
  losses: LossLog,
  backends: readonly OpenBackend[],
  settings: PipelineSettings,
  report: Reporter,
  heldBy: string | undefined,
): OpenTraceLog {
  const { batch, marks, isPartial } = settings
  const consumers = backends.flatMap(({ queue }) => queue ?? [])
  const deliveries = new DeliveryReport({ ...FACTS, isOnly: consumers.length === 0 }, report)
  // Separate reports: one log may be writable while the other is not.
  const ofKept = new DeliveryReport({ ...FACTS, type: 'kept_log' }, report)
  const spooled = backends.filter(({ isKept }) => isKept)
  const queues = new Map(spooled.flatMap(({ name, queue }) => (queue ? [[name, queue]] : [])))
  const destinations = new Map(spooled.map(({ name, destination }) => [name, destination]))
  const parts = { batch, marks, consumers, queues, destinations, deliveries, report, losses }
  const directory = keptDirectory(localLog.directory)
  const maxBytes = localLog.maxBytes / 2
  // Traces kept while tail sampling was on are delivered even after it is switched off.
  const hasKept = heldBy !== undefined || existsSync(directory)
  // A kept trace arrives at once. A long one must not be written synchronously in the hook that ends it.
  const inBursts = { ...batch, maxQueueSize: Math.max(batch.maxQueueSize, BURST_SPANS) }
  const ofKeptLog = { batch: inBursts, deliveries: ofKept, settings: { ...localLog, directory, maxBytes } }
  const kept = hasKept ? new Store({ ...parts, ...ofKeptLog }) : undefined
  const shared = kept === undefined ? localLog : { ...localLog, maxBytes, heldBy }
  const store = new Store({ ...parts, settings: shared }, isPartial ? undefined : kept)
  return {
    store,
    kept,
    reportUnstored: () => deliveries.reportUnstored(),
    stats() {
      const lastError = deliveries.lastError ?? ofKept.lastError
      const { stored, dropped, waiting } = store.traceLog.counts()
      const counts = { ...NO_SPANS, delivered: stored, dropped, queued: waiting }
      return { ...LOCAL_LOG, ...counts, isKept: false, spoolBytes: 0, ...(lastError && { lastError }) }
    },
  }
}

function statsOf({ name, type, queue, logs, report, isKept }: OpenBackend, stores: readonly Store[]): BackendStats {
  const { lastError } = report
  const spoolBytes = stores.reduce((bytes, store) => bytes + store.segments.pendingBytes(name), 0)
  const counts = { ...(queue?.counts() ?? NO_SPANS), isKept, spoolBytes, ...(logs && { logs: logs.counts() }) }
  return { name, type, ...counts, ...(lastError && { lastError }) }
}

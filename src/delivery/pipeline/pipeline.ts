import { existsSync } from 'node:fs'
import type { Attributes, MeterProvider, Span, TracerProvider } from '@opentelemetry/api'
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { BackendConfig } from '../backends/backend-config.ts'
import {
  keptDirectory,
  LossLog,
  type RecoveredTrace,
  type Resend,
  type ResendRequest,
  Store,
} from '../trace-log/index.ts'
import { type BackendPlan, planBackend } from './backend-plan.ts'
import { codeOf } from './delivery.ts'
import { DeliveryReport } from './delivery-report.ts'
import { DeterministicIds, ReservableIds } from './deterministic-ids.ts'
import { LogEmitter, type LogEvent } from './log-emitter.ts'
import type { LogCounts } from './log-queue.ts'
import { type OpenBackend, openBackend } from './open-backend.ts'
import { openPrometheus, type PrometheusEndpoint } from './prometheus.ts'
import {
  createMeterProvider,
  createOwnTracerProvider,
  createResource,
  createSdkTracerProvider,
  type OwnMeterProvider,
} from './providers.ts'
import { http, https } from './sdk.ts'
import type { BatchSettings, LocalLogSettings, PipelineSettings, Reporter, TailSamplingSettings } from './settings.ts'
import { DirectSpanProcessor, NewSpanFilter } from './span-processors.ts'
import { NO_SPANS, type SpanCounts, type SpanQueue } from './span-queue.ts'
import { type EarlyDecision, TailSampler } from './tail-sampler.ts'
import { type UserExtensionOptions, UserExtensions, within } from './user-extensions.ts'

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

export interface Pipeline {
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  readonly log: ((event: LogEvent) => void) | undefined
  /**
   * Sets the ids of the next span that is started; the trace id only if it is a root. `seedIds` is undefined unless ids are
   * deterministic, `reserveIds` if they are.
   */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  readonly reserveIds: ((traceId: string, spanId: string) => void) | undefined
  /** Resolves when all data is in the trace log and delivered or failed. Never rejects. No time limit of its own. */
  flush(): Promise<void>
  startFlush(): void
  /** Delivers pending data within `flushWaitMillis`. The rest stays in the trace log, or is dropped and counted. Never rejects. */
  shutdown(): Promise<void>
  startLogFlush(): void
  renewNote(span: Span): void
  flushLogSync(): void
  /** For a process that ends immediately: writes everything to the trace log and stops delivery. */
  shutdownSync(): void
  /** Ends the spans that killed processes left open, and delivers pending data of other processes, in the background. */
  recover(onCrashed: (crashed: readonly RecoveredTrace[]) => void): void
  setEarlyDecision(decide: EarlyDecision): void
  /** Calls `use` once the metrics SDK is loaded, before any metric is read. */
  onMeterProvider(use: (provider: MeterProvider) => void): void
  deliverBacklog(): Promise<void>
  /** Sends the requested spans again: see `Resend`. Undefined without a trace log. Must be called after `deliverBacklog`. */
  resend(request: ResendRequest): Resend | undefined
  stats(): PipelineStats
}

/** Builds the pipeline without touching anything global. Problems with one backend do not affect the others. */
export function createPipeline(
  settings: PipelineSettings,
  report: Reporter,
  extensionOptions: UserExtensionOptions = {},
): Pipeline {
  const plans = planned(settings, report)
  const { localLog, continuation } = settings
  const losses = localLog && new LossLog(localLog.directory)
  const emitter = new LogEmitter(settings)
  const backends = plans.map(plan => openBackend(plan, settings, report, losses, emitter))
  const queues = backends.flatMap(({ queue }) => queue ?? [])
  const local = localLog && losses && openTraceLog(localLog, losses, backends, settings, report)
  const prometheus = settings.prometheus && openPrometheus(settings.prometheus, report)
  const resource = createResource(settings, Object.assign({}, ...plans.map(plan => plan.resource)) as Attributes)
  emitter.setResource(resource)
  const extensions = new UserExtensions(extensionOptions, settings.flushWaitMillis, report)
  const seeded = settings.deterministicIds ? new DeterministicIds() : undefined
  const reservable = seeded === undefined ? new ReservableIds() : undefined
  const openReaders = backends.flatMap(({ openReader }) => openReader ?? [])
  const readers = [...(prometheus ? [prometheus.reader] : []), ...extensions.metricReaders]
  const openMeters = (): OwnMeterProvider => {
    try {
      return createMeterProvider(resource, [...openReaders.map(open => open()), ...readers])
    } catch (error) {
      report.error(`metrics: none are sent, because the SDK cannot be loaded (${codeOf(error)})`)
      return createMeterProvider(resource, [])
    }
  }
  const { store, kept } = local ?? {}
  const stores = local ? [local.store, ...(local.kept ? [local.kept] : [])] : []
  const direct =
    store === undefined && queues.length > 0
      ? [new DirectSpanProcessor(queues, () => continuation?.isReplaying === true)]
      : []
  const [toSend] = isTailSampling(settings) && kept !== undefined ? [kept.traceLog] : direct
  const sampler = isTailSampling(settings) && toSend ? new TailSampler(toSend, settings.tailSampling) : undefined
  const directProcessor = sampler ?? direct[0]
  const onlyNew = (next: SpanProcessor, known: 'isWritten' | 'isKept'): SpanProcessor =>
    continuation ? new NewSpanFilter(next, (traceId, spanId) => continuation[known](traceId, spanId)) : next
  const spanProcessors = [
    ...(store ? [onlyNew(store.traceLog, 'isWritten')] : []),
    ...(directProcessor ? [onlyNew(directProcessor, store ? 'isKept' : 'isWritten')] : []),
    ...extensions.spanProcessors,
  ]
  // Only processors of ours accept the lighter spans.
  const createTracerProvider = extensions.spanProcessors.length > 0 ? createSdkTracerProvider : createOwnTracerProvider
  for (const { traceLog: log } of stores) continuation?.addSaver(() => log.forceFlush())
  return new DeliveryPipeline({
    tracerProvider: createTracerProvider({ settings, resource, spanProcessors, idGenerator: seeded ?? reservable }),
    log: emitter.hasQueues ? event => emitter.emit(event) : undefined,
    seedIds: seeded && ((traceIdentity, spanIdentity) => seeded.seed(traceIdentity, spanIdentity)),
    reserveIds: reservable && ((traceId, spanId) => reservable.reserve(traceId, spanId)),
    emitter: emitter.hasQueues ? emitter : undefined,
    metersCanWait: readers.length === 0 && openReaders.length > 0,
    ...{ settings, backends, queues, local, stores, openMeters, extensions, prometheus, sampler },
  })
}

interface PipelineParts extends Pick<Pipeline, 'tracerProvider' | 'log' | 'seedIds' | 'reserveIds'> {
  readonly settings: PipelineSettings
  readonly backends: readonly OpenBackend[]
  readonly queues: readonly SpanQueue[]
  readonly local: OpenTraceLog | undefined
  readonly stores: readonly Store[]
  readonly openMeters: () => OwnMeterProvider
  readonly metersCanWait: boolean
  readonly extensions: UserExtensions
  readonly prometheus: PrometheusEndpoint | undefined
  readonly sampler: TailSampler | undefined
  /** Undefined if no backend gets log events. */
  readonly emitter: LogEmitter | undefined
}

interface ClosingQueue {
  waitedMillis(): number
  /** Starts nothing more for other processes. Resolves when their data in flight has been dealt with. */
  stop?(): Promise<void>
  abandon(): Promise<void>
}

class DeliveryPipeline implements Pipeline {
  readonly tracerProvider: TracerProvider
  readonly log: Pipeline['log']
  readonly seedIds: Pipeline['seedIds']
  readonly reserveIds: Pipeline['reserveIds']
  readonly #parts: PipelineParts
  /** True if a backend gets metrics or logs; `#hasReaders`: any component reads the metrics. */
  readonly #hasReports: boolean
  readonly #hasReaders: boolean
  #meters: OwnMeterProvider | undefined
  #metersTimer: NodeJS.Timeout | undefined
  #useMeterProvider: ((provider: MeterProvider) => void) | undefined
  #closed: Promise<void> | undefined
  #isFlushStarted = false
  /** One listener per signal: many listeners would cause a leak warning on the host's stderr. */
  readonly #givenUp: Promise<void>[]

  constructor(parts: PipelineParts) {
    const { backends, prometheus, extensions, settings } = parts
    this.tracerProvider = parts.tracerProvider
    this.log = parts.log
    this.seedIds = parts.seedIds
    this.reserveIds = parts.reserveIds
    this.#parts = parts
    this.#hasReports = backends.some(({ metricQueue, logs }) => metricQueue !== undefined || logs !== undefined)
    const hasMetrics = backends.some(({ openReader }) => openReader !== undefined)
    this.#hasReaders = hasMetrics || prometheus !== undefined || extensions.metricReaders.length > 0
    this.#givenUp = settings.giveUp === undefined ? [] : [aborted(settings.giveUp)]
    const delayMillis = Math.min(METRICS_DELAY_MILLIS, settings.metricsIntervalMillis)
    if (parts.metersCanWait) this.#metersTimer = setTimeout(() => this.#openMeters(), delayMillis).unref()
  }

  get meterProvider(): MeterProvider {
    return this.#openMeters().meterProvider
  }

  onMeterProvider(use: (provider: MeterProvider) => void): void {
    this.#useMeterProvider = use
    if (this.#meters !== undefined) use(this.#meters.meterProvider)
    else if (!this.#parts.metersCanWait) this.#openMeters()
  }

  #openMeters(): OwnMeterProvider {
    if (this.#meters === undefined) {
      clearTimeout(this.#metersTimer)
      this.#meters = this.#parts.openMeters()
      this.#useMeterProvider?.(this.#meters.meterProvider)
    }
    return this.#meters
  }

  async flush(): Promise<void> {
    if (this.#closed) return this.#closed
    const { queues, settings, emitter, extensions } = this.#parts
    // Keeps the process alive. Requests do not: a hanging collector must not hold the process.
    const hold = setTimeout(() => undefined, settings.flushWaitMillis)
    const extended = extensions.spanProcessors.length > 0 ? extensions.flush() : undefined
    // First: writing to the log passes the spans on to the backends.
    await this.#flushLog()
    const flushed: Promise<void>[] = []
    for (const queue of queues) flushed.push(queue.forceFlush())
    const delivered = Promise.all(flushed)
    if (this.#hasReports) await this.#beforeMetrics(delivered)
    await Promise.allSettled([
      delivered,
      this.#hasReaders ? this.#openMeters().forceFlush() : undefined,
      emitter?.flush(),
      extended,
    ])
    clearTimeout(hold)
  }

  /** A flush waits for all backends, and a hanging one must not delay new data for the others. */
  startFlush(): void {
    if (this.#closed || this.#isFlushStarted) return
    this.#isFlushStarted = true
    void this.#flushLog().finally(() => {
      this.#isFlushStarted = false
      for (const queue of this.#parts.queues) queue.startFlush()
    })
    void this.#parts.emitter?.flush()
  }

  shutdown(): Promise<void> {
    this.#releaseUndecided()
    this.#closed ??= this.#close()
    return this.#closed.finally(() => this.#parts.local?.reportUnstored())
  }

  startLogFlush(): void {
    for (const { traceLog: log } of this.#parts.stores) log.startFlush()
  }

  renewNote(span: Span): void {
    this.#parts.local?.store.traceLog.renewNote(span)
  }

  flushLogSync(): void {
    for (const { traceLog: log } of this.#parts.stores) log.flushSync()
  }

  shutdownSync(): void {
    const { stores, queues, local } = this.#parts
    clearTimeout(this.#metersTimer)
    this.#releaseUndecided()
    for (const { traceLog: log } of stores) log.shutdownSync()
    for (const queue of queues) queue.abandonNow()
    for (const store of stores) store.release()
    local?.reportUnstored()
  }

  setEarlyDecision(decide: EarlyDecision): void {
    const { sampler } = this.#parts
    if (sampler) sampler.decideEarly = decide
  }

  recover(onCrashed: (crashed: readonly RecoveredTrace[]) => void): void {
    const { stores, settings } = this.#parts
    const run = (): void => void recoverAll(stores, onCrashed)
    if (settings.continuation) settings.continuation.afterReplay(run)
    else run()
  }

  async deliverBacklog(): Promise<void> {
    await recoverAll(this.#parts.stores, () => undefined)
    await Promise.all(this.#parts.queues.map(queue => queue.drainRecovered()))
  }

  resend(request: ResendRequest): Resend | undefined {
    return this.#parts.local?.store.resend(request)
  }

  stats(): PipelineStats {
    const { local, backends, stores } = this.#parts
    return {
      backends: [...(local ? [local.stats()] : []), ...backends.map(backend => statsOf(backend, stores))],
      traceFiles: local?.store.paths ?? [],
    }
  }

  /** With a log, the next process finds undecided traces there. A continuing process rebuilds them from what it reads. */
  #releaseUndecided(): void {
    const { local, settings, sampler } = this.#parts
    if (!local && !settings.continuation?.leavesOpen) sampler?.releaseUndecided()
  }

  async #close(): Promise<void> {
    const extensions = this.#parts.extensions.shutdown()
    await this.#closeLog()
    const leavingAt = performance.now()
    const recovered = Promise.all(this.#parts.stores.map(store => store.recovered()))
    void this.#parts.emitter?.flush()
    const left = Promise.all(this.#parts.queues.map(queue => this.#closeQueue(queue, queue.shutdown(recovered))))
    if (this.#hasReports) await this.#beforeMetrics(left)
    const measured = this.#openMeters()
      .shutdown()
      .catch(() => undefined)
    const metricQueues = this.#parts.backends.flatMap(({ metricQueue }) => metricQueue ?? [])
    const waitMillis = this.#parts.settings.flushWaitMillis - (performance.now() - leavingAt)
    const read = this.#parts.extensions.metricReaders.length > 0 ? within(waitMillis, measured) : undefined
    const logQueues = this.#parts.emitter?.shutdown() ?? []
    const logs = logQueues.map(({ queue, sent }) => this.#closeQueue(queue, sent, waitMillis))
    await Promise.all([
      left,
      read,
      ...metricQueues.map(metricQueue => this.#closeQueue(metricQueue, measured, waitMillis)),
      ...logs,
    ])
    await this.#closeStore()
    await extensions
    this.#parts.prometheus?.close()
  }

  /** Metrics and logs report the outcome of the spans. After half the wait they are sent without it. */
  async #beforeMetrics(delivered: Promise<unknown>): Promise<void> {
    await within(this.#parts.settings.flushWaitMillis / 2, Promise.race([delivered, ...this.#givenUp]))
  }

  async #flushLog(): Promise<void> {
    const flushed: Promise<void>[] = []
    for (const { traceLog } of this.#parts.stores) flushed.push(traceLog.forceFlush())
    await Promise.all(flushed)
  }

  /** Bounded: a disk can hang like a backend. */
  async #closeLog(): Promise<void> {
    const { stores, settings } = this.#parts
    await within(settings.flushWaitMillis, Promise.all(stores.map(({ traceLog: log }) => log.shutdown())))
  }

  async #closeStore(): Promise<void> {
    const { stores } = this.#parts
    await within(LAST_WORDS_MILLIS, Promise.all(stores.map(store => store.stop())))
    for (const store of stores) store.release()
  }

  /** Subtracts the time that a flush has already waited for this export. */
  async #closeQueue(
    leaving: ClosingQueue,
    delivered: Promise<unknown>,
    waitMillis: number = this.#parts.settings.flushWaitMillis,
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

/** A kept trace arrives at once. A long one must not be written synchronously in the hook that ends it. */
function inBursts(batch: BatchSettings): BatchSettings {
  return { ...batch, maxQueueSize: Math.max(batch.maxQueueSize, BURST_SPANS) }
}

/** Starts all recoveries in the same tick: shutdown waits only for recoveries that have begun. */
async function recoverAll(
  stores: readonly Store[],
  onCrashed: (crashed: readonly RecoveredTrace[]) => void,
): Promise<void> {
  await Promise.all(stores.map(store => store.recover(onCrashed)))
}

function isTailSampling(
  settings: PipelineSettings,
): settings is PipelineSettings & { readonly tailSampling: TailSamplingSettings } {
  return settings.tailSampling !== undefined && settings.backends.length > 0
}

type Load = () => unknown

/** The modules needed for sending, which may be loaded in advance. `node:https` with TLS takes milliseconds. */
export function loadsToSend(backends: readonly BackendConfig[]): readonly Load[] {
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

const LOCAL_LOG = {
  name: 'local_log',
  type: 'local_log',
  urls: {},
  protocol: 'http/json',
  credentials: '',
  defaultEndpoint: undefined,
} as const
const KEPT_LOG = { ...LOCAL_LOG, type: 'kept_log' } as const

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
): OpenTraceLog {
  const { batch, marks, isPartial } = settings
  const receivers = backends.flatMap(({ queue }) => queue ?? [])
  const deliveries = new DeliveryReport({ ...LOCAL_LOG, isOnly: receivers.length === 0 }, report)
  // Separate reports: one log may be writable while the other is not.
  const ofKept = new DeliveryReport(KEPT_LOG, report)
  const queues = new Map(backends.flatMap(({ name, queue, isKept }) => (queue && isKept ? [[name, queue]] : [])))
  const destinations = new Map(
    backends.flatMap(({ name, destination }) => (queues.has(name) ? [[name, destination]] : [])),
  )
  const parts = { batch, marks, receivers, queues, destinations, deliveries, report, losses }
  const directory = keptDirectory(localLog.directory)
  const maxBytes = localLog.maxBytes / 2
  const heldBy = isTailSampling(settings) ? settings.tailSampling.reasonName : undefined
  // Traces kept while tail sampling was on are delivered even after it is switched off.
  const ofHolder = { ...parts, batch: inBursts(batch), deliveries: ofKept }
  const kept =
    heldBy !== undefined || existsSync(directory)
      ? new Store({ ...ofHolder, settings: { ...localLog, directory, maxBytes } })
      : undefined
  const shared = kept === undefined ? localLog : { ...localLog, maxBytes, heldBy }
  const store = new Store({ ...parts, settings: shared, kept: isPartial ? undefined : kept })
  const { name, type } = LOCAL_LOG
  const lastError = (): string | undefined => deliveries.lastError ?? ofKept.lastError
  const error = (): object => (lastError() === undefined ? {} : { lastError: lastError() })
  return {
    store,
    kept,
    reportUnstored: () => deliveries.reportUnstored(),
    stats: () => ({ name, type, ...countsOf(store), isKept: false, spoolBytes: 0, ...error() }),
  }
}

function countsOf({ traceLog: log }: Store): SpanCounts {
  const { stored, dropped, waiting } = log.counts()
  return { delivered: stored, dropped, queued: waiting, spooled: 0, spooledEver: 0, retried: 0, recovered: 0 }
}

function statsOf({ name, type, queue, logs, report, isKept }: OpenBackend, stores: readonly Store[]): BackendStats {
  const counts = queue?.counts() ?? NO_SPANS
  const error = report.lastError === undefined ? {} : { lastError: report.lastError }
  return {
    name,
    type,
    ...counts,
    isKept,
    spoolBytes: stores.reduce((bytes, store) => bytes + store.pendingBytes(name), 0),
    ...(logs && { logs: logs.counts() }),
    ...error,
  }
}

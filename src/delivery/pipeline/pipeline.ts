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
import { DeliveryReport } from './delivery-report.ts'
import { DeterministicIds } from './deterministic-ids.ts'
import { LogEmitter, type LogEvent } from './log-emitter.ts'
import type { LogCounts } from './log-queue.ts'
import { type OpenBackend, openBackend } from './open-backend.ts'
import { openPrometheus } from './prometheus.ts'
import { createMeterProvider, createOwnTracerProvider, createResource, createSdkTracerProvider } from './providers.ts'
import { http, https, metricsSdk, transformer } from './sdk.ts'
import type { BatchSettings, LocalLogSettings, PipelineSettings, Reporter, TailSamplingSettings } from './settings.ts'
import { Shutdown } from './shutdown.ts'
import { DirectSpanProcessor, NewSpanFilter } from './span-processors.ts'
import { type SpanCounts, SpanTally } from './span-tally.ts'
import { type EarlyDecision, TailSampler } from './tail-sampler.ts'
import { type UserExtensionOptions, UserExtensions } from './user-extensions.ts'

const BURST_SPANS = 65_536

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
  /** Includes the local trace log as `local_log`. */
  readonly backends: readonly BackendStats[]
  /** The files of the local trace log that this process has written, oldest first. */
  readonly traceFiles: readonly string[]
}

export interface Pipeline {
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  readonly log: ((event: LogEvent) => void) | undefined
  /** Seeds the ids of the next span that is started. Undefined unless ids are deterministic. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
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
  const ids = settings.deterministicIds ? new DeterministicIds() : undefined
  const own = [...backends.flatMap(backend => backend.reader ?? []), ...(prometheus ? [prometheus.reader] : [])]
  const meters = createMeterProvider(resource, [...own, ...extensions.metricReaders])
  const { store, kept } = local ?? {}
  const stores = local ? [local.store, ...(local.kept ? [local.kept] : [])] : []
  const { flushWaitMillis: waitMillis, giveUp } = settings
  const shutdown = new Shutdown({
    ...{ backends, meters, extensions, prometheus, waitMillis, giveUp, stores },
    emitter: emitter.hasQueues ? emitter : undefined,
  })
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
  // With a log, the next process finds undecided traces there. A continuing process rebuilds them from what it reads.
  const release = (): void => (store || continuation?.leavesOpen ? undefined : sampler?.releaseUndecided())
  return {
    tracerProvider: createTracerProvider({ settings, resource, spanProcessors, idGenerator: ids }),
    meterProvider: meters.meterProvider,
    log: emitter.hasQueues ? event => emitter.emit(event) : undefined,
    seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
    flush: () => shutdown.flush(),
    startFlush: () => shutdown.startFlush(),
    shutdown() {
      release()
      return shutdown.shutdown().finally(() => local?.reportUnstored())
    },
    startLogFlush() {
      for (const { traceLog: log } of stores) log.startFlush()
    },
    renewNote: span => store?.traceLog.renewNote(span),
    flushLogSync() {
      for (const { traceLog: log } of stores) log.flushSync()
    },
    shutdownSync() {
      release()
      for (const { traceLog: log } of stores) log.shutdownSync()
      for (const queue of queues) queue.abandonNow()
      for (const each of stores) each.release()
      local?.reportUnstored()
    },
    setEarlyDecision(decide) {
      if (sampler) sampler.decideEarly = decide
    },
    recover(onCrashed) {
      const run = (): void => void recoverAll(stores, onCrashed)
      if (continuation) continuation.afterReplay(run)
      else run()
    },
    async deliverBacklog() {
      await recoverAll(stores, () => undefined)
      await Promise.all(queues.map(queue => queue.drainRecovered()))
    },
    resend: request => store?.resend(request),
    stats: () => ({
      backends: [...(local ? [local.stats()] : []), ...backends.map(backend => statsOf(backend, stores))],
      traceFiles: store?.paths ?? [],
    }),
  }
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

/** The packages that `createPipeline` loads, which may be loaded in advance, and those needed for sending. */
export function loadsOf(backends: readonly BackendConfig[]): {
  readonly toOpen: readonly Load[]
  readonly toSend: readonly Load[]
} {
  const hasMetrics = backends.some(backend => {
    const result = planBackend(backend)
    return result.ok && result.plan.metrics
  })
  return { toOpen: hasMetrics ? [metricsSdk] : [], toSend: backends.length > 0 ? [transformer, http, https] : [] }
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

const NO_SPANS = new SpanTally()

function statsOf({ name, type, queue, logs, report, isKept }: OpenBackend, stores: readonly Store[]): BackendStats {
  const counts = (queue ?? NO_SPANS).counts()
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

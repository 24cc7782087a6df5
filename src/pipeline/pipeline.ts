import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type CrashedTrace, LossLog, type Resend, type ResendRequest, Store } from '../trace-log/index.ts'
import { Added, type HandedOver } from './added.ts'
import { type BackendPlan, planBackend } from './backend-plan.ts'
import { DeliveryReport } from './delivery-report.ts'
import { DeterministicIds } from './deterministic-ids.ts'
import { FanOut } from './fan-out.ts'
import { LogFeed } from './log-feed.ts'
import type { LogCounts } from './log-queue.ts'
import type { LogEvent } from './log-record.ts'
import { OnlyNew } from './only-new.ts'
import { type OpenBackend, openBackend } from './open-backend.ts'
import { openPrometheus } from './prometheus.ts'
import { createMeterProvider, createTracerProvider } from './providers.ts'
import { createResource } from './resource.ts'
import { http, https, metricsSdk, resources, traceSdk, transformer } from './sdk.ts'
import type { LocalLogSettings, PipelineSettings, Report } from './settings.ts'
import { Shutdown } from './shutdown.ts'
import { type SpanCounts, SpanTally } from './span-tally.ts'

/** What has become of the spans for one backend. */
export interface BackendStats extends SpanCounts {
  /** As configured; the local trace log is `local_log` */
  readonly name: string
  /** What kind of backend it is */
  readonly type: string
  /** What it does not take stays in the trace log until it does. */
  readonly isKept: boolean
  /** What this process has still to deliver from the trace log. */
  readonly spoolBytes: number
  /** Of a backend that takes logs. */
  readonly logs?: LogCounts
  /** In words, for a person. */
  readonly lastError?: string
}

export interface PipelineStats {
  /** The local trace log is one of them, as `local_log`. */
  readonly backends: readonly BackendStats[]
  /** The files of the local trace log that this process has written, oldest first. */
  readonly traceFiles: readonly string[]
}

export interface Pipeline {
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  /** Takes log events for all backends that want them; undefined where none does. */
  readonly log: ((event: LogEvent) => void) | undefined
  /** Seeds the ids of the next span that is started; undefined unless ids are deterministic. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  /**
   * Resolves when everything that is queued or in flight now is in the trace log and has been delivered or has failed, on
   * every backend, traces and metrics. Never rejects, and has no bound; it keeps the process alive for `flushWaitMillis` at most.
   */
  flush(): Promise<void>
  /** Begins to send what is queued, on every backend. For a turn that ends while a flush waits for one that hangs. */
  hurry(): void
  /**
   * Delivers what there is, then closes. What is not delivered within `flushWaitMillis` stays in the trace log for the next
   * process, or, without one, is given up and counted. Idempotent; never rejects.
   */
  shutdown(): Promise<void>
  /** Begins to write everything recorded to the trace log, without waiting for `flushMillis`. */
  save(): void
  /** Writes everything recorded to the trace log before it returns. */
  saveNow(): void
  /** For a process that ends this moment: everything recorded is in the trace log, and nothing is delivered any more. */
  endNow(): void
  /**
   * Takes over what other processes left in the trace log: ends what was open when they were killed, and delivers what they
   * could not. In the background, from now on. `onCrashed` is told what was open.
   */
  recover(onCrashed: (crashed: readonly CrashedTrace[]) => void): void
  /** As `recover`, once; resolves when each backend has got it, or does not take it for now. */
  deliverBacklog(): Promise<void>
  /** Sends what is asked for, as `Resend` says; undefined without a trace log. After `deliverBacklog`. */
  resend(request: ResendRequest): Resend | undefined
  stats(): PipelineStats
}

/**
 * Builds what records and delivers, without touching anything global. Problems with a backend are reported and leave
 * the others alone.
 *
 * @example
 * const pipeline = createPipeline(settings, report)
 * pipeline.tracerProvider.getTracer('example').startSpan('work').end()
 * await pipeline.shutdown()
 */
export function createPipeline(settings: PipelineSettings, report: Report, handedOver: HandedOver = {}): Pipeline {
  const plans = planned(settings, report)
  const { localLog, continuation } = settings
  const losses = localLog && new LossLog(localLog.directory)
  const feed = new LogFeed(settings)
  const backends = plans.map(plan => openBackend(plan, settings, report, losses, feed))
  const queues = backends.flatMap(({ queue }) => queue ?? [])
  const local = localLog && losses && openLocalLog(localLog, losses, backends, settings, report)
  const prometheus = settings.prometheus && openPrometheus(settings.prometheus, report)
  const resource = createResource(settings, Object.assign({}, ...plans.map(plan => plan.resource)) as Attributes)
  feed.describe(resource)
  const added = new Added(handedOver, settings.flushWaitMillis, report)
  const ids = settings.deterministicIds ? new DeterministicIds() : undefined
  const own = [...backends.flatMap(backend => backend.reader ?? []), ...(prometheus ? [prometheus.reader] : [])]
  const meters = createMeterProvider(resource, [...own, ...added.metricReaders])
  const store = local?.store
  const { flushWaitMillis: waitMillis, giveUp } = settings
  const shutdown = new Shutdown({ backends, feed, meters, added, prometheus, waitMillis, giveUp, store })
  const first: SpanProcessor[] = store ? [store.log] : queues.length > 0 ? [new FanOut(queues)] : []
  const isNew = (next: SpanProcessor): SpanProcessor =>
    continuation ? new OnlyNew(next, continuation, store !== undefined) : next
  const spanProcessors = [...first.map(isNew), ...added.spanProcessors]
  if (store) continuation?.join(() => store.log.forceFlush())
  return {
    tracerProvider: createTracerProvider({ settings, resource, spanProcessors, idGenerator: ids }),
    meterProvider: meters.meterProvider,
    log: feed.isWanted ? event => feed.take(event) : undefined,
    seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
    flush: () => shutdown.flush(),
    hurry: () => shutdown.hurry(),
    shutdown: () => shutdown.shutdown(),
    save: () => void store?.log.forceFlush(),
    saveNow: () => store?.log.saveNow(),
    endNow() {
      store?.log.endNow()
      for (const queue of queues) queue.endNow()
      store?.release()
    },
    recover(onCrashed) {
      const run = (): void => void store?.recover(onCrashed)
      if (continuation) continuation.whenRead(run)
      else run()
    },
    async deliverBacklog() {
      await store?.recover(() => undefined)
      await Promise.all(queues.map(queue => queue.drainAdopted()))
    },
    resend: request => store?.resend(request),
    stats: () => ({
      backends: [...(local ? [local.stats()] : []), ...backends.map(backend => statsOf(backend, store))],
      traceFiles: store?.paths ?? [],
    }),
  }
}

/** Loads a package, or what there is of it. */
type Load = () => unknown

/** What `createPipeline` loads, in pieces that may be loaded before it; and what would be missing when something is to be sent. */
export function loadsOf(hasBackends: boolean): { readonly toOpen: readonly Load[]; readonly toSend: readonly Load[] } {
  const toOpen = [resources, traceSdk]
  return hasBackends ? { toOpen: [...toOpen, metricsSdk], toSend: [transformer, http, https] } : { toOpen, toSend: [] }
}

function planned(settings: PipelineSettings, report: Report): BackendPlan[] {
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

interface LocalLog {
  readonly store: Store
  stats(): BackendStats
}

function openLocalLog(
  localLog: LocalLogSettings,
  losses: LossLog,
  backends: readonly OpenBackend[],
  { batch, marks }: PipelineSettings,
  report: Report,
): LocalLog {
  const deliveries = new DeliveryReport(LOCAL_LOG, report)
  const takers = backends.flatMap(({ queue }) => queue ?? [])
  const adopters = new Map(backends.flatMap(({ name, queue, isKept }) => (queue && isKept ? [[name, queue]] : [])))
  const destinations = new Map(
    backends.flatMap(({ name, destination }) => (adopters.has(name) ? [[name, destination]] : [])),
  )
  const store = new Store({
    settings: localLog,
    batch,
    marks,
    takers,
    adopters,
    destinations,
    deliveries,
    report,
    losses,
  })
  const { name, type } = LOCAL_LOG
  const error = (): object => (deliveries.lastError === undefined ? {} : { lastError: deliveries.lastError })
  return { store, stats: () => ({ name, type, ...countsOf(store), isKept: false, spoolBytes: 0, ...error() }) }
}

/** What is in the file has arrived. */
function countsOf({ log }: Store): SpanCounts {
  const { stored, dropped, waiting } = log.counts()
  return { delivered: stored, dropped, queued: waiting, spooled: 0, spooledEver: 0, retried: 0, recovered: 0 }
}

const NO_SPANS = new SpanTally()

function statsOf({ name, type, queue, logs, report, isKept }: OpenBackend, store: Store | undefined): BackendStats {
  const counts = (queue ?? NO_SPANS).counts()
  const error = report.lastError === undefined ? {} : { lastError: report.lastError }
  return {
    name,
    type,
    ...counts,
    isKept,
    spoolBytes: store?.bytesOwed(name) ?? 0,
    ...(logs && { logs: logs.counts() }),
    ...error,
  }
}

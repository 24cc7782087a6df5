import { existsSync } from 'node:fs'
import type { Attributes, MeterProvider, Span, TracerProvider } from '@opentelemetry/api'
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base'
import {
  type Continuation,
  type CrashedTrace,
  keptDirectory,
  LossLog,
  type Resend,
  type ResendRequest,
  Store,
} from '../trace-log/index.ts'
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
import type { BatchSettings, HoldingSettings, LocalLogSettings, PipelineSettings, Report } from './settings.ts'
import { Shutdown } from './shutdown.ts'
import { type SpanCounts, SpanTally } from './span-tally.ts'
import { type JudgeEarly, TraceHolder } from './trace-holder.ts'

const BURST_SPANS = 65_536

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
  /** Writes a new note of an open span to the trace log, if an older one is there. */
  noteAgain(span: Span): void
  /** Writes everything recorded to the trace log before it returns. */
  saveNow(): void
  /** For a process that ends this moment: everything recorded is in the trace log, and nothing is delivered any more. */
  endNow(): void
  /**
   * Takes over what other processes left in the trace log: ends what was open when they were killed, and delivers what they
   * could not. In the background, from now on. `onCrashed` is told what was open.
   */
  recover(onCrashed: (crashed: readonly CrashedTrace[]) => void): void
  /** Where traces are held until they are judged: who judges one that takes too much room before its turn is over. */
  judgeEarlyBy(judge: JudgeEarly): void
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
  const { store, kept } = local ?? {}
  const stores = local ? [local.store, ...(local.kept ? [local.kept] : [])] : []
  const { flushWaitMillis: waitMillis, giveUp } = settings
  const shutdown = new Shutdown({ backends, feed, meters, added, prometheus, waitMillis, giveUp, stores })
  const fanOut =
    store === undefined && queues.length > 0 ? [new FanOut(queues, () => continuation?.isReading === true)] : []
  const [toSend] = isHolding(settings) && kept !== undefined ? [kept.log] : fanOut
  const holder = isHolding(settings) && toSend ? new TraceHolder(toSend, settings.holding) : undefined
  const sender = holder ?? fanOut[0]
  const spanProcessors = [
    ...(store ? [onlyNew(store.log, continuation)] : []),
    ...(sender ? [store ? onlyUnsent(sender, continuation) : onlyNew(sender, continuation)] : []),
    ...added.spanProcessors,
  ]
  for (const { log } of stores) continuation?.join(() => log.forceFlush())
  // What nobody has judged the next process finds in the log, or makes again of what it reads.
  const release = (): void => (store || continuation?.leavesOpen ? undefined : holder?.release())
  return {
    tracerProvider: createTracerProvider({ settings, resource, spanProcessors, idGenerator: ids }),
    meterProvider: meters.meterProvider,
    log: feed.isWanted ? event => feed.take(event) : undefined,
    seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
    flush: () => shutdown.flush(),
    hurry: () => shutdown.hurry(),
    shutdown() {
      release()
      return shutdown.shutdown()
    },
    save() {
      for (const { log } of stores) void log.forceFlush()
    },
    noteAgain: span => store?.log.noteAgain(span),
    saveNow() {
      for (const { log } of stores) log.saveNow()
    },
    endNow() {
      release()
      for (const { log } of stores) log.endNow()
      for (const queue of queues) queue.endNow()
      for (const each of stores) each.release()
    },
    judgeEarlyBy(judge) {
      if (holder) holder.judgeEarly = judge
    },
    recover(onCrashed) {
      const run = (): void => void recoverAll(stores, onCrashed)
      if (continuation) continuation.whenRead(run)
      else run()
    },
    async deliverBacklog() {
      await recoverAll(stores, () => undefined)
      await Promise.all(queues.map(queue => queue.drainAdopted()))
    },
    resend: request => store?.resend(request),
    stats: () => ({
      backends: [...(local ? [local.stats()] : []), ...backends.map(backend => statsOf(backend, stores))],
      traceFiles: store?.paths ?? [],
    }),
  }
}

function onlyNew(next: SpanProcessor, continuation: Continuation | undefined): SpanProcessor {
  return continuation ? new OnlyNew(next, (traceId, spanId) => continuation.isWritten(traceId, spanId)) : next
}

function onlyUnsent(next: SpanProcessor, continuation: Continuation | undefined): SpanProcessor {
  return continuation ? new OnlyNew(next, (traceId, spanId) => continuation.isKept(traceId, spanId)) : next
}

/** Traces come whole: a long one is not to be written before the hook returns that ends it. */
function inBursts(batch: BatchSettings): BatchSettings {
  return { ...batch, maxQueueSize: Math.max(batch.maxQueueSize, BURST_SPANS) }
}

/** At once: who shuts down waits for what has begun. */
async function recoverAll(
  stores: readonly Store[],
  onCrashed: (crashed: readonly CrashedTrace[]) => void,
): Promise<void> {
  await Promise.all(stores.map(store => store.recover(onCrashed)))
}

/** Without a backend nothing is held back from anybody. */
function isHolding(settings: PipelineSettings): settings is PipelineSettings & { readonly holding: HoldingSettings } {
  return settings.holding !== undefined && settings.backends.length > 0
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
const KEPT_LOG = { ...LOCAL_LOG, type: 'kept_log' } as const

interface LocalLog {
  readonly store: Store
  readonly kept: Store | undefined
  stats(): BackendStats
}

function openLocalLog(
  localLog: LocalLogSettings,
  losses: LossLog,
  backends: readonly OpenBackend[],
  settings: PipelineSettings,
  report: Report,
): LocalLog {
  const { batch, marks, isPartial } = settings
  const deliveries = new DeliveryReport(LOCAL_LOG, report)
  // One of the two may be written while the other is not.
  const ofKept = new DeliveryReport(KEPT_LOG, report)
  const takers = backends.flatMap(({ queue }) => queue ?? [])
  const adopters = new Map(backends.flatMap(({ name, queue, isKept }) => (queue && isKept ? [[name, queue]] : [])))
  const destinations = new Map(
    backends.flatMap(({ name, destination }) => (adopters.has(name) ? [[name, destination]] : [])),
  )
  const parts = { batch, marks, takers, adopters, destinations, deliveries, report, losses }
  const directory = keptDirectory(localLog.directory)
  const maxBytes = localLog.maxBytes / 2
  const heldBy = isHolding(settings) ? settings.holding.reasonName : undefined
  // What was kept when traces were held is delivered also when they are not any more.
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
  return { store, kept, stats: () => ({ name, type, ...countsOf(store), isKept: false, spoolBytes: 0, ...error() }) }
}

/** What is in the file has arrived. */
function countsOf({ log }: Store): SpanCounts {
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
    spoolBytes: stores.reduce((bytes, store) => bytes + store.bytesOwed(name), 0),
    ...(logs && { logs: logs.counts() }),
    ...error,
  }
}

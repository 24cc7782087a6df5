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
  /** Emits a log event to all backends that accept logs. Undefined if there are none. */
  readonly log: ((event: LogEvent) => void) | undefined
  /** Seeds the ids of the next span that is started. Undefined unless ids are deterministic. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  /**
   * Resolves when everything queued or in flight is in the trace log and has been delivered or has failed, on every
   * backend, traces and metrics. Never rejects, and has no time limit. It keeps the process alive for at most
   * `flushWaitMillis`.
   */
  flush(): Promise<void>
  /** Starts sending the queued data on every backend. Used when a turn ends while a flush waits for a hanging backend. */
  hurry(): void
  /**
   * Delivers the pending data, then closes. Data not delivered within `flushWaitMillis` stays in the trace log for the next
   * process. Without a trace log it is dropped and counted. Idempotent. Never rejects.
   */
  shutdown(): Promise<void>
  /** Starts writing everything recorded to the trace log, without waiting for `flushMillis`. */
  save(): void
  /** Writes a new note of an open span to the trace log, if it holds an older one. */
  noteAgain(span: Span): void
  /** Writes everything recorded to the trace log before it returns. */
  saveNow(): void
  /** For a process that ends immediately: writes everything recorded to the trace log and stops delivery. */
  endNow(): void
  /**
   * Recovers the trace logs of other processes in the background: ends the spans that were open when those processes were
   * killed, and delivers pending data.
   * @param onCrashed receives the traces that were open
   */
  recover(onCrashed: (crashed: readonly CrashedTrace[]) => void): void
  /**
   * Sets the function that samples a trace early if it needs too much room before its turn has ended. Used if traces are
   * buffered for tail sampling.
   */
  judgeEarlyBy(judge: JudgeEarly): void
  /** Runs `recover` once. Resolves when each backend has acknowledged the backlog, or cannot accept it now. */
  deliverBacklog(): Promise<void>
  /** Sends the requested spans again: see `Resend`. Undefined without a trace log. Must be called after `deliverBacklog`. */
  resend(request: ResendRequest): Resend | undefined
  stats(): PipelineStats
}

/**
 * Builds the pipeline without touching anything global. Problems with one backend are reported and do not affect the
 * others.
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
  // With a log, the next process finds undecided traces there. A continuing process rebuilds them from what it reads.
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
      return shutdown.shutdown().finally(() => local?.ended())
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
      local?.ended()
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

/** A kept trace arrives at once. A long one must not be written synchronously in the hook that ends it. */
function inBursts(batch: BatchSettings): BatchSettings {
  return { ...batch, maxQueueSize: Math.max(batch.maxQueueSize, BURST_SPANS) }
}

/** Starts all recoveries in the same tick: shutdown waits only for recoveries that have begun. */
async function recoverAll(
  stores: readonly Store[],
  onCrashed: (crashed: readonly CrashedTrace[]) => void,
): Promise<void> {
  await Promise.all(stores.map(store => store.recover(onCrashed)))
}

/** Without a backend, spans need not be buffered for tail sampling. */
function isHolding(settings: PipelineSettings): settings is PipelineSettings & { readonly holding: HoldingSettings } {
  return settings.holding !== undefined && settings.backends.length > 0
}

type Load = () => unknown

/** The packages that `createPipeline` loads, which may be loaded in advance, and those needed for sending. */
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
  ended(): void
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
  const takers = backends.flatMap(({ queue }) => queue ?? [])
  const deliveries = new DeliveryReport({ ...LOCAL_LOG, isOnly: takers.length === 0 }, report)
  // Separate reports: one log may be writable while the other is not.
  const ofKept = new DeliveryReport(KEPT_LOG, report)
  const adopters = new Map(backends.flatMap(({ name, queue, isKept }) => (queue && isKept ? [[name, queue]] : [])))
  const destinations = new Map(
    backends.flatMap(({ name, destination }) => (adopters.has(name) ? [[name, destination]] : [])),
  )
  const parts = { batch, marks, takers, adopters, destinations, deliveries, report, losses }
  const directory = keptDirectory(localLog.directory)
  const maxBytes = localLog.maxBytes / 2
  const heldBy = isHolding(settings) ? settings.holding.reasonName : undefined
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
    ended: () => deliveries.ended(),
    stats: () => ({ name, type, ...countsOf(store), isKept: false, spoolBytes: 0, ...error() }),
  }
}

/** A span counts as delivered when it is in the file. */
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

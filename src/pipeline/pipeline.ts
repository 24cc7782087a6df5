import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import { type BackendPlan, planBackend } from './backend-plan.ts'
import { DeliveryReport } from './delivery-report.ts'
import { Departure } from './departure.ts'
import { DeterministicIds } from './deterministic-ids.ts'
import { type LocalLog, openLocalLog } from './file-exporter.ts'
import { type OpenBackend, openBackend } from './open-backend.ts'
import { openPrometheus } from './prometheus.ts'
import { createMeterProvider, createTracerProvider } from './providers.ts'
import { createResource } from './resource.ts'
import type { PipelineSettings, Report } from './settings.ts'
import { type SpanCounts, SpanQueue } from './span-queue.ts'

/** Longest time that something recorded stays in memory only, where there is a local log. */
const LOCAL_LOG_DELAY_MILLIS = 100

export interface BackendStats extends SpanCounts {
  readonly name: string
  readonly type: string
  /** In words, for a person. */
  readonly lastError?: string
}

export interface PipelineStats {
  /** The local trace log is one of them, as `local_log`. */
  readonly backends: readonly BackendStats[]
  /** Where the local trace log of this process is, or will be once a span has ended. */
  readonly traceFile?: string
}

export interface Pipeline {
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  /** Seeds the ids of the next span that is started; undefined unless ids are deterministic. */
  readonly seedIds: ((traceIdentity: string, spanIdentity: string) => void) | undefined
  /**
   * Resolves when everything that is queued or in flight now has been delivered or has failed, on every backend, traces
   * and metrics. Never rejects, and has no bound; it keeps the process alive for `flushWaitMillis` at most.
   */
  flush(): Promise<void>
  /**
   * Delivers what there is, then closes. What is not delivered within `flushWaitMillis` is given up and counted.
   * Idempotent; never rejects.
   */
  shutdown(): Promise<void>
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
export function createPipeline(settings: PipelineSettings, report: Report): Pipeline {
  const plans = planned(settings, report)
  const local = settings.localLog && openLocalLog(settings.localLog)
  const backends = [
    ...(local ? [localBackend(local, settings, report)] : []),
    ...plans.map(plan => openBackend(plan, settings, report)),
  ]
  const prometheus = settings.prometheus && openPrometheus(settings.prometheus, report)
  const resource = createResource(settings, Object.assign({}, ...plans.map(plan => plan.resource)) as Attributes)
  const ids = settings.deterministicIds ? new DeterministicIds() : undefined
  const queues = backends.flatMap(backend => backend.queue ?? [])
  const readers = [...backends.flatMap(backend => backend.reader ?? []), ...(prometheus ? [prometheus.reader] : [])]
  const meters = createMeterProvider(resource, readers)
  const departure = new Departure({ backends, meters, prometheus, waitMillis: settings.flushWaitMillis })
  return {
    tracerProvider: createTracerProvider({ settings, resource, spanProcessors: queues, idGenerator: ids }),
    meterProvider: meters.meterProvider,
    seedIds: ids && ((traceIdentity, spanIdentity) => ids.seed(traceIdentity, spanIdentity)),
    flush: () => departure.flush(),
    shutdown: () => departure.shutdown(),
    stats: () => ({ backends: backends.map(statsOf), ...(local ? { traceFile: local.path } : {}) }),
  }
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

function localBackend(local: LocalLog, settings: PipelineSettings, report: Report): OpenBackend {
  const facts = {
    name: 'local_log',
    type: 'local_log',
    urls: {},
    protocol: 'http/json',
    credentials: '',
    defaultEndpoint: undefined,
  } as const
  const deliveries = new DeliveryReport(facts, report)
  const scheduleDelayMillis = Math.min(settings.batch.scheduleDelayMillis, LOCAL_LOG_DELAY_MILLIS)
  const queue = new SpanQueue(local.sink, { ...settings.batch, scheduleDelayMillis }, deliveries)
  return { name: facts.name, type: facts.type, report: deliveries, queue }
}

function statsOf({ name, type, queue, report }: OpenBackend): BackendStats {
  const counts = queue?.counts() ?? { delivered: 0, dropped: 0, queued: 0 }
  return { name, type, ...counts, ...(report.lastError === undefined ? {} : { lastError: report.lastError }) }
}

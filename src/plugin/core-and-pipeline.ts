import type { Context, SpanContext } from '@opentelemetry/api'
import { context, createNoopMeter, isSpanContextValid, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { ignoreErrors, peek } from '../contract/foreign.ts'
import { LABEL, type MetricKey } from '../contract/semconv/index.ts'
import { load } from '../delivery/load-package.ts'
import type { Pipeline, PipelineStats, UserExtensionOptions } from '../delivery/pipeline/index.ts'
import { createPipeline, loadsToSend } from '../delivery/pipeline/index.ts'
import type { Continuation } from '../delivery/trace-log/index.ts'
import { Core } from '../tracker/core.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { CoreOptions, Gauge } from '../tracker/options.ts'
import { nearestName } from './config/nearest.ts'
import type { Environment } from './config/paths.ts'
import type { ResolvedConfig } from './config/types.ts'
import { loadPriceList } from './prices/prices.ts'
import type { RecordContext } from './record-queue.ts'
import { coreConfigOf, pipelineSettings } from './settings.ts'
import { meterOf, pipelineTelemetry, type Telemetry } from './telemetry.ts'

export { writeTo } from '../delivery/terminal.ts'
export { attributeOptionsOf } from './settings.ts'
export { hostTelemetry } from './telemetry.ts'

/** The build derives the fields from the interfaces of `contract/payloads.ts`. */
const LINT = { nearestName, payloadFields: load<CoreOptions['payloadFields']>('../../build/payload-fields.json') }

export interface PluginEnvironment {
  readonly env: Environment
  readonly home: string
  /** Only record times count, and the program handles its exit itself. */
  readonly isReplay: boolean
  readonly diagnostics?: Diagnostics
  readonly continuation?: Continuation
  readonly giveUp?: AbortSignal
  /** Only log events are recorded. The agent itself runs its own plugin with the same configuration. */
  readonly recordsLogsOnly?: boolean
}

export interface CoreParts extends Pick<CoreOptions, 'host' | 'attributeOptions' | 'enrich' | 'report'> {
  readonly config: ResolvedConfig
  readonly environment: PluginEnvironment
}

export function ownTelemetry(
  config: ResolvedConfig,
  { env, home, giveUp, continuation }: PluginEnvironment,
  report: Diagnostics,
  handed: UserExtensionOptions,
): Telemetry {
  const settings = pipelineSettings(config, env, home, continuation)
  if (config.keep?.hold && settings.tailSampling === undefined) {
    report.warn(
      'keep: everything is sent, because turns cannot say what they are worth without `own` among the conventions',
    )
  }
  return pipelineTelemetry(createPipeline({ ...settings, giveUp }, report, handed))
}

export function* loadSteps({ backends, prices }: ResolvedConfig, open: () => unknown): Generator<void> {
  const toPrice = prices === undefined ? [] : [loadPriceList]
  for (const run of [open, ...toPrice, ...loadsToSend(backends)]) {
    run()
    yield
  }
}

export function createCoreWithPipeline(
  parts: CoreParts,
  { pipeline, ...sent }: Telemetry,
  context: RecordContext,
): Core {
  const { config, environment, ...given } = parts
  const { env, isReplay, continuation } = environment
  const isReadAgain = continuation && (() => continuation.isReplaying)
  const settings = { ...coreConfigOf(config, env), ...given, ...LINT, sweepByClock: !isReplay, isReadAgain }
  const core = createCore({ ...settings, ...sent, ...pipelineOptions(pipeline, config), ...context })
  if (sent.meter === undefined) pipeline?.onMeterProvider(provider => core.attachMeter(meterOf(provider)))
  pipeline?.setEarlyDecision(traceId => core.sampleEarly(traceId))
  if (!isReplay) pipeline?.recover(crashed => core.countCrashed(crashed))
  return core
}

function pipelineOptions(pipeline: Pipeline | undefined, config: ResolvedConfig) {
  return {
    startFlush: pipeline && (() => pipeline.startFlush()),
    startLogFlush: pipeline && (() => pipeline.startLogFlush()),
    noteAgain: pipeline && (span => pipeline.renewNote(span)),
    // Our own pipeline keeps the process alive itself.
    holdsProcess: pipeline === undefined,
    seedIds: pipeline?.seedIds,
    reserveIds: pipeline?.reserveIds,
    gauges: gaugesOf(pipeline),
    openMeter: pipeline && (() => pipeline.meterProvider),
    log: pipeline?.log,
    flushLogSync: pipeline && config.log_flush_ms === 0 ? () => pipeline.flushLogSync() : undefined,
  } satisfies Partial<CoreOptions>
}

/** The host's meter may fail to create instruments. This disables the metrics, not the spans. */
function createCore(options: CoreOptions): Core {
  try {
    return new Core(options)
  } catch {
    options.report.warn('meterProvider: its meter makes no instruments; no metrics are recorded')
    return new Core({ ...options, meter: createNoopMeter() })
  }
}

function gaugesOf(pipeline: Pipeline | undefined): Partial<Record<MetricKey, Gauge>> {
  const backends = (): PipelineStats['backends'] => pipeline?.stats().backends ?? []
  return {
    exportSpans(result) {
      for (const { name, delivered, recovered, retried, spooledEver, dropped } of backends()) {
        const counts = { delivered: delivered + recovered, retried, spooled: spooledEver, dropped }
        for (const [outcome, spans] of Object.entries(counts))
          result.observe(spans, { [LABEL.backend]: name, [LABEL.result]: outcome })
      }
    },
    spoolBytes(result) {
      for (const { name, isKept, spoolBytes } of backends()) {
        if (isKept) result.observe(spoolBytes, { [LABEL.backend]: name })
      }
    },
  }
}

/** The host's active context. A context manager that throws is ignored. */
function activeContext(): Context {
  return ignoreErrors(() => context.active()) ?? ROOT_CONTEXT
}

export function baseContext(given: unknown): Context {
  const isContext = typeof peek(given, 'setValue') === 'function' && typeof peek(given, 'getValue') === 'function'
  return isContext ? (given as Context) : activeContext()
}

/**
 * The span that is active in the host.
 * @param isRemote true if the host's spans go to another backend, so that readers of ours must not wait for their parent
 */
export function activeSpan(isRemote: boolean): SpanContext | undefined {
  const found = trace.getSpanContext(activeContext())
  if (found === undefined || !isSpanContextValid(found)) return undefined
  return isRemote ? { ...found, isRemote } : found
}

import { createNoopMeter } from '@opentelemetry/api'
import { createPipeline, loadsOf, type Pipeline, type UserExtensionOptions } from '../delivery/pipeline/index.ts'
import type { Continuation } from '../delivery/trace-log/index.ts'
import { Core } from '../tracker/core.ts'
import type { Enrich } from '../tracker/enrichment.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { CoreOptions } from '../tracker/options.ts'
import type { AttributeOptions } from '../tracker/spans/span-definition.ts'
import { nearestName } from './config/nearest.ts'
import type { Environment } from './config/paths.ts'
import type { ResolvedConfig } from './config/types.ts'
import type { CoreEnvironment } from './intake.ts'
import { gaugesOf } from './pipeline-gauges.ts'
import { loadPriceList } from './prices/price-list.ts'
import { coreConfigOf, pipelineSettings } from './settings.ts'
import { opened, type Telemetry } from './telemetry.ts'

/** The code that processes records. It is large, so it is loaded late, through `late.ts`. */
export { writeTo } from '../delivery/terminal.ts'
export { activeSpan, baseContext } from './host-context.ts'
export { attributeOptionsOf } from './settings.ts'
export { telemetryHandedIn } from './telemetry.ts'

export interface CoreParts {
  readonly host: string
  readonly config: ResolvedConfig
  readonly env: Environment
  readonly isReplay: boolean
  readonly attributeOptions: AttributeOptions
  readonly enrich: Enrich | undefined
  readonly report: Diagnostics
  readonly continuation: Continuation | undefined
}

export interface PipelineParts {
  readonly config: ResolvedConfig
  readonly env: Environment
  readonly home: string
  readonly giveUp: AbortSignal | undefined
  readonly continuation: Continuation | undefined
}

export function ownTelemetry(
  { config, env, home, giveUp, continuation }: PipelineParts,
  report: Diagnostics,
  handed: UserExtensionOptions,
): Telemetry {
  const settings = pipelineSettings(config, env, home, continuation)
  if (config.keep?.hold && settings.tailSampling === undefined) {
    report.warn(
      'keep: everything is sent, because turns cannot say what they are worth without `own` among the conventions',
    )
  }
  return opened(createPipeline({ ...settings, giveUp }, report, handed))
}

/** Loads the required packages one by one, and calls `open` as soon as it can succeed. */
export function* pieces({ backends, prices }: ResolvedConfig, open: () => unknown): Generator<void> {
  const { toOpen, toSend } = loadsOf(backends.length > 0)
  const toPrice = prices === undefined ? [] : [loadPriceList]
  for (const run of [...toOpen, open, ...toPrice, ...toSend]) {
    run()
    yield
  }
}

export function openCore(parts: CoreParts, { pipeline, ...sent }: Telemetry, outside: CoreEnvironment): Core {
  const { config, env, isReplay, continuation, ...given } = parts
  const isReadAgain = continuation && (() => continuation.isReplaying)
  const drawn = { ...coreConfigOf(config, env), ...given, nearestName, sweepByClock: !isReplay, isReadAgain }
  const core = coreOf({ ...drawn, ...sent, ...inPipeline(pipeline, config), ...outside })
  pipeline?.setEarlyDecision(traceId => core.sampleEarly(traceId))
  if (!isReplay) pipeline?.recover(crashed => core.countCrashed(crashed))
  return core
}

function inPipeline(
  pipeline: Pipeline | undefined,
  config: ResolvedConfig,
): Pick<CoreOptions, 'hurry' | 'save' | 'noteAgain' | 'holdsProcess' | 'seedIds' | 'gauges' | 'log' | 'settle'> {
  return {
    hurry: pipeline && (() => pipeline.startFlush()),
    save: pipeline && (() => pipeline.startLogFlush()),
    noteAgain: pipeline && (span => pipeline.renewNote(span)),
    // Our own pipeline keeps the process alive itself.
    holdsProcess: pipeline === undefined,
    seedIds: pipeline?.seedIds,
    gauges: gaugesOf(pipeline),
    log: pipeline?.log,
    settle: pipeline && config.log_flush_ms === 0 ? () => pipeline.flushLogSync() : undefined,
  }
}

/** The host's meter may fail to create instruments. This disables the metrics, not the spans. */
function coreOf(options: CoreOptions): Core {
  try {
    return new Core(options)
  } catch {
    options.report.warn('meterProvider: its meter makes no instruments; no metrics are recorded')
    return new Core({ ...options, meter: createNoopMeter() })
  }
}

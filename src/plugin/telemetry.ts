import type { Meter, MeterProvider, Tracer } from '@opentelemetry/api'
import { createNoopMeter, ProxyTracerProvider } from '@opentelemetry/api'
import { SCHEMA_URL } from '../contract/semconv/index.ts'
import type { Pipeline } from '../delivery/pipeline/index.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from './package-facts.ts'
import type { PluginOptions } from './plugin.ts'

export interface Telemetry {
  readonly tracer: Pick<Tracer, 'startSpan'>
  /** Undefined if the pipeline provides it later. */
  readonly meter: Meter | undefined
  readonly pipeline: Pipeline | undefined
  readonly flush: () => Promise<void>
}

/** Telemetry that opens when the first record is processed: loading the SDK is the slowest part of a start. */
export interface TelemetrySource {
  readonly kind: 'own' | 'memory' | 'host'
  open(): Telemetry
}

export function memoryTelemetry(pipeline: Pipeline): TelemetrySource {
  return { kind: 'memory', open: () => pipelineTelemetry(pipeline) }
}

export function pipelineTelemetry(pipeline: Pipeline): Telemetry {
  return {
    tracer: pipeline.tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION, SCOPE),
    meter: undefined,
    pipeline,
    flush: () => pipeline.flush(),
  }
}

export function meterOf(provider: MeterProvider): Meter {
  return provider.getMeter(PACKAGE_NAME, PACKAGE_VERSION, SCOPE)
}

/** Signals without a provider are not recorded, because we must not export them ourselves then. */
export function hostTelemetry(
  { tracerProvider, meterProvider }: Pick<PluginOptions, 'tracerProvider' | 'meterProvider'>,
  report: Diagnostics,
): TelemetrySource {
  const open = (): Telemetry => ({
    tracer: instrumentOf<Tracer>('tracerProvider', tracerProvider, 'getTracer', report) ?? NO_TRACER,
    meter: instrumentOf<Meter>('meterProvider', meterProvider, 'getMeter', report) ?? createNoopMeter(),
    pipeline: undefined,
    flush: async () => {
      await Promise.allSettled([flushProvider(tracerProvider), flushProvider(meterProvider)])
    },
  })
  return { kind: 'host', open }
}

const SCOPE = { schemaUrl: SCHEMA_URL }

const NO_TRACER: Tracer = new ProxyTracerProvider().getTracer(PACKAGE_NAME, PACKAGE_VERSION)

function instrumentOf<Instrument>(name: string, provider: unknown, method: string, report: Diagnostics) {
  if (provider == null) return undefined
  try {
    if (offers(provider, method)) {
      const given: unknown = (provider[method] as (...of: unknown[]) => unknown)(PACKAGE_NAME, PACKAGE_VERSION, SCOPE)
      if (typeof given === 'object' && given !== null) return given as Instrument
    }
    report.warn(`${name}: expected a provider of OpenTelemetry; nothing is recorded there`)
  } catch {
    report.warn(`${name}: its ${method} failed; nothing is recorded there`)
  }
  return undefined
}

function offers<Method extends string>(provider: unknown, method: Method): provider is Record<Method, () => unknown> {
  return typeof (provider as Record<string, unknown> | null | undefined)?.[method] === 'function'
}

/** OpenTelemetry's API does not include flushing. A provider may offer it, and so may the one behind the global proxy. */
async function flushProvider(provider: unknown): Promise<void> {
  // Lets the hook that ends a session return before its spans are serialized.
  await undefined
  const behind = offers(provider, 'getDelegate') ? provider.getDelegate() : provider
  if (offers(behind, 'forceFlush')) await behind.forceFlush()
}

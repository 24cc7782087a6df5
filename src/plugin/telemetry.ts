import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { SCHEMA_URL } from '../contract/semconv/index.ts'
import type { Pipeline } from '../delivery/pipeline/index.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { Pieces } from './intake.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from './package-facts.ts'

export interface Telemetry {
  readonly tracer: Tracer
  readonly meter: Meter
  readonly pipeline: Pipeline | undefined
  /** Sends everything recorded until now. May reject, and has no time limit. */
  readonly flush: () => Promise<void>
}

export interface HandedIn {
  readonly tracerProvider: TracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
}

/** Telemetry that opens when the first record is processed: loading the SDK is the slowest part of a start. */
export interface LateTelemetry {
  readonly isOurs: boolean
  /** Set for an in-memory pipeline: there is nothing to save when the process ends. */
  readonly isInMemory?: true
  readonly pieces: Pieces | undefined
  /** Called once. @throws if loading fails, for example because the host has too many files open */
  open(): Telemetry
}

export function telemetryOf(pipeline: Pipeline): LateTelemetry {
  return { isOurs: true, isInMemory: true, pieces: undefined, open: () => opened(pipeline) }
}

export function opened(pipeline: Pipeline): Telemetry {
  const { tracerProvider, meterProvider } = pipeline
  return {
    tracer: tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION, SCOPE),
    meter: meterProvider.getMeter(PACKAGE_NAME, PACKAGE_VERSION, SCOPE),
    pipeline,
    flush: () => pipeline.flush(),
  }
}

/** Signals without a provider are not recorded, because we must not export them ourselves then. */
export function telemetryHandedIn(handedIn: HandedIn, report: Diagnostics): LateTelemetry {
  return { isOurs: false, pieces: undefined, open: () => askedOf(handedIn, report) }
}

function askedOf({ tracerProvider, meterProvider }: HandedIn, report: Diagnostics): Telemetry {
  return {
    tracer: ask<Tracer>('tracerProvider', tracerProvider, 'getTracer', report) ?? NO_TRACER,
    meter: ask<Meter>('meterProvider', meterProvider, 'getMeter', report) ?? createNoopMeter(),
    pipeline: undefined,
    flush: async () => {
      await Promise.allSettled([flushProvider(tracerProvider), flushProvider(meterProvider)])
    },
  }
}

const SCOPE = { schemaUrl: SCHEMA_URL }

const NO_TRACER: Tracer = new ProxyTracerProvider().getTracer(PACKAGE_NAME, PACKAGE_VERSION)

/** Returns undefined if the host passed no provider, an invalid one, or one that throws. */
function ask<Instrumentation>(
  name: string,
  provider: unknown,
  method: string,
  report: Diagnostics,
): Instrumentation | undefined {
  if (provider == null) return undefined
  try {
    if (offers(provider, method)) {
      const given: unknown = (provider[method] as (...of: unknown[]) => unknown)(PACKAGE_NAME, PACKAGE_VERSION, SCOPE)
      if (typeof given === 'object' && given !== null) return given as Instrumentation
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

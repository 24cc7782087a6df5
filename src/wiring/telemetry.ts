import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import type { Report } from '../core/guard.ts'
import type { Pipeline } from '../pipeline/index.ts'
import { SCHEMA_URL } from '../semconv/index.ts'
import type { Pieces } from './intake.ts'
import { PACKAGE_NAME, PACKAGE_VERSION } from './package-facts.ts'

/** Where spans and points go: a pipeline of ours, or providers that were handed in. */
export interface Telemetry {
  readonly tracer: Tracer
  readonly meter: Meter
  readonly pipeline: Pipeline | undefined
  /** Sends what was recorded until now. May reject, and has no bound. */
  readonly flush: () => Promise<void>
}

export interface HandedIn {
  readonly tracerProvider: TracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
}

/** What is opened when the first record is worked off: to load the SDK takes longer than all else at a start. */
export interface LateTelemetry {
  /** A pipeline of ours; else providers that were handed in. */
  readonly isOurs: boolean
  /** It is in memory alone: what ends with the process is nobody's loss. */
  readonly isInMemory?: true
  /** As in `IntakeOptions`. */
  readonly pieces: Pieces | undefined
  /** Once. @throws what the loader throws: the host may have too many files open */
  open(): Telemetry
}

/** Of a pipeline in memory, that is there already. */
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

/** What was not handed in is not recorded, because then nothing may be exported by us. */
export function telemetryHandedIn(handedIn: HandedIn, report: Report): LateTelemetry {
  return { isOurs: false, pieces: undefined, open: () => askedOf(handedIn, report) }
}

function askedOf({ tracerProvider, meterProvider }: HandedIn, report: Report): Telemetry {
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

/** Undefined when none was handed in, or one that is none or that fails. */
function ask<Instrumentation>(
  name: string,
  provider: unknown,
  method: string,
  report: Report,
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

/** To flush is no part of OpenTelemetry's API: a provider may offer it, and so may the one behind the global proxy. */
async function flushProvider(provider: unknown): Promise<void> {
  // The hook that ends a session returns before its spans are made a request.
  await undefined
  const behind = offers(provider, 'getDelegate') ? provider.getDelegate() : provider
  if (offers(behind, 'forceFlush')) await behind.forceFlush()
}

import { createNoopMeter, type MeterProvider, ProxyTracerProvider, type TracerProvider } from '@opentelemetry/api'
import type { Pipeline } from '../pipeline/index.ts'
import type { Diagnostics } from './diagnostics.ts'

/** Where spans and points go: a pipeline of ours, or providers that were handed in. */
export interface Outlets {
  readonly tracerProvider: TracerProvider
  readonly meterProvider: MeterProvider
  readonly pipeline: Pipeline | undefined
  /** Sends what was recorded until now. May reject, and has no bound. */
  readonly flush: () => Promise<void>
}

export interface HandedIn {
  readonly tracerProvider: TracerProvider | undefined
  readonly meterProvider: MeterProvider | undefined
}

export function outletsOf(pipeline: Pipeline): Outlets {
  const { tracerProvider, meterProvider } = pipeline
  return { tracerProvider, meterProvider, pipeline, flush: () => pipeline.flush() }
}

/** What was not handed in is not recorded, because then nothing may be exported by us. */
export function outletsHandedIn({ tracerProvider, meterProvider }: HandedIn, report: Diagnostics): Outlets {
  const tracers = usable('tracerProvider', tracerProvider, 'getTracer', report) ?? new ProxyTracerProvider()
  const meters = usable('meterProvider', meterProvider, 'getMeter', report) ?? { getMeter: createNoopMeter }
  return {
    tracerProvider: tracers,
    meterProvider: meters,
    pipeline: undefined,
    flush: async () => {
      await Promise.allSettled([flushProvider(tracers), flushProvider(meters)])
    },
  }
}

function usable<Provider>(
  name: string,
  provider: Provider | undefined,
  method: string,
  report: Diagnostics,
): Provider | undefined {
  if (offers(provider, method)) return provider
  if (provider != null) report.warn(`${name}: expected a provider of OpenTelemetry; nothing is recorded there`)
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

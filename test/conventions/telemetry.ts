import { JsonMetricsSerializer } from '@opentelemetry/otlp-transformer'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { createMemoryPipeline } from '../../src/delivery/pipeline/memory.ts'
import type { Pipeline } from '../../src/delivery/pipeline/pipeline.ts'
import type { Plugin, PluginOptions } from '../../src/index.ts'
import { resolveConfig } from '../../src/plugin/config/resolve.ts'
import { splitOptions, TracingPlugin } from '../../src/plugin/create-plugin.ts'
import { createDiagnostics } from '../../src/plugin/diagnostics.ts'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import { memoryTelemetry } from '../../src/plugin/telemetry.ts'
import { overriding } from '../support/overriding.ts'

/** A value as OTLP/JSON has it: the key says its type. */
export type OtlpValue = Readonly<Record<string, unknown>>
export interface OtlpAttribute {
  readonly key: string
  readonly value: OtlpValue
}

export interface OtlpSpan {
  readonly name: string
  readonly kind: number
  readonly status?: { readonly code?: number }
  readonly attributes: readonly OtlpAttribute[]
  readonly events?: readonly { readonly name: string; readonly attributes?: readonly OtlpAttribute[] }[]
  readonly links?: readonly { readonly attributes?: readonly OtlpAttribute[] }[]
}

export interface OtlpPoint {
  readonly attributes?: readonly OtlpAttribute[]
  readonly explicitBounds?: readonly number[]
}
interface Points {
  readonly dataPoints: readonly OtlpPoint[]
}
export interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly sum?: Points & { readonly isMonotonic: boolean }
  readonly gauge?: Points
  readonly histogram?: Points
}

/** What a run has sent, as it would go over the wire. */
export interface Telemetry {
  readonly spans: readonly OtlpSpan[]
  readonly resources: readonly (readonly OtlpAttribute[])[]
  readonly metrics: readonly OtlpMetric[]
  /** Schema URLs of scopes, each once. */
  readonly schemas: readonly (string | undefined)[]
}

class ManualReader extends MetricReader {
  protected onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
  protected onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

const BACKEND = {
  name: 'jaeger',
  type: 'jaeger',
  delivered: 4,
  recovered: 1,
  retried: 1,
  spooled: 1,
  spooledEver: 1,
  dropped: 1,
  queued: 0,
  isKept: true,
  spoolBytes: 99,
}

/** Runs a plugin with the real SDK under it, and has everything that comes out serialised. */
export async function record(options: PluginOptions, tell: (plugin: Plugin) => void): Promise<Telemetry> {
  const { host, config: code } = splitOptions(options)
  const { config } = resolveConfig({ code, env: {}, home: '/nonexistent', hostName: host })
  const settings = pipelineSettings({ ...config, local_log: false, backends: [] }, {}, '/nonexistent')
  const memory = createMemoryPipeline(settings)
  const reader = new ManualReader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const pipeline: Pipeline = overriding(memory, {
    meterProvider,
    onMeterProvider: (use: (provider: MeterProvider) => void) => use(meterProvider),
    stats: () => ({ backends: [BACKEND], traceFiles: [] }),
  })
  const environment = { env: {}, home: '/nonexistent', isReplay: true }
  const plugin = new TracingPlugin(createDiagnostics(undefined, { error: () => undefined, warn: () => undefined }), {
    host: host ?? '',
    config,
    telemetry: memoryTelemetry(pipeline),
    environment,
  })
  tell(plugin)
  const { resourceMetrics } = await reader.collect()
  await plugin.shutdown()
  const serialised = new TextDecoder().decode(JsonMetricsSerializer.serializeRequest(resourceMetrics))
  return { ...spansOf(memory.lines()), metrics: metricsOf(JSON.parse(serialised)) }
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] }
    readonly scopeSpans: readonly { readonly schemaUrl?: string; readonly spans: readonly OtlpSpan[] }[]
  }[]
}

function spansOf(lines: readonly string[]): Omit<Telemetry, 'metrics'> {
  const groups = lines.flatMap(line => (JSON.parse(line) as TraceRequest).resourceSpans)
  return {
    spans: groups.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resources: groups.slice(0, 1).map(({ resource }) => resource.attributes),
    schemas: [...new Set(groups.flatMap(group => group.scopeSpans).map(({ schemaUrl }) => schemaUrl))],
  }
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  }[]
}

function metricsOf({ resourceMetrics }: MetricsRequest): OtlpMetric[] {
  return resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
}

import { readFileSync } from 'node:fs'
import type { MetricReader } from '@opentelemetry/sdk-metrics'
import type { BackendPlan } from './backend-plan.ts'
import { ConsoleSpanSink } from './console-exporter.ts'
import type { SpanSink } from './delivery.ts'
import { DeliveryReport } from './delivery-report.ts'
import type { Signal } from './endpoint.ts'
import { openFileMetricSink, openFileSpanSink } from './file-exporter.ts'
import { createMetricReader, MetricOutbox } from './metrics.ts'
import { OtlpMetricSink, OtlpSpanSink } from './otlp-exporters.ts'
import { OtlpSender, type OtlpTarget } from './otlp-sender.ts'
import { OtlpTraceExporterSink } from './otlp-trace-exporter.ts'
import type { PipelineSettings, Protocol, Report } from './settings.ts'
import { SpanQueue } from './span-queue.ts'

/** One place that telemetry goes to: a backend, or the local trace log. */
export interface OpenBackend {
  readonly name: string
  readonly type: string
  readonly report: DeliveryReport
  readonly queue?: SpanQueue
  readonly reader?: MetricReader
  readonly outbox?: MetricOutbox
}

export function openBackend(plan: BackendPlan, settings: PipelineSettings, report: Report): OpenBackend {
  const { name, type } = plan.settings
  const deliveries = new DeliveryReport(plan.facts, report)
  const certificate = readCertificate(plan, report)
  const spans = plan.traces ? spanSink(plan, settings, certificate) : undefined
  const metrics = plan.metrics ? metricSink(plan, settings, certificate) : undefined
  const outbox = metrics && new MetricOutbox(metrics, plan.temporality, deliveries)
  return {
    name,
    type,
    report: deliveries,
    ...(spans ? { queue: new SpanQueue(spans, settings.batch, deliveries) } : {}),
    ...(outbox ? { outbox, reader: createMetricReader(outbox, settings.metricsIntervalMillis) } : {}),
  }
}

function spanSink(plan: BackendPlan, settings: PipelineSettings, certificate: Buffer | undefined): SpanSink {
  switch (plan.row.transport) {
    case 'file':
      return openFileSpanSink(plan)
    case 'console':
      return new ConsoleSpanSink(terminal(plan))
    case 'http':
      return otlpSpanSink(plan.protocol, target(plan, settings, 'traces', certificate))
  }
}

function metricSink(
  plan: BackendPlan,
  settings: PipelineSettings,
  certificate: Buffer | undefined,
): OtlpMetricSink | undefined {
  switch (plan.row.transport) {
    case 'file':
      return openFileMetricSink(plan)
    case 'console':
      return undefined
    case 'http':
      return new OtlpMetricSink(plan.protocol, new OtlpSender(target(plan, settings, 'metrics', certificate)))
  }
}

function otlpSpanSink(protocol: Protocol, target: OtlpTarget): SpanSink {
  return protocol === 'http/json'
    ? new OtlpTraceExporterSink(target)
    : new OtlpSpanSink(protocol, new OtlpSender(target))
}

function target(
  plan: BackendPlan,
  settings: PipelineSettings,
  signal: Signal,
  certificate: Buffer | undefined,
): OtlpTarget {
  const { compression, timeoutMillis } = plan.settings
  const { exportTimeoutMillis } = settings.batch
  return {
    url: plan.urls[signal] ?? '',
    headers: { 'user-agent': `hookspan/${settings.version}`, ...plan.headers },
    gzip: compression === 'gzip',
    timeoutMillis: Math.min(timeoutMillis ?? exportTimeoutMillis, exportTimeoutMillis),
    certificate,
  }
}

function terminal(plan: BackendPlan): (text: string) => void {
  const stream = plan.options['stream'] === 'stderr' ? process.stderr : process.stdout
  return text => stream.write(text)
}

function readCertificate(plan: BackendPlan, report: Report): Buffer | undefined {
  const path = plan.settings.certificate
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    report.error(
      `backend ${plan.settings.name}: certificate ${path} cannot be read (${code}); it is left out. Correct certificate`,
    )
    return undefined
  }
}

import type { MetricReader } from '@opentelemetry/sdk-metrics'
import { writeTo } from '../terminal.ts'
import { Cursor, type LossLog, type ReadErrorListener, type SpanLine } from '../trace-log/index.ts'
import { type BackendPlan, destinationOf } from './backend-plan.ts'
import { ConsoleSpanSink } from './console-sink.ts'
import type { Signal, SpanSink, Transport } from './delivery.ts'
import { DeliveryReport } from './delivery-report.ts'
import { GrpcSender } from './grpc-sender.ts'
import { HeadersCommand } from './headers-command.ts'
import { LineFile } from './line-file.ts'
import type { LogEmitter } from './log-emitter.ts'
import { LogQueue } from './log-queue.ts'
import { createMetricReader, MetricQueue } from './metrics.ts'
import { OtlpSender, type OtlpTarget } from './otlp-sender.ts'
import { CONTENT_TYPES, OtlpLogSink, OtlpMetricSink, OtlpSpanSink } from './otlp-sinks.ts'
import type { PipelineSettings, Reporter } from './settings.ts'
import { type Cursors, SpanQueue } from './span-queue.ts'
import { readTlsFiles } from './tls-files.ts'

export interface OpenBackend {
  readonly name: string
  readonly type: string
  readonly destination: string
  readonly report: DeliveryReport
  readonly isKept: boolean
  readonly queue?: SpanQueue
  readonly openReader?: () => MetricReader
  readonly metricQueue?: MetricQueue
  readonly logs?: LogQueue
}

type Access = Pick<OtlpTarget, 'tls' | 'command'>

export function openBackend(
  plan: BackendPlan,
  settings: PipelineSettings,
  report: Reporter,
  losses: LossLog | undefined,
  emitter: LogEmitter,
): OpenBackend {
  const { name, type } = plan.settings
  // Console output shows the current run only: old spans are not printed later.
  const isKept = settings.localLog !== undefined && plan.row.transport !== 'console'
  const deliveries = new DeliveryReport({ ...plan.facts, isKept }, report)
  const { headers_command } = plan.settings
  const access = {
    tls: readTlsFiles(plan.settings, line => report.error(line)),
    command: headers_command && new HeadersCommand(headers_command),
  }
  const spans = plan.traces ? spanSink(plan, settings, access) : undefined
  const metrics = plan.metrics ? metricSink(plan, settings, access) : undefined
  const metricQueue = metrics && new MetricQueue(metrics, plan.temporality, deliveries)
  const onLoss = (lost: number, reason: string): void => {
    losses?.note(name, lost, reason)
    emitter.countLostSpans(name, lost, reason)
  }
  const log = isKept ? cursors(name, report, () => queue, spans) : undefined
  const { tailSampling } = settings
  // HTTP requests enforce their own timeout. This bound covers sinks that do not.
  const exportTimeoutMillis = Math.max(settings.batch.exportTimeoutMillis, timeoutOf(plan, settings))
  const batch = { ...settings.batch, exportTimeoutMillis }
  // Sampling releases a whole trace at once. Without a log, spans that do not fit into memory would be lost.
  const burst = log ? { cursors: log } : { burstBytes: tailSampling?.maxBytes }
  const queue: SpanQueue | undefined =
    spans && new SpanQueue({ sink: spans, batch, report: deliveries, onLoss, ...burst })
  const logs = plan.logs ? logQueue(plan, settings, access, deliveries, emitter) : undefined
  return {
    name,
    type,
    destination: destinationOf(plan),
    report: deliveries,
    isKept: isKept && spans !== undefined,
    ...(queue ? { queue } : {}),
    ...(metricQueue
      ? { metricQueue, openReader: () => createMetricReader(metricQueue, settings.metricsIntervalMillis) }
      : {}),
    ...(logs ? { logs } : {}),
  }
}

function logQueue(
  plan: BackendPlan,
  settings: PipelineSettings,
  access: Access,
  report: DeliveryReport,
  emitter: LogEmitter,
): LogQueue | undefined {
  const sink = new OtlpLogSink(plan.protocol, transport(plan, settings, 'logs', access), () => emitter.head)
  const queue = new LogQueue({ sink, batch: settings.batch, report })
  emitter.addQueue(queue)
  return queue
}

function cursors(
  name: string,
  report: Reporter,
  queue: () => SpanQueue | undefined,
  sink: SpanSink | undefined,
): Cursors {
  const listener: ReadErrorListener = {
    damaged: ({ path }) => report.warn(`trace log: damaged lines of ${path} are skipped`),
    unreadable: ({ path }, error) => {
      const { code } = error as NodeJS.ErrnoException
      report.warn(`trace log: ${path}, which holds spans for backend ${name}, cannot be read (${code ?? 'unknown'})`)
    },
    missing: ({ path, isRecovered: isAdopted }, spans) => {
      report.warn(`trace log: spans disappeared from ${path}; those pending for backend ${name} are lost`)
      queue()?.countMissing(spans, isAdopted)
    },
  }
  const prepare = (line: SpanLine): void => sink?.prepare?.(line)
  return { own: new Cursor(name, listener, prepare), adopted: new Cursor(name, listener, prepare) }
}

function spanSink(plan: BackendPlan, settings: PipelineSettings, access: Access): SpanSink {
  switch (plan.row.transport) {
    case 'file':
      return new OtlpSpanSink('http/json', new LineFile(plan.options['path'] ?? ''))
    case 'console':
      return new ConsoleSpanSink(terminal(plan))
    case 'http':
      return new OtlpSpanSink(plan.protocol, transport(plan, settings, 'traces', access))
  }
}

function metricSink(plan: BackendPlan, settings: PipelineSettings, access: Access): OtlpMetricSink | undefined {
  switch (plan.row.transport) {
    case 'file':
      return fileMetricSink(plan.options['metrics_path'])
    case 'console':
      return undefined
    case 'http':
      return new OtlpMetricSink(plan.protocol, transport(plan, settings, 'metrics', access))
  }
}

function fileMetricSink(path: string | undefined): OtlpMetricSink | undefined {
  return path === undefined ? undefined : new OtlpMetricSink('http/json', new LineFile(path))
}

function transport(plan: BackendPlan, settings: PipelineSettings, signal: Signal, access: Access): Transport {
  const isGrpc = plan.protocol === 'grpc'
  const contentType = CONTENT_TYPES[signal === 'logs' && !isGrpc ? 'http/json' : plan.protocol]
  const target: OtlpTarget = {
    url: plan.urls[signal] ?? '',
    headers: { 'user-agent': `hookspan/${settings.version}`, ...plan.headers, 'content-type': contentType },
    gzip: plan.settings.compression === 'gzip',
    timeoutMillis: timeoutOf(plan, settings),
    ...access,
  }
  return isGrpc ? new GrpcSender(target, signal) : new OtlpSender(target)
}

function timeoutOf({ settings }: BackendPlan, { batch }: PipelineSettings): number {
  return settings.timeout_ms ?? batch.exportTimeoutMillis
}

function terminal(plan: BackendPlan): (text: string) => void {
  const stream = plan.options['stream'] === 'stderr' ? process.stderr : process.stdout
  return text => writeTo(stream, text)
}

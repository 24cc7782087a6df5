import { writeTo } from '../terminal.ts'
import type { LossLog, PlainResource } from '../trace-log/index.ts'
import { type BackendPlan, destinationOf } from './backend-plan.ts'
import { ConsoleSpanSink } from './console-sink.ts'
import type { Signal, Transport } from './delivery.ts'
import { DeliveryReport } from './delivery-report.ts'
import { GrpcSender } from './grpc-sender.ts'
import { HeadersCommand } from './headers-command.ts'
import { LineFile } from './line-file.ts'
import { type LogEmitter, LogQueue } from './log-queue.ts'
import { OtlpLogSink } from './log-sink.ts'
import { MetricQueue } from './metrics.ts'
import { OtlpSender, type OtlpTarget } from './otlp-sender.ts'
import { CONTENT_TYPES, OtlpSpanSink } from './otlp-sinks.ts'
import type { PipelineSettings, Reporter } from './settings.ts'
import { SpanQueue } from './span-queue.ts'
import { readTlsFiles } from './tls-files.ts'

export interface OpenBackend {
  readonly name: string
  readonly type: string
  readonly destination: string
  readonly report: DeliveryReport
  readonly isKept: boolean
  readonly queue: SpanQueue | undefined
  readonly metricQueue: MetricQueue | undefined
  readonly logs: LogQueue | undefined
}

export function openBackend(
  plan: BackendPlan,
  settings: PipelineSettings,
  report: Reporter,
  losses: LossLog | undefined,
  emitter: LogEmitter,
  resource: PlainResource,
): OpenBackend {
  const { row, protocol } = plan
  const { name, type, headers_command, timeout_ms = settings.batch.exportTimeoutMillis } = plan.settings
  // Console output shows the current run only: old spans are not printed later.
  const isInLog = settings.localLog !== undefined && row.transport !== 'console'
  const isKept = isInLog && plan.traces
  const deliveries = new DeliveryReport({ ...plan.facts, isKept: isInLog }, report)
  const access = {
    tls: readTlsFiles(plan.settings, line => report.error(line)),
    command: headers_command && new HeadersCommand(headers_command),
    timeoutMillis: timeout_ms,
  }
  const encoding = row.transport === 'file' ? 'http/json' : protocol
  const open = (signal: Signal): Transport | undefined => openTransport(plan, signal, settings.version, access)
  const queue = plan.traces ? openSpanQueue() : undefined
  function openSpanQueue(): SpanQueue {
    const transport = open('traces')
    const print = (text: string): void =>
      writeTo(plan.options['stream'] === 'stderr' ? process.stderr : process.stdout, text)
    const sink = transport ? new OtlpSpanSink(encoding, transport) : new ConsoleSpanSink(print)
    // HTTP requests enforce their own timeout. This bound covers sinks that do not.
    const exportTimeoutMillis = Math.max(settings.batch.exportTimeoutMillis, timeout_ms)
    const batch = { ...settings.batch, exportTimeoutMillis }
    const onLoss = (lost: number, reason: string): void => {
      losses?.note(name, lost, reason)
      emitter.countLostSpans(name, lost, reason)
    }
    // Sampling releases a whole trace at once. Without a log, spans that do not fit into memory would be lost.
    const burst = isKept ? { log: report } : { burstBytes: settings.tailSampling?.maxBytes }
    return new SpanQueue({ sink, batch, report: deliveries, onLoss, ...burst })
  }
  const ofMetrics = plan.metrics ? open('metrics') : undefined
  const metricQueue = ofMetrics && new MetricQueue(ofMetrics, encoding === 'http/json', plan.temporality, deliveries)
  const ofLogs = plan.logs ? open('logs') : undefined
  const logSink = ofLogs && new OtlpLogSink(protocol, ofLogs, resource, settings.version)
  const logs = logSink && new LogQueue({ sink: logSink, batch: settings.batch, report: deliveries })
  if (logs) emitter.queues.push(logs)
  return { name, type, destination: destinationOf(plan), report: deliveries, isKept, queue, metricQueue, logs }
}

/** Undefined for the terminal, and if no file is named for the signal. */
function openTransport(
  { row, protocol, urls, headers, options, settings }: BackendPlan,
  signal: Signal,
  version: string,
  access: Pick<OtlpTarget, 'tls' | 'command' | 'timeoutMillis'>,
): Transport | undefined {
  if (row.transport === 'console') return undefined
  if (row.transport === 'file') {
    const path = options[signal === 'metrics' ? 'metrics_path' : 'path']
    return path === undefined ? undefined : new LineFile(path)
  }
  const isGrpc = protocol === 'grpc'
  const contentType = CONTENT_TYPES[signal === 'logs' && !isGrpc ? 'http/json' : protocol]
  const target: OtlpTarget = {
    url: urls[signal] ?? '',
    headers: { 'user-agent': `hookspan/${version}`, ...headers, 'content-type': contentType },
    gzip: settings.compression === 'gzip',
    ...access,
  }
  return isGrpc ? new GrpcSender(target, signal) : new OtlpSender(target)
}

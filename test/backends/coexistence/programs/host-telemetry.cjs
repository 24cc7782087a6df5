const { context, diag, DiagLogLevel, metrics, propagation, trace } = require('@opentelemetry/api')

const { hostUrl, isAuto, diagLevel = 'WARN' } = JSON.parse(process.env.COEXISTENCE)
const FAR_OFF_MILLIS = 3_600_000

let running

/** What the logger that the host gave to OpenTelemetry was told. */
const told = []

/** The OpenTelemetry of an application, set up as its documentation says: global, with instrumentations. Once a process. */
function startHost() {
  running ??= start()
  return running
}

function start() {
  const { NodeSDK } = require('@opentelemetry/sdk-node')
  const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http')
  const { OTLPMetricExporter } = require('@opentelemetry/exporter-metrics-otlp-http')
  const { PeriodicExportingMetricReader } = require('@opentelemetry/sdk-metrics')
  diag.setLogger(logger(), { logLevel: DiagLogLevel[diagLevel] })
  const exporter = new OTLPMetricExporter({ url: `${hostUrl}/v1/metrics` })
  const sdk = new NodeSDK({
    serviceName: 'host',
    traceExporter: new OTLPTraceExporter({ url: `${hostUrl}/v1/traces` }),
    metricReaders: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: FAR_OFF_MILLIS })],
    instrumentations: isAuto ? everyInstrumentation() : httpInstrumentations(),
  })
  sdk.start()
  // An instrumentation begins with the first who asks for its module.
  require('node:net')
  require('node:dns')
  return { stop: () => sdk.shutdown() }
}

function logger() {
  const levels = ['verbose', 'debug', 'info', 'warn', 'error']
  return Object.fromEntries(levels.map(level => [level, (...said) => told.push(`${level}: ${said.join(' ')}`)]))
}

function httpInstrumentations() {
  const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http')
  const { UndiciInstrumentation } = require('@opentelemetry/instrumentation-undici')
  return [new HttpInstrumentation(), new UndiciInstrumentation()]
}

/** Those of connections, too, which are off by themselves: they would see what lies below our requests. */
function everyInstrumentation() {
  const { getNodeAutoInstrumentations } = require('@opentelemetry/auto-instrumentations-node')
  return getNodeAutoInstrumentations({
    '@opentelemetry/instrumentation-net': { enabled: true },
    '@opentelemetry/instrumentation-dns': { enabled: true },
  })
}

/** Which of the host's registrations are in force. */
function registrations() {
  const span = trace.getTracer('host').startSpan('never ended')
  const isKept = context.with(trace.setSpan(context.active(), span), () => trace.getActiveSpan() === span)
  return {
    trace: span.isRecording(),
    context: isKept,
    propagation: propagation.fields().includes('traceparent'),
    metrics: typeof metrics.getMeterProvider().forceFlush === 'function',
  }
}

module.exports = { startHost, registrations, told }

/**
 * What the backend tests run against: the one table of versions. A row says which version is installed, and by which
 * `scripts/backend-install/<installer>.mjs` (default: the name of the row); what else is in it is for the installer.
 * `system`: Debian decides about the version.
 */
export const BACKEND_SERVERS = {
  jaeger: {
    version: '2.13.0',
    // 2.13.0 and 1.76.0 are one commit. Only the numbers of the line that has ended are versions of the Go module.
    module: 'github.com/jaegertracing/jaeger',
    moduleVersion: 'v1.76.0',
    moduleSum: 'h1:sWCOOF1dr+NL0PLil7mFo3BqqQL8k4WiM7aguFbc14g=',
    // The module has no built page in it. This one has Jaeger's own, of the release 1.68.0 of jaeger-ui.
    uiModule: 'github.com/tonistiigi/jaeger-ui-rest',
    uiModuleVersion: 'v0.0.0-20250408171107-3dd17559e117',
    uiModuleSum: 'h1:XFwyh2JZwR5aiKLXHX2C1n0v5F11dCJpyGL1W/Cpl3U=',
    uiVersion: '1.68.0',
  },
  prometheus: {
    version: '3.15.0',
    // The module counts the minor versions of Prometheus 3 from 300.
    moduleVersion: 'v0.315.0',
  },
  // Of the same module.
  'prometheus-page': { version: '3.15.0', moduleVersion: 'v0.315.0', pnpmVersion: '10.34.9' },
  collector: {
    version: '0.161.0',
    // What observability/collector.yaml uses, by the names that are used there.
    components: {
      extensions: { health_check: 'contrib/extension/healthcheckextension' },
      receivers: { otlp: 'core/receiver/otlpreceiver' },
      processors: {
        memory_limiter: 'core/processor/memorylimiterprocessor',
        delta_to_cumulative: 'contrib/processor/deltatocumulativeprocessor',
        batch: 'core/processor/batchprocessor',
      },
      exporters: {
        otlp_http: 'core/exporter/otlphttpexporter',
        prometheus: 'contrib/exporter/prometheusexporter',
        debug: 'core/exporter/debugexporter',
      },
    },
    // The part of the collector that is past 1.0 is numbered apart.
    confmapVersion: '1.67.0',
  },
  // Its dependencies are pinned in backend-install/phoenix-requirements.txt.
  phoenix: { version: '20.26.1' },
  mlflow: { version: '3.17.2' },
  // OTLP's definitions for Python, as OpenTelemetry publishes them.
  'otlp-proto': { version: '1.45.2' },
  // Its models of trajectories alone; pinned in backend-install/harbor-requirements.txt.
  harbor: { version: '0.25.0' },
  chromium: { version: 'system' },
  // Applications that have an OpenTelemetry of their own, of its two lines. The version is that of their SDK.
  'otel-2': {
    version: '2.12.0',
    installer: 'otel-programs',
    packages: {
      '@opentelemetry/api': '1.9.1',
      '@opentelemetry/auto-instrumentations-node': '0.81.2',
      '@opentelemetry/exporter-metrics-otlp-http': '0.223.0',
      '@opentelemetry/exporter-trace-otlp-http': '0.223.0',
      '@opentelemetry/instrumentation': '0.223.0',
      '@opentelemetry/instrumentation-http': '0.223.0',
      '@opentelemetry/instrumentation-undici': '0.33.0',
      '@opentelemetry/sdk-metrics': '2.12.0',
      '@opentelemetry/sdk-node': '0.223.0',
    },
  },
  'otel-3': {
    version: '3.1.0',
    installer: 'otel-programs',
    // The line does not take Node 20.
    node: '24.21.0',
    packages: {
      '@opentelemetry/api': '1.10.0',
      // The newest; it brings its own instrumentations, of 0.300.
      '@opentelemetry/auto-instrumentations-node': '0.82.0',
      '@opentelemetry/exporter-metrics-otlp-http': '0.301.0',
      '@opentelemetry/exporter-trace-otlp-http': '0.301.0',
      '@opentelemetry/instrumentation': '0.301.0',
      '@opentelemetry/instrumentation-http': '0.301.0',
      '@opentelemetry/instrumentation-undici': '0.34.0',
      '@opentelemetry/sdk-metrics': '3.1.0',
      '@opentelemetry/sdk-node': '0.301.0',
    },
  },
}

/** Which servers the files of `test/backends/<suite>/` need. */
export const BACKEND_SUITES = {
  jaeger: ['jaeger', 'chromium'],
  phoenix: ['phoenix', 'chromium'],
  prometheus: ['prometheus'],
  'prometheus-page': ['prometheus', 'prometheus-page', 'chromium'],
  collector: ['collector', 'prometheus', 'jaeger'],
  mlflow: ['mlflow'],
  rows: ['otlp-proto'],
  harbor: ['harbor'],
  coexistence: ['otel-2', 'otel-3'],
  view: ['chromium'],
  readme: ['jaeger', 'phoenix', 'chromium'],
}

/** Run only when they are named: one listens where a person's own servers do, one is there for its pictures alone. */
export const SUITES_BY_NAME = ['readme', 'prometheus-page']

import type { BackendType } from '../../../src/delivery/backends/backend-config.ts'

/** What a vendor's documentation, or the source of its server, says about the OTLP that it takes over HTTP. */
export interface Vendor {
  /** Where it says so: the title of the page, or the file of the server. */
  readonly source: string
  /** What a person configures, keys included. */
  readonly options: Readonly<Record<string, string>>
  /** Of the base URL; the signals are below it, at `/v1/traces` and `/v1/metrics`. */
  readonly path: string
  /** To the letter, or it refuses. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * The key that is not the right one, and what it answers then; 401 where nothing is said about it. Without: it asks for
   * no key.
   */
  readonly wrong?: readonly [option: string, status: number]
  /** What it is sent without any preference, where that is not protobuf. */
  readonly sent?: 'http/json'
  /** What it answers JSON; protobuf all of them take. Undefined: nothing is said about it. */
  readonly json: 200 | 400 | 415 | undefined
  /** What it answers protobuf with, whatever it was sent. Some answer JSON. */
  readonly answers: 'protobuf' | 'json'
  /** The temporality that it wants of metrics; undefined: it takes none. */
  readonly metrics: 'delta' | 'cumulative' | undefined
  /** It takes log events as JSON, at `/v1/logs`. */
  readonly logs?: true
  /** Resource attributes without which it does not know where the traces belong. */
  readonly resource?: Readonly<Record<string, string>>
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

const COLLECTOR = {
  options: {},
  path: '',
  headers: {},
  json: 200,
  answers: 'protobuf',
} as const

export const VENDORS: Readonly<Record<Exclude<BackendType, 'file' | 'console'>, Vendor>> = {
  otlp: { ...COLLECTOR, source: 'OpenTelemetry: OTLP Specification, OTLP/HTTP', metrics: 'cumulative', logs: true },
  jaeger: { ...COLLECTOR, sent: 'http/json', source: 'Jaeger: APIs, OpenTelemetry Protocol', metrics: undefined },
  tempo: { ...COLLECTOR, sent: 'http/json', source: 'Grafana Tempo: Configuration, Distributor', metrics: undefined },
  phoenix: {
    source: 'Phoenix: REST API, Send traces',
    options: { api_key: 'k' },
    path: '',
    headers: { authorization: 'Bearer k' },
    wrong: ['api_key', 401],
    json: 415,
    answers: 'protobuf',
    metrics: undefined,
  },
  langfuse: {
    source: 'Langfuse: OpenTelemetry (OTEL) for LLM Observability; web/src/pages/api/public/otel/v1/traces/index.ts',
    options: { public_key: 'pk-lf-1', secret_key: 'sk-lf-1' },
    path: '/api/public/otel',
    // 4 is what makes traces visible at once; of a higher one it says that it is not supported.
    headers: { authorization: basic('pk-lf-1', 'sk-lf-1'), 'x-langfuse-ingestion-version': '4' },
    wrong: ['secret_key', 401],
    json: 200,
    answers: 'json',
    metrics: undefined,
  },
  signoz: {
    source: 'SigNoz: Ingestion Overview; Cloud vs Self-Hosted Ingestion',
    options: { ingestion_key: 'k' },
    path: '',
    headers: { 'signoz-ingestion-key': 'k' },
    wrong: ['ingestion_key', 401],
    json: 200,
    answers: 'protobuf',
    metrics: 'delta',
    logs: true,
  },
  uptrace: {
    source: 'Uptrace: Ingesting telemetry using OpenTelemetry; pkg/tracing/otlp_trace.go',
    options: { dsn: 'https://secret@api.uptrace.dev?grpc=4317' },
    path: '',
    headers: { 'uptrace-dsn': 'https://secret@api.uptrace.dev?grpc=4317' },
    wrong: ['dsn', 401],
    json: 200,
    answers: 'protobuf',
    metrics: 'delta',
    logs: true,
  },
  openobserve: {
    source: 'OpenObserve: Distributed Tracing, HTTP; OpenTelemetry Collector (OTEL) / OTLP Ingestion',
    options: { user: 'root@example.com', password: 'pw', stream_name: 'agents' },
    path: '/api/default',
    headers: { authorization: basic('root@example.com', 'pw'), 'stream-name': 'agents' },
    wrong: ['password', 401],
    json: 200,
    answers: 'json',
    metrics: 'cumulative',
    logs: true,
  },
  honeycomb: {
    source: 'Honeycomb: Send Data with OpenTelemetry; Send Application Metrics; husky: otlp/common.go',
    options: { api_key: 'hcaik_k', dataset: 'agents-metrics' },
    path: '',
    headers: { 'x-honeycomb-team': 'hcaik_k', 'x-honeycomb-dataset': 'agents-metrics' },
    wrong: ['api_key', 401],
    json: 200,
    answers: 'protobuf',
    metrics: 'cumulative',
  },
  lgtm: { ...COLLECTOR, source: 'docker-otel-lgtm: README', metrics: 'cumulative', logs: true },
  weave: {
    source: 'W&B Weave: Send OpenTelemetry Traces to Weave',
    options: { api_key: 'k', entity: 'team', project: 'agents' },
    path: '/otel',
    headers: { 'wandb-api-key': 'k' },
    wrong: ['api_key', 401],
    json: 415,
    answers: 'protobuf',
    metrics: undefined,
    resource: { 'wandb.entity': 'team', 'wandb.project': 'agents' },
  },
  langsmith: {
    source: 'LangSmith: Trace with OpenTelemetry',
    options: { api_key: 'k', project: 'agents', workspace_id: 'w' },
    path: '/otel',
    headers: { 'x-api-key': 'k', 'langsmith-project': 'agents', 'x-tenant-id': 'w' },
    wrong: ['api_key', 403],
    json: undefined,
    answers: 'json',
    metrics: undefined,
  },
  datadog: {
    source: 'Datadog: OpenTelemetry Instrumentation (LLM Observability); Datadog OTLP Traces Intake Endpoint',
    options: { api_key: 'k' },
    path: '',
    headers: { 'dd-api-key': 'k', 'dd-otlp-source': 'llmobs' },
    wrong: ['api_key', 403],
    json: 415,
    answers: 'protobuf',
    metrics: undefined,
  },
  mlflow: {
    source: 'MLflow: Collect OpenTelemetry Traces into MLflow; mlflow/server/otel_api.py',
    options: { experiment_id: '7', token: 't' },
    path: '',
    headers: { 'x-mlflow-experiment-id': '7', authorization: 'Bearer t' },
    wrong: ['token', 401],
    json: 200,
    answers: 'protobuf',
    metrics: undefined,
  },
  elastic: {
    source: 'Elastic: OpenTelemetry intake API; Elastic Cloud Managed OTLP Endpoint; apm-server: beater/otlp/http.go',
    options: { api_key: 'k' },
    path: '',
    headers: { authorization: 'ApiKey k' },
    wrong: ['api_key', 401],
    json: 400,
    answers: 'protobuf',
    metrics: 'delta',
  },
}

/** What a person writes → where the traces go. The regions and editions that the vendors list. */
export const REGIONS: readonly (readonly [
  type: keyof typeof VENDORS,
  options: Readonly<Record<string, string>>,
  url: string | undefined,
])[] = [
  ['otlp', {}, 'http://127.0.0.1:4318/v1/traces'],
  ['jaeger', {}, 'http://127.0.0.1:4318/v1/traces'],
  ['tempo', {}, 'http://127.0.0.1:4318/v1/traces'],
  ['lgtm', {}, 'http://127.0.0.1:4318/v1/traces'],
  ['phoenix', {}, 'http://127.0.0.1:6006/v1/traces'],
  ['langfuse', {}, 'https://cloud.langfuse.com/api/public/otel/v1/traces'],
  [
    'langfuse',
    { base_url: 'https://us.cloud.langfuse.com' },
    'https://us.cloud.langfuse.com/api/public/otel/v1/traces',
  ],
  [
    'langfuse',
    { base_url: 'https://jp.cloud.langfuse.com/' },
    'https://jp.cloud.langfuse.com/api/public/otel/v1/traces',
  ],
  [
    'langfuse',
    { base_url: 'https://hipaa.cloud.langfuse.com' },
    'https://hipaa.cloud.langfuse.com/api/public/otel/v1/traces',
  ],
  ['langfuse', { base_url: 'http://127.0.0.1:3000' }, 'http://127.0.0.1:3000/api/public/otel/v1/traces'],
  ['signoz', { region: '' }, 'http://127.0.0.1:4318/v1/traces'],
  ['signoz', { region: 'us' }, 'https://ingest.us.signoz.cloud/v1/traces'],
  ['signoz', { region: 'eu' }, 'https://ingest.eu.signoz.cloud/v1/traces'],
  ['signoz', { region: 'in' }, 'https://ingest.in.signoz.cloud/v1/traces'],
  ['uptrace', {}, 'https://api.uptrace.dev/v1/traces'],
  ['uptrace', { dsn: 'http://project1_secret@127.0.0.1:14318?grpc=14317' }, 'http://127.0.0.1:14318/v1/traces'],
  ['openobserve', {}, 'http://127.0.0.1:5080/api/default/v1/traces'],
  ['openobserve', { organization: 'my org' }, 'http://127.0.0.1:5080/api/my%20org/v1/traces'],
  ['honeycomb', {}, 'https://api.honeycomb.io/v1/traces'],
  ['honeycomb', { region: 'us' }, 'https://api.honeycomb.io/v1/traces'],
  ['honeycomb', { region: 'eu' }, 'https://api.eu1.honeycomb.io/v1/traces'],
  ['weave', {}, 'https://trace.wandb.ai/otel/v1/traces'],
  ['langsmith', {}, 'https://api.smith.langchain.com/otel/v1/traces'],
  ['langsmith', { region: 'us' }, 'https://api.smith.langchain.com/otel/v1/traces'],
  ['langsmith', { region: 'eu' }, 'https://eu.api.smith.langchain.com/otel/v1/traces'],
  ['langsmith', { region: 'apac' }, 'https://apac.api.smith.langchain.com/otel/v1/traces'],
  ['langsmith', { region: 'aws' }, 'https://aws.api.smith.langchain.com/otel/v1/traces'],
  ['datadog', {}, 'https://otlp.datadoghq.com/v1/traces'],
  ['datadog', { site: 'datadoghq.eu' }, 'https://otlp.datadoghq.eu/v1/traces'],
  ['datadog', { site: 'us5.datadoghq.com' }, 'https://otlp.us5.datadoghq.com/v1/traces'],
  ['mlflow', {}, 'http://127.0.0.1:5000/v1/traces'],
  ['elastic', {}, undefined],
]

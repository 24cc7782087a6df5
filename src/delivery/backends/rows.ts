import type { BackendType, OtlpProtocol, Temporality } from './backend-config.ts'

export interface BackendOptionRow {
  readonly about: string
  readonly default?: string
  readonly required?: true
  /** Can also be read from the variable that `<key>_env` names. Never shown. */
  readonly secret?: true
  /** Environment variables of the vendor's own SDKs. The first that is set is read if the field is absent. */
  readonly variables?: readonly string[]
  /** `~/` expands to the home directory. */
  readonly path?: true
}

export type Options = Readonly<Record<string, string | undefined>>

export interface ReadBack {
  readonly url: string
  /** `status`: the trace exists if the response is 200. `body`: it exists if the body contains the trace id. */
  readonly found: 'status' | 'body'
  readonly authenticated: boolean
}

/** One backend type. The configuration, the pipeline, `doctor` and the documentation read the same rows. */
export interface BackendRow {
  readonly about: string
  readonly transport: 'http' | 'file' | 'console'
  /** Derived from the options. Undefined if there is no usable default, so that `endpoint` is required. */
  readonly endpoint: (options: Options) => string | undefined
  readonly grpcEndpoint?: (options: Options) => string
  readonly protocol: OtlpProtocol
  /** The server refuses the other protocol. */
  readonly onlyProtocol?: true
  readonly traces: boolean
  readonly metrics: boolean
  /** True if the backend accepts log events as OTLP/JSON. Logs are sent only if the user sets `logs: true`. */
  readonly logs: boolean
  readonly temporality?: Temporality
  readonly options: Readonly<Record<string, BackendOptionRow>>
  readonly headers: (options: Options) => Readonly<Record<string, string | undefined>>
  /** Resource attributes that the backend uses for filing. Undefined values are omitted. */
  readonly resource?: (options: Options) => Readonly<Record<string, string | undefined>>
  /** Address of a trace in the backend's UI. Placeholders: `{base}`, `{hostname}`, `{trace_id}`, `{project}`, option names. */
  readonly traceView?: string
  readonly readBack?: ReadBack
  readonly note?: string
}

const COLLECTOR = 'http://127.0.0.1:4318'
const GRPC = { grpcEndpoint: () => 'http://127.0.0.1:4317' } as const
/** @param variables of the vendor's own SDKs */
function secret(about: string, ...variables: string[]): BackendOptionRow {
  return { secret: true, about, ...(variables.length > 0 && { variables }) }
}

function neededSecret(about: string, ...variables: string[]): BackendOptionRow {
  return { required: true, ...secret(about, ...variables) }
}

function basic(user: string | undefined, password: string | undefined): string | undefined {
  if (user === undefined || password === undefined) return undefined
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function prefixed(prefix: string, value: string | undefined): string | undefined {
  return value === undefined ? undefined : `${prefix} ${value}`
}

/** The host of a DSN such as `https://<token>@api.uptrace.dev?grpc=4317`. */
function originOfDsn(options: Options): string | undefined {
  const dsn = options['dsn']
  return dsn !== undefined && URL.canParse(dsn) ? new URL(dsn).origin : undefined
}

function signozCloud({ region }: Options): string | undefined {
  return region && `https://ingest.${region}.signoz.cloud:443`
}

const OTLP = {
  transport: 'http',
  endpoint: () => COLLECTOR,
  protocol: 'http/protobuf',
  traces: true,
  metrics: false,
  logs: false,
  options: {},
  headers: () => ({}),
} as const

/** Grafana's address of a trace: the pane is escaped JSON with the trace id in the middle. */
const GRAFANA_PANE =
  '%7B%22a%22:%7B%22datasource%22:%22tempo%22,%22queries%22:%5B%7B%22refId%22:%22A%22,%22datasource%22:%7B%22type%22:%22tempo%22,%22uid%22:%22tempo%22%7D,%22queryType%22:%22traceql%22,%22query%22:%22{trace_id}%22%7D%5D%7D%7D'

export const BACKENDS: Readonly<Record<BackendType, BackendRow>> = {
  otlp: {
    ...OTLP,
    ...GRPC,
    about: 'Any OTLP endpoint, such as the OpenTelemetry Collector',
    metrics: true,
    logs: true,
  },
  jaeger: {
    ...OTLP,
    ...GRPC,
    about: 'Jaeger',
    protocol: 'http/json',
    traceView: 'http://{hostname}:16686/trace/{trace_id}',
    readBack: { url: 'http://{hostname}:16686/api/traces/{trace_id}', found: 'status', authenticated: false },
  },
  tempo: {
    ...OTLP,
    ...GRPC,
    about: 'Grafana Tempo',
    protocol: 'http/json',
    readBack: { url: 'http://{hostname}:3200/api/traces/{trace_id}', found: 'status', authenticated: true },
    note: 'View traces in a Grafana with Tempo as a data source',
  },
  phoenix: {
    ...OTLP,
    about: 'Arize Phoenix',
    endpoint: () => 'http://127.0.0.1:6006',
    onlyProtocol: true,
    options: { api_key: secret('Required if authentication is on', 'PHOENIX_API_KEY') },
    headers: o => ({ authorization: prefixed('Bearer', o['api_key']) }),
    traceView: '{base}/redirects/traces/{trace_id}',
    readBack: { url: '{base}/v1/projects/{project}/spans?trace_id={trace_id}', found: 'body', authenticated: true },
    note: 'Traces go to the project `project_name`; JSON is rejected with 415',
  },
  langfuse: {
    ...OTLP,
    about: 'Langfuse, cloud or self-hosted',
    endpoint: o => o['base_url'] && `${o['base_url'].replace(/\/+$/, '')}/api/public/otel`,
    options: {
      public_key: neededSecret('Public key of the project (`pk-lf-…`)', 'LANGFUSE_PUBLIC_KEY'),
      secret_key: neededSecret('Secret key of the project (`sk-lf-…`)', 'LANGFUSE_SECRET_KEY'),
      base_url: {
        default: 'https://cloud.langfuse.com',
        about: 'Region or self-hosted server',
        variables: ['LANGFUSE_BASE_URL', 'LANGFUSE_HOST'],
      },
    },
    headers: o => ({ authorization: basic(o['public_key'], o['secret_key']), 'x-langfuse-ingestion-version': '4' }),
    traceView: '{base_url}/trace/{trace_id}',
    readBack: { url: '{base_url}/api/public/traces/{trace_id}', found: 'status', authenticated: true },
  },
  signoz: {
    ...OTLP,
    about: 'SigNoz, self-hosted or cloud',
    endpoint: o => signozCloud(o) ?? COLLECTOR,
    grpcEndpoint: o => signozCloud(o) ?? GRPC.grpcEndpoint(),
    metrics: true,
    logs: true,
    temporality: 'delta',
    options: { region: { about: 'Cloud only: us, eu or in' }, ingestion_key: secret('Cloud only') },
    headers: o => ({ 'signoz-ingestion-key': o['ingestion_key'] }),
  },
  uptrace: {
    ...OTLP,
    about: 'Uptrace, cloud or self-hosted',
    endpoint: originOfDsn,
    metrics: true,
    logs: true,
    temporality: 'delta',
    options: { dsn: neededSecret('DSN of the project; it also names the server', 'UPTRACE_DSN') },
    headers: o => ({ 'uptrace-dsn': o['dsn'] }),
  },
  openobserve: {
    ...OTLP,
    about: 'OpenObserve',
    endpoint: o => `http://127.0.0.1:5080/api/${encodeURIComponent(o['organization'] ?? '')}`,
    metrics: true,
    logs: true,
    options: {
      user: { required: true, about: 'User, usually an e-mail address' },
      password: neededSecret('Password or ingestion token of the user'),
      organization: { default: 'default', about: 'Part of the default endpoint' },
      stream_name: { default: 'default', about: 'Target stream' },
    },
    headers: o => ({ authorization: basic(o['user'], o['password']), 'stream-name': o['stream_name'] }),
    note: 'A custom `endpoint` ends in /api/<organization>',
  },
  honeycomb: {
    ...OTLP,
    about: 'Honeycomb',
    endpoint: o => (o['region'] === 'eu' ? 'https://api.eu1.honeycomb.io' : 'https://api.honeycomb.io'),
    metrics: true,
    options: {
      api_key: neededSecret('Ingest key of the environment', 'HONEYCOMB_API_KEY'),
      dataset: { about: 'For metrics, and for Classic environments', variables: ['HONEYCOMB_DATASET'] },
      region: { default: 'us', about: 'us or eu' },
    },
    headers: o => ({ 'x-honeycomb-team': o['api_key'], 'x-honeycomb-dataset': o['dataset'] }),
  },
  lgtm: {
    ...OTLP,
    ...GRPC,
    about: 'The Grafana otel-lgtm image: Grafana, Tempo, Prometheus and Loki in one container',
    metrics: true,
    logs: true,
    traceView: `http://{hostname}:3000/explore?schemaVersion=1&panes=${GRAFANA_PANE}`,
    readBack: {
      url: 'http://{hostname}:3000/api/datasources/proxy/uid/tempo/api/traces/{trace_id}',
      found: 'status',
      authenticated: false,
    },
  },
  weave: {
    ...OTLP,
    about: 'W&B Weave',
    endpoint: () => 'https://trace.wandb.ai/otel',
    onlyProtocol: true,
    options: {
      api_key: neededSecret('W&B API key', 'WANDB_API_KEY'),
      entity: { required: true, about: 'Team or user', variables: ['WANDB_ENTITY'] },
      project: { required: true, about: 'Target project', variables: ['WANDB_PROJECT'] },
    },
    headers: o => ({ 'wandb-api-key': o['api_key'] }),
    resource: o => ({ 'wandb.entity': o['entity'], 'wandb.project': o['project'] }),
    traceView: 'https://wandb.ai/{entity}/{project}/weave/traces',
    note: 'A dedicated server is https://<name>.wandb.io/traces/otel; one project per process',
  },
  langsmith: {
    ...OTLP,
    about: 'LangSmith',
    endpoint: o =>
      `https://${o['region'] && o['region'] !== 'us' ? `${o['region']}.` : ''}api.smith.langchain.com/otel`,
    options: {
      api_key: neededSecret('API key', 'LANGSMITH_API_KEY', 'LANGCHAIN_API_KEY'),
      project: {
        about: 'Target project; without it, the default project',
        variables: ['LANGSMITH_PROJECT', 'LANGCHAIN_PROJECT'],
      },
      region: { default: 'us', about: 'us, eu, apac or aws' },
      workspace_id: { about: 'For keys that reach several workspaces', variables: ['LANGSMITH_WORKSPACE_ID'] },
    },
    headers: o => ({ 'x-api-key': o['api_key'], 'langsmith-project': o['project'], 'x-tenant-id': o['workspace_id'] }),
    note: 'A self-hosted server is https://<host>/api/v1/otel',
  },
  datadog: {
    ...OTLP,
    about: 'Datadog, without an agent',
    endpoint: o => `https://otlp.${o['site']}`,
    onlyProtocol: true,
    temporality: 'delta',
    options: {
      api_key: neededSecret('API key', 'DD_API_KEY'),
      site: { default: 'datadoghq.com', about: 'Site of the account, such as datadoghq.eu', variables: ['DD_SITE'] },
      source: { default: 'llmobs', about: 'Target product' },
    },
    headers: o => ({ 'dd-api-key': o['api_key'], 'dd-otlp-source': o['source'] }),
    note: 'With a Datadog Agent that accepts OTLP, use `otlp`',
  },
  mlflow: {
    ...OTLP,
    about: 'MLflow tracking server, 3.6 or later',
    endpoint: () => 'http://127.0.0.1:5000',
    options: {
      experiment_id: { required: true, about: 'Target experiment', variables: ['MLFLOW_EXPERIMENT_ID'] },
      token: secret('Token, if the server requires one', 'MLFLOW_TRACKING_TOKEN'),
    },
    headers: o => ({ 'x-mlflow-experiment-id': o['experiment_id'], authorization: prefixed('Bearer', o['token']) }),
    traceView: '{base}/#/experiments/{experiment_id}/traces',
    readBack: { url: '{base}/api/3.0/mlflow/traces/tr-{trace_id}', found: 'status', authenticated: true },
    note: 'Early versions accept protobuf only, and reject JSON with 400',
  },
  elastic: {
    ...OTLP,
    about: 'Elastic, managed OTLP endpoint or APM server',
    endpoint: () => undefined,
    onlyProtocol: true,
    metrics: true,
    temporality: 'delta',
    options: {
      api_key: secret('API key, encoded', 'ELASTIC_APM_API_KEY'),
      secret_token: secret('Secret token of an APM server, instead of an API key', 'ELASTIC_APM_SECRET_TOKEN'),
    },
    headers: o => ({ authorization: prefixed('ApiKey', o['api_key']) ?? prefixed('Bearer', o['secret_token']) }),
  },
  file: {
    ...OTLP,
    about: 'A file with OTLP JSON lines, one request a line',
    transport: 'file',
    endpoint: () => undefined,
    protocol: 'http/json',
    options: {
      path: { required: true, path: true, about: 'File to append traces to' },
      metrics_path: { path: true, about: 'File to append metrics to; without it, no metrics are written' },
    },
  },
  console: {
    ...OTLP,
    about: 'A readable tree of each trace on the terminal',
    transport: 'console',
    endpoint: () => undefined,
    options: { stream: { default: 'stdout', about: 'stdout, or stderr for hosts that speak a protocol on stdout' } },
  },
}

export const BACKEND_TYPES: readonly BackendType[] = Object.keys(BACKENDS) as BackendType[]

export function isBackendType(name: string): name is BackendType {
  return Object.hasOwn(BACKENDS, name)
}

export function backendRow(type: string): BackendRow | undefined {
  return isBackendType(type) ? BACKENDS[type] : undefined
}

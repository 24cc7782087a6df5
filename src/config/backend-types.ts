/** The backend types, and the fields of their own that each has. How one is spoken to is a row of the pipeline. */
const OWN_FIELDS = {
  otlp: [],
  jaeger: [],
  tempo: [],
  phoenix: ['api_key'],
  langfuse: ['public_key', 'secret_key', 'base_url'],
  signoz: ['region', 'ingestion_key'],
  uptrace: ['dsn'],
  openobserve: ['user', 'password', 'organization', 'stream_name'],
  honeycomb: ['api_key', 'dataset', 'region'],
  lgtm: [],
  weave: ['api_key', 'entity', 'project'],
  langsmith: ['api_key', 'project', 'region', 'workspace_id'],
  datadog: ['api_key', 'site', 'source'],
  mlflow: ['experiment_id', 'token'],
  elastic: ['api_key', 'secret_token'],
  file: ['path', 'metrics_path'],
  console: ['stream'],
} as const

/** The kinds of backends; `docs/configuration.md` says what each is. */
export type BackendType = keyof typeof OWN_FIELDS

export const BACKEND_TYPES: readonly BackendType[] = Object.keys(OWN_FIELDS) as BackendType[]

export function isBackendType(name: string): name is BackendType {
  return Object.hasOwn(OWN_FIELDS, name)
}

export function ownFields(type: BackendType): readonly string[] {
  return OWN_FIELDS[type]
}

// Everything else is a credential, or something that we do not know and that may be one.
const SHOWN: ReadonlySet<string> = new Set([
  'base_url',
  'dataset',
  'entity',
  'experiment_id',
  'metrics_path',
  'organization',
  'path',
  'project',
  'region',
  'site',
  'source',
  'stream',
  'stream_name',
  'user',
  'workspace_id',
])

/** Whether the value of a type's own field may be shown. */
export function isShownField(name: string): boolean {
  return SHOWN.has(name)
}

const PATHS: ReadonlySet<string> = new Set(['path', 'metrics_path'])

/** Whether the value is a path, in which `~/` is the home directory. */
export function isPathField(name: string): boolean {
  return PATHS.has(name)
}

/** The fields that every backend has. `docs/configuration.md` is generated from this. */
export const BACKEND_FIELDS = {
  type: 'One of the types below; the only field that must be there',
  name: 'Names it in messages and statistics; default: the type',
  endpoint: 'http(s) URL: base, or the full URL of a signal; default: that of the type',
  exact_endpoint: 'Use the endpoint as it is; default: `/v1/traces` or `/v1/metrics` is appended where it is missing',
  headers: 'Mapping of HTTP headers; they win over those that the type makes',
  protocol: '`http/json` or `http/protobuf`; default: what the type prefers',
  compression: '`gzip` or `none`',
  timeout_ms: 'Longest time of one request, retries included',
  traces: 'Send traces; default: where the type takes them',
  metrics: 'Send metrics; default: where the type takes them',
  logs: 'Send logs; there are none of ours so far',
  temporality: 'Of metrics: `cumulative`, `delta` or `lowmemory`; default: what the type prefers',
  certificate: 'Path of a PEM file with the certificate authorities to trust',
} as const

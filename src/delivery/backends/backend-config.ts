/** The kinds of backends; `docs/configuration.md` describes each. */
export type BackendType =
  | 'otlp'
  | 'jaeger'
  | 'tempo'
  | 'phoenix'
  | 'langfuse'
  | 'signoz'
  | 'uptrace'
  | 'openobserve'
  | 'honeycomb'
  | 'lgtm'
  | 'weave'
  | 'langsmith'
  | 'datadog'
  | 'mlflow'
  | 'elastic'
  | 'file'
  | 'console'

/** String values by name. */
export type StringMap = Readonly<Record<string, string>>

/** The transport of OTLP and its encoding. */
export type OtlpProtocol = 'http/json' | 'http/protobuf' | 'grpc'
/** The compression of request bodies. */
export type Compression = 'gzip' | 'none'
/** The start of a metric point: the first measurement, or the previous point. `lowmemory` mixes the two. */
export type Temporality = 'cumulative' | 'delta' | 'lowmemory'

/** The settings of one backend, as the exporters need them. */
export interface BackendConfig {
  /** Kind of backend */
  readonly type: BackendType
  /** Unique among the backends regardless of case, and safe as a file name. */
  readonly name: string
  /** http or https, without credentials: credentials in the URL are moved to `headers`. Absent: the type's own. */
  readonly endpoint?: string
  /** If true, the endpoint is used as it is. Otherwise the path of each signal is appended if it is missing. */
  readonly exact_endpoint?: boolean
  /** Lower-case names. The values are secrets and must not be shown. */
  readonly headers: StringMap
  /** A program and its arguments. It prints headers that override the others: a JSON object, or a token to use as `Bearer`. */
  readonly headers_command?: readonly string[]
  /** If this or one of the following is absent, the type's preference applies. */
  readonly protocol?: OtlpProtocol
  /** `gzip` or `none` */
  readonly compression?: Compression
  /** Maximum duration of one request, retries included */
  readonly timeout_ms?: number
  /** Send traces */
  readonly traces?: boolean
  /** Send metrics */
  readonly metrics?: boolean
  /** Send logs */
  readonly logs?: boolean
  /** Temporality of metrics: `cumulative`, `delta` or `lowmemory` */
  readonly temporality?: Temporality
  /** Path of a PEM file with the certificate authorities to trust. */
  readonly certificate?: string
  /** Path of a PEM file with the client certificate. */
  readonly client_certificate?: string
  /** Path of a PEM file with the key of the client certificate. */
  readonly client_key?: string
  /** The type's own fields: `base_url`, `api_key`, `dataset`, …, with every `<x>_env` already read into `<x>`. */
  readonly options: StringMap
}

/** The address at which metrics can be scraped. */
export interface PrometheusAddress {
  /** Address to listen on; `127.0.0.1` if absent */
  readonly host: string
  /** 9464 if absent; 0 picks any free port */
  readonly port: number
}

/** The kinds of backends; `docs/configuration.md` says what each is. */
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

/** Names and texts. */
export type StringMap = Readonly<Record<string, string>>

/** How OTLP is spoken. */
export type OtlpProtocol = 'http/json' | 'http/protobuf'
/** Of what is sent. */
export type Compression = 'gzip' | 'none'
/** What a point of a metric counts from: the beginning, or the point before it; `lowmemory` mixes the two. */
export type Temporality = 'cumulative' | 'delta' | 'lowmemory'

/** One destination, as the exporters need it. */
export interface BackendConfig {
  /** What kind of backend it is */
  readonly type: BackendType
  /** Unique among the backends, also where case does not count; safe as a file name. */
  readonly name: string
  /** http or https, without credentials: those that the URL held are in `headers`. Absent: the type's own. */
  readonly endpoint?: string
  /** The endpoint is used as it is. Else the path of each signal is appended to it where it is missing. */
  readonly exact_endpoint?: boolean
  /** Names in lower case. Secrets: never to be shown. */
  readonly headers: StringMap
  /** Absent, like the following: what the type prefers. */
  readonly protocol?: OtlpProtocol
  /** `gzip` or `none` */
  readonly compression?: Compression
  /** Longest time of one request, retries included */
  readonly timeout_ms?: number
  /** Send traces */
  readonly traces?: boolean
  /** Send metrics */
  readonly metrics?: boolean
  /** Send logs */
  readonly logs?: boolean
  /** Of metrics: `cumulative`, `delta` or `lowmemory` */
  readonly temporality?: Temporality
  /** Path of a PEM file with the certificate authorities to trust. */
  readonly certificate?: string
  /** Path of a PEM file with the certificate that is shown to the server. */
  readonly client_certificate?: string
  /** Path of a PEM file with its key. */
  readonly client_key?: string
  /** The type's own fields: `base_url`, `api_key`, `dataset`, …, with every `<x>_env` already read into `<x>`. */
  readonly options: StringMap
}

/** Where the metrics can be scraped. */
export interface PrometheusAddress {
  /** Address to listen at; `127.0.0.1` where absent */
  readonly host: string
  /** 9464 where absent; 0 takes any that is free */
  readonly port: number
}

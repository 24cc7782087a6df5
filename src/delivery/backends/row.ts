import type { OtlpProtocol, Temporality } from './backend-config.ts'

/** A key of one backend type, in addition to the keys common to all types. */
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

/** The options of a backend with the defaults filled in. */
export type Options = Readonly<Record<string, string | undefined>>

/** The request that reads a sent trace back. */
export interface ReadBack {
  /** URL of a GET request. Placeholders as in `traceView`. */
  readonly url: string
  /** `status`: the trace exists if the response is 200. `body`: it exists if the body contains the trace id. */
  readonly found: 'status' | 'body'
  /** If true, the request needs the headers of the backend. */
  readonly authenticated: boolean
}

/** One backend type. The configuration, the pipeline, `doctor` and the documentation read the same rows. */
export interface BackendRow {
  readonly about: string
  readonly transport: 'http' | 'file' | 'console'
  /** Derived from the options. Undefined if there is no usable default, so that `endpoint` is required. */
  readonly endpoint: (options: Options) => string | undefined
  readonly protocol: OtlpProtocol
  /** The server refuses the other protocol. */
  readonly onlyProtocol?: true
  readonly traces: boolean
  readonly metrics: boolean
  /** True if the backend accepts log events as OTLP/JSON. Logs are sent only if the user sets `logs: true`. */
  readonly logs: boolean
  /** Temporality of metrics. Cumulative unless the backend requires another. */
  readonly temporality?: Temporality
  readonly options: Readonly<Record<string, BackendOptionRow>>
  /** Undefined values are omitted. */
  readonly headers: (options: Options) => Readonly<Record<string, string | undefined>>
  /** Resource attributes that the backend uses for filing. Undefined values are omitted. */
  readonly resource?: (options: Options) => Readonly<Record<string, string | undefined>>
  /**
   * The address of a trace in the backend's UI. Placeholders: `{base}` is the endpoint without the signal's path,
   * `{hostname}` its host, `{trace_id}`, `{project}`, and the names of the options.
   */
  readonly traceView?: string
  readonly readBack?: ReadBack
  readonly note?: string
}

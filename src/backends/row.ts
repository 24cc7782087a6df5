import type { OtlpProtocol, Temporality } from './backend-config.ts'

/** A key of one backend type, beside the keys that all of them have. */
export interface OptionRow {
  readonly about: string
  readonly default?: string
  readonly required?: true
  /** Also readable from a variable that `<key>_env` names; never shown. */
  readonly secret?: true
  /** Variables of the vendor's own SDKs, the first that is set: read where the field is absent. */
  readonly variables?: readonly string[]
  /** `~/` in it is the home directory. */
  readonly path?: true
}

/** The options of a backend with the defaults filled in. */
export type Options = Readonly<Record<string, string | undefined>>

/** How a trace that was sent can be asked for again. */
export interface ReadBack {
  /** A GET. Placeholders as in `traceView`. */
  readonly url: string
  /** `status`: 200 means that it is there. `body`: the answer names the trace id. */
  readonly found: 'status' | 'body'
  /** Whether the request needs the headers of the backend. */
  readonly authenticated: boolean
}

/** One backend type. The configuration, the pipeline, `doctor` and the documentation read the same rows. */
export interface BackendRow {
  /** What it is, for a person who chooses. */
  readonly about: string
  /** How what is recorded gets there. */
  readonly transport: 'http' | 'file' | 'console'
  /** From the options; undefined where nothing can be guessed and `endpoint` must be given. */
  readonly endpoint: (options: Options) => string | undefined
  readonly protocol: OtlpProtocol
  /** The server refuses the other protocol. */
  readonly onlyProtocol?: true
  readonly traces: boolean
  readonly metrics: boolean
  /** It can be sent log events, as OTLP/JSON; whoever wants that says so. */
  readonly logs: boolean
  /** Of metrics; cumulative unless the backend wants something else. */
  readonly temporality?: Temporality
  readonly options: Readonly<Record<string, OptionRow>>
  /** Undefined values are left out. */
  readonly headers: (options: Options) => Readonly<Record<string, string | undefined>>
  /** Resource attributes that the backend files by. Undefined values are left out. */
  readonly resource?: (options: Options) => Readonly<Record<string, string | undefined>>
  /**
   * Where a person can look at a trace. Placeholders: `{base}` is the endpoint without the signal's path, `{hostname}`
   * its host, `{trace_id}`, `{project}`, and the names of the options.
   */
  readonly traceView?: string
  readonly readBack?: ReadBack
  /** What somebody who sets it up should know. */
  readonly note?: string
}

import type {
  BackendConfig,
  BackendType,
  Compression,
  OtlpProtocol,
  PrometheusAddress,
  StringMap,
  Temporality,
} from '../backends/backend-config.ts'
import type { KeyName, KeyTable } from './keys.ts'

export type { BackendConfig, PrometheusAddress, StringMap } from '../backends/backend-config.ts'
export type { KeyName } from './keys.ts'

interface ValueOfType {
  bool: boolean
  number: number
  integer: number
  chars: number
  millis: number
  text: string
  list: readonly string[]
  map: StringMap
  backends: readonly BackendConfig[]
  prometheus: PrometheusAddress
}

type ValueOf<Row> = Row extends { type: 'enum'; values: readonly (infer Word)[] }
  ? Word
  : Row extends { type: 'list'; values: readonly (infer Word)[] }
    ? readonly Word[]
    : Row extends { type: keyof ValueOfType }
      ? ValueOfType[Row['type']]
      : never

type Absent<Row> = Row extends { follows: string } | { default: unknown } ? never : undefined

/** What is in force: every key, valid, whatever was configured. */
export type ResolvedConfig = {
  readonly [Key in KeyName]: ValueOf<KeyTable[Key]> | Absent<KeyTable[Key]>
}

/**
 * A backend as people write it. Beside these fields the type's own (`docs/configuration.md` lists them); `<x>_env`
 * instead of `<x>` names the environment variable that holds the value.
 *
 * @example { type: 'phoenix', endpoint: 'http://127.0.0.1:6006', api_key_env: 'PHOENIX_API_KEY' }
 */
export interface UserBackend {
  /** One of the types below; the only field that must be there */
  readonly type: BackendType
  /** Names it in messages and statistics; default: the type */
  readonly name?: string | undefined
  /** http(s) URL: base, or the full URL of a signal; default: that of the type */
  readonly endpoint?: string | undefined
  /** Use the endpoint as it is; default: `/v1/traces` or `/v1/metrics` is appended where it is missing */
  readonly exact_endpoint?: boolean | undefined
  /** Mapping of HTTP headers; they win over those that the type makes */
  readonly headers?: StringMap | undefined
  /** `http/json` or `http/protobuf`; default: what the type prefers */
  readonly protocol?: OtlpProtocol | undefined
  /** `gzip` or `none` */
  readonly compression?: Compression | undefined
  /** Longest time of one request, retries included */
  readonly timeout_ms?: number | undefined
  /** Send traces; default: where the type takes them */
  readonly traces?: boolean | undefined
  /** Send metrics; default: where the type takes them */
  readonly metrics?: boolean | undefined
  /** Send logs; there are none of ours so far */
  readonly logs?: boolean | undefined
  /** Of metrics: `cumulative`, `delta` or `lowmemory`; default: what the type prefers */
  readonly temporality?: Temporality | undefined
  /** Path of a PEM file with the certificate authorities to trust */
  readonly certificate?: string | undefined
  /** The type's own fields, and `<x>_env` of each field */
  readonly [option: string]: unknown
}

interface UserValueOfType {
  /** Also in short: `console`, `file=/tmp/spans.jsonl`, `phoenix=http://127.0.0.1:6006`. */
  backends: readonly (UserBackend | string)[]
  prometheus: boolean | Partial<PrometheusAddress>
}

type UserValueOf<Row> = Row extends { type: keyof UserValueOfType } ? UserValueOfType[Row['type']] : ValueOf<Row>

/** What one key may be set to in code. */
export type UserValue<Key extends KeyName> = UserValueOf<KeyTable[Key]>

/** Something about the configuration that its author should know. `message` is one line and holds no secret. */
export interface ConfigProblem {
  /** `error`: a value that was asked for is not in force. `warning`: it is, or nobody asked us in particular. */
  readonly level: 'error' | 'warning'
  /** `sample_rate`, `backends[0].endpoint`; or the path of a file, the name of a variable. */
  readonly key: string
  readonly message: string
}

/** Where a value in force came from. */
export interface ConfigSource {
  readonly from: 'default' | 'file' | 'environment' | 'code'
  /** `config.yaml line 7`, or the variable's name. */
  readonly detail?: string
}

export interface Resolution {
  /** The file that is in force; undefined where there is none, or none that can be used. */
  readonly file: string | undefined
  readonly config: ResolvedConfig
  readonly sources: ReadonlyMap<KeyName, ConfigSource>
  readonly problems: readonly ConfigProblem[]
}

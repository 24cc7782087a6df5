import type {
  BackendConfig,
  BackendType,
  Compression,
  OtlpProtocol,
  PrometheusAddress,
  StringMap,
  Temporality,
} from '../backends/backend-config.ts'
import type { HooksConfig, UserHooks } from './hooks-config.ts'
import type { KeepConfig, UserKeep } from './keep-config.ts'
import type { KeyName, KeyTable } from './keys.ts'
import type { PricesConfig, UserPrices } from './prices-config.ts'

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
  hooks: HooksConfig
  prices: PricesConfig
  keep: KeepConfig
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
  // What each means, `BACKEND_FIELDS` says; the build puts that here, for editors.
  readonly type: BackendType
  readonly name?: string | undefined
  readonly endpoint?: string | undefined
  readonly exact_endpoint?: boolean | undefined
  readonly headers?: StringMap | undefined
  readonly protocol?: OtlpProtocol | undefined
  readonly compression?: Compression | undefined
  readonly timeout_ms?: number | undefined
  readonly traces?: boolean | undefined
  readonly metrics?: boolean | undefined
  readonly logs?: boolean | undefined
  readonly temporality?: Temporality | undefined
  readonly certificate?: string | undefined
  readonly client_certificate?: string | undefined
  readonly client_key?: string | undefined
  /** The type's own fields, and `<x>_env` of each field */
  readonly [option: string]: unknown
}

interface UserValueOfType {
  /** Also in short: `console`, `file=/tmp/spans.jsonl`, `phoenix=http://127.0.0.1:6006`. */
  backends: readonly (UserBackend | string)[]
  prometheus: boolean | Partial<PrometheusAddress>
  /** A text is the folder. */
  hooks: boolean | string | UserHooks
  prices: boolean | UserPrices
  keep: boolean | UserKeep
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
  /** The key of the problem that says why there is none that can be used. */
  readonly broken: ConfigProblem['key'] | undefined
  readonly config: ResolvedConfig
  readonly sources: ReadonlyMap<KeyName, ConfigSource>
  readonly problems: readonly ConfigProblem[]
}

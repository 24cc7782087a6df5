import type {
  BackendConfig,
  BackendType,
  Compression,
  OtlpProtocol,
  PrometheusAddress,
  StringMap,
  Temporality,
} from '../../delivery/backends/backend-config.ts'
import type { HooksConfig, UserHooks } from './hooks.ts'
import type { KeepConfig, UserKeep } from './keep.ts'
import type { KeyName, KeyTable } from './keys.ts'
import type { PricesConfig, UserPrices } from './prices.ts'
import type { ConfigProblem } from './reading.ts'

export type { BackendConfig, PrometheusAddress, StringMap } from '../../delivery/backends/backend-config.ts'
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

type Absent<Row> = Row extends { default: unknown } ? never : undefined

export type ResolvedConfig = { readonly [Key in KeyName]: ValueOf<KeyTable[Key]> | Absent<KeyTable[Key]> }

/**
 * A backend as users write it. Besides these fields, it may have the type's own (listed in `docs/configuration.md`). `<x>_env`
 * instead of `<x>` names the environment variable that contains the value.
 *
 * @example { type: 'phoenix', endpoint: 'http://127.0.0.1:6006', api_key_env: 'PHOENIX_API_KEY' }
 */
export interface UserBackend {
  // The build inserts the descriptions of `BACKEND_FIELDS` here, for editors.
  readonly type: BackendType
  readonly name?: string | undefined
  readonly endpoint?: string | undefined
  readonly exact_endpoint?: boolean | undefined
  readonly headers?: StringMap | undefined
  readonly headers_command?: readonly string[] | undefined
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
  /** Also in short form: `console`, `file=/tmp/spans.jsonl`, `phoenix=http://127.0.0.1:6006`. */
  backends: readonly (UserBackend | string)[]
  prometheus: boolean | Partial<PrometheusAddress>
  hooks: boolean | string | UserHooks
  prices: boolean | UserPrices
  keep: boolean | UserKeep
}

type UserValueOf<Row> = Row extends { type: keyof UserValueOfType } ? UserValueOfType[Row['type']] : ValueOf<Row>

/** The value of one key as options in code accept it. */
export type UserValue<Key extends KeyName> = UserValueOf<KeyTable[Key]>

export interface ConfigSource {
  readonly from: 'default' | 'file' | 'environment' | 'code'
  readonly detail?: string
}

export interface Resolution {
  readonly file: string | undefined
  readonly broken: ConfigProblem['key'] | undefined
  readonly config: ResolvedConfig
  readonly sources: ReadonlyMap<KeyName, ConfigSource>
  readonly problems: readonly ConfigProblem[]
}

// The build expands the keys, each with the description of its row, for editors.
/**
 * The configuration in code: any of the keys, spelt as in the file. Durations are milliseconds (`_ms`). An unusable value is
 * reported and ignored, and never throws.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export type UserConfig = { readonly [Key in KeyName]?: UserValue<Key> | undefined }

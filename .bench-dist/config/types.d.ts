import type { BackendType } from './backend-types.ts';
import type { KeyName, KeyTable } from './keys.ts';
import type { Environment } from './paths.ts';
export type { KeyName } from './keys.ts';
export type StringMap = Readonly<Record<string, string>>;
type OtlpProtocol = 'http/json' | 'http/protobuf';
type Compression = 'gzip' | 'none';
type Temporality = 'cumulative' | 'delta' | 'lowmemory';
/** One destination, as the exporters need it. */
export interface BackendConfig {
    readonly type: BackendType;
    /** Unique among the backends, also where case does not count; safe as a file name. */
    readonly name: string;
    /** http or https, without credentials: those that the URL held are in `headers`. Absent: the type's own. */
    readonly endpoint?: string;
    /** The endpoint is used as it is. Else the path of each signal is appended to it where it is missing. */
    readonly exact_endpoint?: boolean;
    /** Names in lower case. Secrets: never to be shown. */
    readonly headers: StringMap;
    /** Absent, like the following: what the type prefers. */
    readonly protocol?: OtlpProtocol;
    readonly compression?: Compression;
    readonly timeout_ms?: number;
    readonly traces?: boolean;
    readonly metrics?: boolean;
    readonly logs?: boolean;
    readonly temporality?: Temporality;
    /** Path of a PEM file with the certificate authorities to trust. */
    readonly certificate?: string;
    /** The type's own fields: `base_url`, `api_key`, `dataset`, …, with every `<x>_env` already read into `<x>`. */
    readonly options: StringMap;
}
/** Where the metrics can be scraped. */
export interface PrometheusAddress {
    readonly host: string;
    readonly port: number;
}
interface ValueOfType {
    bool: boolean;
    number: number;
    integer: number;
    millis: number;
    text: string;
    list: readonly string[];
    map: StringMap;
    backends: readonly BackendConfig[];
    prometheus: PrometheusAddress;
}
type ValueOf<Row> = Row extends {
    type: 'enum';
    values: readonly (infer Word)[];
} ? Word : Row extends {
    type: 'list';
    values: readonly (infer Word)[];
} ? readonly Word[] : Row extends {
    type: keyof ValueOfType;
} ? ValueOfType[Row['type']] : never;
type Absent<Row> = Row extends {
    follows: string;
} ? never : Row extends {
    default: undefined;
} ? undefined : never;
/** What is in force: every key, valid, whatever was configured. */
export type ResolvedConfig = {
    readonly [Key in KeyName]: ValueOf<KeyTable[Key]> | Absent<KeyTable[Key]>;
};
/**
 * A backend as people write it. Beside these fields the type's own (`docs/configuration.md` lists them); `<x>_env`
 * instead of `<x>` names the environment variable that holds the value.
 *
 * @example { type: 'phoenix', endpoint: 'http://127.0.0.1:6006', api_key_env: 'PHOENIX_API_KEY' }
 */
export interface UserBackend {
    readonly type: BackendType;
    readonly name?: string | undefined;
    readonly endpoint?: string | undefined;
    readonly exact_endpoint?: boolean | undefined;
    readonly headers?: StringMap | undefined;
    readonly protocol?: OtlpProtocol | undefined;
    readonly compression?: Compression | undefined;
    readonly timeout_ms?: number | undefined;
    readonly traces?: boolean | undefined;
    readonly metrics?: boolean | undefined;
    readonly logs?: boolean | undefined;
    readonly temporality?: Temporality | undefined;
    readonly certificate?: string | undefined;
    readonly [option: string]: unknown;
}
interface UserValueOfType {
    /** Also in short: `console`, `file=/tmp/spans.jsonl`, `phoenix=http://127.0.0.1:6006`. */
    backends: readonly (UserBackend | string)[];
    prometheus: boolean | Partial<PrometheusAddress>;
}
type UserValueOf<Row> = Row extends {
    type: keyof UserValueOfType;
} ? UserValueOfType[Row['type']] : ValueOf<Row>;
/**
 * What may be written in code: any of the keys, in the spelling of the file. Durations are milliseconds (`_ms`). A value
 * that cannot be used is reported and ignored, never thrown.
 *
 * @example { content_capture: 'full', backends: [{ type: 'jaeger' }], sample_rate: 0.1 }
 */
export type UserConfig = {
    readonly [Key in KeyName]?: UserValueOf<KeyTable[Key]> | undefined;
};
/** What `resolveConfig` is given; all of it optional. */
export interface ConfigInput {
    /** Options given in code. */
    readonly code?: UserConfig | undefined;
    /** Default: the process's environment. */
    readonly env?: Environment | undefined;
    /** Home directory. Default: the user's. */
    readonly home?: string | undefined;
    /** The agent product that runs us, where it is the only one: `hermes`, `pi`. */
    readonly hostName?: string | undefined;
}
/** Something about the configuration that its author should know. `message` is one line and holds no secret. */
export interface ConfigProblem {
    /** `error`: a value that was asked for is not in force. `warning`: it is, or nobody asked us in particular. */
    readonly level: 'error' | 'warning';
    /** `sample_rate`, `backends[0].endpoint`; or the path of a file, the name of a variable. */
    readonly key: string;
    readonly message: string;
}
/** Where a value in force came from. */
export interface ConfigSource {
    readonly from: 'default' | 'file' | 'environment' | 'code';
    /** `config.yaml line 7`, or the variable's name. */
    readonly detail?: string;
}
export interface Resolution {
    readonly config: ResolvedConfig;
    readonly sources: ReadonlyMap<KeyName, ConfigSource>;
    readonly problems: readonly ConfigProblem[];
}

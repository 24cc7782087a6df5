import type { Protocol, Temporality } from '../backends/row.ts'

/** What the pipeline is told. Everything is resolved: no default is decided here, no variable is read. */

export type { Protocol, Temporality }

export interface BackendSettings {
  /** A key of `BACKENDS`. */
  readonly type: string
  /** Names the backend in messages and statistics. */
  readonly name: string
  /** Base URL, or the full URL of a signal. Absent = the type's default. */
  readonly endpoint?: string
  /** `endpoint` is used as it is. Otherwise the path of each signal is appended to it where it is missing. */
  readonly exactEndpoint?: boolean
  /** Win over the headers that the type makes from its options, whatever their case. */
  readonly headers: Readonly<Record<string, string>>
  readonly protocol?: Protocol
  readonly compression?: 'gzip' | 'none'
  /** One request with its retries. Never above `batch.exportTimeoutMillis`. */
  readonly timeoutMillis?: number
  readonly traces?: boolean
  readonly metrics?: boolean
  readonly temporality?: Temporality
  /** Path of a PEM file with the certificate authority to trust. */
  readonly certificate?: string
  /** The type's own keys, secrets included. */
  readonly options: Readonly<Record<string, string>>
}

export interface LocalLogSettings {
  readonly directory: string
  readonly maxBytes: number
  readonly maxAgeHours: number
  /** Longest time that something recorded stays in memory only. */
  readonly flushMillis: number
}

export interface SamplerSettings {
  readonly type: 'always_on' | 'always_off' | 'ratio'
  /** 0 to 1, for `ratio`. */
  readonly ratio?: number
}

export interface BatchSettings {
  /** Spans that may wait for one backend; further ones are dropped and counted. */
  readonly maxQueueSize: number
  readonly scheduleDelayMillis: number
  readonly maxExportBatchSize: number
  readonly exportTimeoutMillis: number
}

export interface PrometheusSettings {
  readonly host: string
  readonly port: number
}

/** The slice of the configuration that the pipeline needs. */
export interface PipelineSettings {
  readonly serviceName: string
  readonly projectName?: string
  /** Win over `globalTags`. */
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly globalTags: Readonly<Record<string, string>>
  /** Of this package. */
  readonly version: string
  readonly backends: readonly BackendSettings[]
  /** Names of the attributes that mark spans of a process that was killed; empty where they are switched off. */
  readonly marks: { readonly incomplete: string; readonly finalStatus: string; readonly spanKind: string }
  /** Absent = off. */
  readonly localLog?: LocalLogSettings
  /** Always parent-based. */
  readonly sampler: SamplerSettings
  readonly attributeCountLimit: number
  readonly batch: BatchSettings
  readonly metricsIntervalMillis: number
  readonly prometheus?: PrometheusSettings
  readonly deterministicIds: boolean
  /** How long a flush may keep the process alive, and how long `shutdown()` waits before it gives up what is left. */
  readonly flushWaitMillis: number
  /** Once it is aborted, `shutdown()` waits for no backend any more. */
  readonly giveUp?: AbortSignal | undefined
}

/** Where the lines for the person go. They carry no prefix and never a secret. */
export interface Report {
  warn(line: string): void
  error(line: string): void
  debug(line: string): void
}

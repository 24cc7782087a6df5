import type { BackendConfig, PrometheusAddress, StringMap } from '../backends/backend-config.ts'

/** What the pipeline is told. Everything is resolved: no default is decided here, no variable is read. */

export interface LocalLogSettings {
  readonly directory: string
  readonly maxBytes: number
  readonly maxAgeHours: number
  /** Longest time that something recorded stays in memory only. */
  readonly flushMillis: number
}

export interface BatchSettings {
  /** Spans that may wait for one backend; further ones are dropped and counted. */
  readonly maxQueueSize: number
  readonly scheduleDelayMillis: number
  readonly maxExportBatchSize: number
  readonly exportTimeoutMillis: number
}

/** The slice of the configuration that the pipeline needs. */
export interface PipelineSettings {
  readonly serviceName: string
  readonly projectName?: string
  /** Win over `globalTags`. */
  readonly resourceAttributes: StringMap
  readonly globalTags: StringMap
  /** Of this package. */
  readonly version: string
  readonly backends: readonly BackendConfig[]
  /** Names of the attributes that mark spans of a process that was killed; empty where they are switched off. */
  readonly marks: { readonly incomplete: string; readonly finalStatus: string; readonly spanKind: string }
  /** Absent = off. */
  readonly localLog?: LocalLogSettings
  /** Share of the traces, 0 to 1, where nobody has decided before; absent = all. */
  readonly sampleRate?: number | undefined
  readonly attributeCountLimit: number
  readonly batch: BatchSettings
  readonly metricsIntervalMillis: number
  readonly prometheus?: PrometheusAddress
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

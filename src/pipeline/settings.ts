import type { BackendConfig, PrometheusAddress, StringMap } from '../backends/backend-config.ts'
import type { BatchSettings, Continuation, LocalLogSettings } from '../trace-log/index.ts'

export type { BatchSettings, LocalLogSettings, Report } from '../trace-log/index.ts'

/** What the pipeline is told. Everything is resolved: no default is decided here, no variable is read. */

export interface HoldingSettings {
  /** The attribute by which the root of a turn says why its trace is kept, or that it is not (`NOT_KEPT`). */
  readonly reasonName: string
  /** Of the share that is kept by its trace ids, as `thresholdOf` writes it. */
  readonly threshold: string | undefined
  /** Of all spans that are held, about as long as their JSON; beyond it the largest trace is judged by what is known. */
  readonly maxBytes: number
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
  /** Of the names of log events. */
  readonly namespace: string
  /** Names of the attributes that mark spans of a process that was killed; empty where they are switched off. */
  readonly marks: { readonly incomplete: string; readonly finalStatus: string; readonly spanKind: string }
  /** Absent = off. */
  readonly localLog?: LocalLogSettings
  /** Traces are held until they are judged; absent = everything is sent. */
  readonly holding?: HoldingSettings | undefined
  /** These are not all backends of the configuration, so that nothing is given to them alone. */
  readonly isPartial?: boolean
  /** Share of the traces, 0 to 1, where nobody has decided before; absent = all. */
  readonly sampleRate?: number | undefined
  readonly attributeCountLimit: number
  readonly batch: BatchSettings
  readonly metricsIntervalMillis: number
  readonly prometheus?: PrometheusAddress
  readonly deterministicIds: boolean
  /** How long a flush may keep the process alive, and how long `shutdown()` waits before it gives up what is left. */
  readonly flushWaitMillis: number
  /** Of a process that goes on with what one before it has left open. */
  readonly continuation?: Continuation | undefined
  /** Once it is aborted, `shutdown()` waits for no backend any more. */
  readonly giveUp?: AbortSignal | undefined
}

import type { BackendConfig, PrometheusAddress, StringMap } from '../backends/backend-config.ts'
import type { BatchSettings, Continuation, LocalLogSettings } from '../trace-log/index.ts'

export type { BatchSettings, LocalLogSettings, Reporter } from '../trace-log/index.ts'

/** Settings of tail sampling. All settings here are resolved: no default is chosen and no variable is read in this module. */

export interface TailSamplingSettings {
  /** The attribute of a turn's root that holds the reason why its trace is kept, or `NOT_KEPT`. */
  readonly reasonName: string
  /** Threshold of the share that is kept by trace id, as `thresholdOf` writes it. */
  readonly threshold: string | undefined
  /** Maximum size of all buffered spans, estimated as JSON. Beyond it, the largest trace is sampled early. */
  readonly maxBytes: number
}

export interface PipelineSettings {
  readonly serviceName: string
  readonly projectName?: string | undefined
  readonly resourceAttributes: StringMap
  readonly version: string
  readonly backends: readonly BackendConfig[]
  readonly namespace: string
  /** Names of the attributes that mark spans of a killed process. Empty if they are switched off. */
  readonly marks: { readonly incomplete: string; readonly finalStatus: string; readonly spanKind: string }
  readonly localLog?: LocalLogSettings | undefined
  readonly tailSampling?: TailSamplingSettings | undefined
  /** Not all configured backends. Recovered traces are not sampled then, because only these backends would get them. */
  readonly isPartial?: boolean
  /** Share of the traces, 0 to 1, unless the parent context has decided. Absent = all. */
  readonly sampleRate?: number | undefined
  readonly attributeCountLimit: number
  readonly batch: BatchSettings
  readonly metricsIntervalMillis: number
  readonly prometheus?: PrometheusAddress | undefined
  readonly deterministicIds: boolean
  /** Maximum time that a flush keeps the process alive. Also the time after which `shutdown()` drops what is left. */
  readonly flushWaitMillis: number
  readonly continuation?: Continuation | undefined
  /** Once it is aborted, `shutdown()` waits for no backend any more. */
  readonly giveUp?: AbortSignal | undefined
}

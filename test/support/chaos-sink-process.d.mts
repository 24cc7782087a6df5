import type {
  AcceptedSpan,
  ChaosBehaviour,
  ChaosCounts,
  ChaosOptions,
  ChaosRequest,
  ChaosStep,
} from './chaos-sink.d.mts'

/**
 * A `ChaosSink` in a process of its own, for load that must not share an event loop with whoever measures. The same
 * words, with a promise each. The process ends with its parent.
 */
export class ChaosSinkProcess {
  static start(behaviour?: ChaosBehaviour, options?: ChaosOptions): Promise<ChaosSinkProcess>
  readonly url: string
  readonly pid: number
  behave(behaviour: ChaosBehaviour): Promise<void>
  goDown(): Promise<void>
  comeBack(): Promise<void>
  play(steps: readonly ChaosStep[]): Promise<void>
  counts(): Promise<ChaosCounts>
  /** From that one on, so that a long run can be read in pieces. */
  accepted(from?: number): Promise<AcceptedSpan[]>
  requests(from?: number): Promise<ChaosRequest[]>
  deliveries(): Promise<Map<string, number>>
  /** Asks again and again; rejects after `millis` with what came instead. */
  until(is: (counts: ChaosCounts) => boolean, what?: string, millis?: number): Promise<void>
  stop(): Promise<void>
}

import { setTimeout as pause } from 'node:timers/promises'
import type { BackendStats } from '../delivery/pipeline/index.ts'

const EVERY_RECORDS = 100
/** If more spans than this are queued for a backend, replaying pauses. */
const MAX_QUEUED = 4096
/** The maximum batch size. A batch must be able to fill before the replay pauses. */
export const LARGEST_BATCH: number = MAX_QUEUED / 2
const POLL_MILLIS = 5
/** If a backend made no progress for this total time, replaying no longer pauses for it. */
const PATIENCE_MILLIS = 10_000

interface Waiting {
  readonly delivered: number
  readonly millis: number
}

/** Slows the producer of spans down to the speed of the backends, except those that hang. */
export class Backpressure {
  readonly #backends: () => readonly BackendStats[]
  readonly #stop: AbortSignal | undefined
  readonly #patienceMillis: number
  /** The time waited since each backend's last progress. */
  readonly #waited = new Map<string, Waiting>()

  /** @param stop aborted if all waiting has to end */
  constructor(backends: () => readonly BackendStats[], patienceMillis: number = PATIENCE_MILLIS, stop?: AbortSignal) {
    this.#backends = backends
    this.#patienceMillis = patienceMillis
    this.#stop = stop
  }

  /** Every `EVERY_RECORDS` records, waits until the backends have caught up or the command stops. */
  async afterRecord(count: number): Promise<void> {
    if (count % EVERY_RECORDS !== 0) return
    for (let behind = this.#behind(); behind.length > 0 && this.#stop?.aborted !== true; behind = this.#behind()) {
      const since = performance.now()
      await pause(POLL_MILLIS)
      for (const backend of behind) this.#note(backend, performance.now() - since)
    }
  }

  #behind(): BackendStats[] {
    return this.#backends().filter(({ name, queued }) => {
      return queued > MAX_QUEUED && (this.#waited.get(name)?.millis ?? 0) < this.#patienceMillis
    })
  }

  #note({ name, delivered }: BackendStats, millis: number): void {
    const before = this.#waited.get(name)
    const isStuck = before?.delivered === delivered
    this.#waited.set(name, { delivered, millis: isStuck ? before.millis + millis : 0 })
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import type { BackendStats } from '../pipeline/index.ts'

const EVERY_RECORDS = 100
/** More than this wait for a backend: wait for it, too. */
const MOST_QUEUED = 4096
/** Spans of a batch at most: one that can fill up before it is waited for. */
export const LARGEST_BATCH: number = MOST_QUEUED / 2
const POLL_MILLIS = 5
/** A backend that was waited for this long, all in all, and took nothing meanwhile is no longer waited for. */
const PATIENCE_MILLIS = 10_000

interface Waiting {
  readonly delivered: number
  readonly millis: number
}

/** Keeps who makes spans from running away from the backends, but not for the sake of one that hangs. */
export class Backpressure {
  readonly #backends: () => readonly BackendStats[]
  readonly #stop: AbortSignal | undefined
  readonly #patienceMillis: number
  /** Since a backend took something last. */
  readonly #waited = new Map<string, Waiting>()

  /** @param stop aborted when nothing is to be waited for any more */
  constructor(backends: () => readonly BackendStats[], patienceMillis: number = PATIENCE_MILLIS, stop?: AbortSignal) {
    this.#backends = backends
    this.#patienceMillis = patienceMillis
    this.#stop = stop
  }

  /** Waits, every so many records, until the backends have caught up, or the command is to stop. */
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
      return queued > MOST_QUEUED && (this.#waited.get(name)?.millis ?? 0) < this.#patienceMillis
    })
  }

  #note({ name, delivered }: BackendStats, millis: number): void {
    const before = this.#waited.get(name)
    const isStuck = before?.delivered === delivered
    this.#waited.set(name, { delivered, millis: isStuck ? before.millis + millis : 0 })
  }
}

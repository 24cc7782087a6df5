import { setTimeout as pause } from 'node:timers/promises'
import { plausibleAt } from '../contract/foreign.ts'
import type { BackendStats } from '../delivery/pipeline/index.ts'
import { createPluginIn } from '../plugin/create-plugin.ts'
import type { Plugin, PluginOptions, PluginStats } from '../plugin/plugin.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { CommandIo } from './command.ts'
import type { ReadRecord } from './hook-records.ts'
import type { Interruption } from './interruption.ts'

/** Batches are sent when full, never by time, so that two replays write the same bytes. */
const NO_SCHEDULE_MILLIS = 3_600_000
/** No agent waits for a replay, so a slow backend gets more time. */
const REPLAY_WAIT_MILLIS = 15_000
/** One record can end thousands of spans. The limit keeps a hanging backend from filling the memory. */
const QUEUE_SPANS = 50_000
const MAX_PAUSE_MILLIS = 60_000

interface ReplayOptions {
  readonly plugin: PluginOptions
  readonly batchSpans: number
  /** 1 = recorded speed, 2 = twice as fast; undefined = as fast as possible. */
  readonly speed?: number | undefined
  readonly interruption: Interruption
}

export interface ReplayResult {
  readonly stats: PluginStats
  readonly records: number
  readonly spans: number
  /** A backend could not be set up, or the plugin reported an error. */
  readonly hasErrors: boolean
}

/** Feeds records to a plugin, slowly enough that nothing is dropped. */
export class Replayer {
  readonly #plugin: Plugin
  readonly #speed: number | undefined
  readonly #backpressure: Backpressure
  readonly #stop: AbortSignal
  #records = 0
  #lastAt: number | undefined
  #lastArrivedAt: number | undefined
  #hasErrors = false

  constructor(options: ReplayOptions, io: Pick<CommandIo, 'env' | 'home' | 'stderr'>) {
    this.#speed = options.speed
    this.#stop = options.interruption.stop
    // A parent span of this process has nothing to do with the recording.
    const { TRACEPARENT: _parent, ...env } = io.env
    this.#plugin = createPluginIn(replayOptions(options), {
      env,
      home: io.home,
      isReplay: true,
      ...(writesOnlyFiles(options) ? {} : { giveUp: options.interruption.giveUp }),
      diagnostics: this.#diagnostics(io),
    })
    this.#backpressure = new Backpressure(() => this.#plugin.stats().backends, undefined, this.#stop)
  }

  get spans(): number {
    const { backends } = this.#plugin.stats()
    return Math.max(0, ...backends.map(each => each.delivered + each.dropped + each.queued + each.spooled))
  }

  /** @param arrivedAt arrival of a record that comes live through a pipe, epoch milliseconds */
  async feed({ hook, payload, meta }: ReadRecord, arrivedAt?: number): Promise<void> {
    const at = plausibleAt(meta.at)
    if (at !== undefined) await this.#keepTime(at)
    else if (arrivedAt !== undefined) this.#lastAt = this.#sinceTheLast(arrivedAt)
    this.#lastArrivedAt = arrivedAt
    // The current time of a recording is that of the previous record.
    const timed = at === undefined && this.#lastAt !== undefined ? { ...meta, at: this.#lastAt } : meta
    this.#plugin.emitUntyped(hook, payload, timed)
    this.#records += 1
    await this.#backpressure.afterRecord(this.#records)
  }

  /** Ends open spans and delivers them. Spans that a backend does not accept within the time limit are dropped and counted. */
  async finish(): Promise<ReplayResult> {
    await this.#plugin.shutdown()
    return { stats: this.#plugin.stats(), records: this.#records, spans: this.spans, hasErrors: this.#hasErrors }
  }

  #sinceTheLast(arrivedAt: number): number {
    if (this.#lastAt === undefined || this.#lastArrivedAt === undefined) return arrivedAt
    return this.#lastAt + Math.max(0, arrivedAt - this.#lastArrivedAt)
  }

  async #keepTime(at: number): Promise<void> {
    const gap = this.#lastAt === undefined ? 0 : Math.max(0, at - this.#lastAt)
    this.#lastAt = at
    if (this.#speed === undefined || gap === 0) return
    const millis = Math.min(gap / this.#speed, MAX_PAUSE_MILLIS)
    // The timer rejects if aborted.
    await pause(millis, undefined, { signal: this.#stop }).catch(() => undefined)
  }

  #diagnostics({ stderr }: Pick<CommandIo, 'stderr'>): Diagnostics {
    const say = (line: string): void => stderr.write(`hookspan: ${line}\n`)
    const error = (line: string): void => {
      this.#hasErrors = true
      say(line)
    }
    return { warn: say, error, debug: () => undefined }
  }
}

/** Files receive everything, even if a busy machine takes a while. */
function writesOnlyFiles({ plugin: { local_log, backends } }: ReplayOptions): boolean {
  return local_log === false && backends?.every(each => typeof each !== 'string' && each.type === 'file') === true
}

function replayOptions({ plugin, batchSpans, speed }: ReplayOptions): PluginOptions {
  return {
    deterministic_ids: true,
    ...plugin,
    // A replay always shows the whole recording, whatever is configured for the agent.
    enabled: true,
    sample_rate: 1,
    prometheus: false,
    force_flush_on_session_end: false,
    force_flush_wait_ms: REPLAY_WAIT_MILLIS,
    span_batch_max_queue_size: QUEUE_SPANS,
    span_batch_max_export_batch_size: Math.min(batchSpans, LARGEST_BATCH),
    // At a given speed the user is watching, so ended spans are sent promptly.
    ...(speed === undefined ? { span_batch_schedule_delay_ms: NO_SCHEDULE_MILLIS } : {}),
  }
}

const EVERY_RECORDS = 100
/** If more spans than this are queued for a backend, replaying pauses. */
const MAX_QUEUED = 4096
/** The maximum batch size. A batch must be able to fill before the replay pauses. */
const LARGEST_BATCH: number = MAX_QUEUED / 2
const POLL_MILLIS = 5
/** If a backend made no progress for this total time, replaying no longer pauses for it. */
const PATIENCE_MILLIS = 10_000

interface BackendWait {
  readonly delivered: number
  readonly millis: number
}

/** Slows the producer of spans down to the speed of the backends, except those that hang. */
export class Backpressure {
  readonly #backends: () => readonly BackendStats[]
  readonly #stop: AbortSignal | undefined
  readonly #patienceMillis: number
  readonly #waited = new Map<string, BackendWait>()

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

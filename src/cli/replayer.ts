import { setTimeout as pause } from 'node:timers/promises'
import type { HookMeta } from '../contract/index.ts'
import { createPluginIn } from '../wiring/create-plugin.ts'
import type { Diagnostics } from '../wiring/diagnostics.ts'
import type { Plugin, PluginOptions, PluginStats } from '../wiring/plugin.ts'
import type { CommandIo } from './command.ts'
import type { ReadRecord } from './hook-records.ts'

/** Batches are cut by the number of records, never by time, so that two replays write the same bytes. */
const RECORDS_PER_FLUSH = 200
/** Not by the clock, either: a replay flushes itself. */
const NO_SCHEDULE_MILLIS = 3_600_000
/** Nobody's agent waits for a replay: give a slow backend its time. */
const REPLAY_WAIT_MILLIS = 15_000
/** A pause in a recording is at most this long when it is played at its own speed. */
const LONGEST_PAUSE_MILLIS = 60_000

export interface ReplayOptions {
  readonly plugin: PluginOptions
  /** 1 = as fast as it happened, 2 = twice as fast; undefined = as fast as possible. */
  readonly speed: number | undefined
}

/** Feeds records to a plugin and sees to it that nothing is dropped for going too fast. */
export class Replayer {
  readonly #plugin: Plugin
  readonly #speed: number | undefined
  #records = 0
  #lastAt: number | undefined

  constructor(options: ReplayOptions, io: CommandIo) {
    this.#speed = options.speed
    const code: PluginOptions = {
      deterministic_ids: true,
      force_flush_wait_ms: REPLAY_WAIT_MILLIS,
      ...options.plugin,
      force_flush_on_session_end: false,
      span_batch_schedule_delay_ms: NO_SCHEDULE_MILLIS,
    }
    this.#plugin = createPluginIn(code, {
      env: io.env,
      home: io.home,
      isReplay: true,
      diagnostics: diagnosticsOf(io),
    })
  }

  get records(): number {
    return this.#records
  }

  async feed({ hook, payload, meta }: ReadRecord): Promise<void> {
    await this.#keepTime(meta)
    this.#plugin.on(hook, payload, meta)
    this.#records += 1
    if (this.#records % RECORDS_PER_FLUSH === 0) await this.#plugin.flush()
  }

  /** Ends what is open and delivers. */
  async finish(): Promise<PluginStats> {
    await this.#plugin.shutdown()
    return this.#plugin.stats()
  }

  async #keepTime({ at }: HookMeta): Promise<void> {
    if (this.#speed === undefined || at === undefined) return
    const gap = this.#lastAt === undefined ? 0 : Math.max(0, at - this.#lastAt)
    this.#lastAt = at
    if (gap > 0) await pause(Math.min(gap / this.#speed, LONGEST_PAUSE_MILLIS))
  }
}

function diagnosticsOf({ stderr }: CommandIo): Diagnostics {
  const say = (line: string): void => stderr.write(`hookspan: ${line}\n`)
  return { warn: say, error: say, debug: () => undefined }
}

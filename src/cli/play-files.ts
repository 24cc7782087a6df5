import { stat } from 'node:fs/promises'
import { addAbortSignal } from 'node:stream'
import { resolveConfig } from '../plugin/config/resolve.ts'
import type { PluginOptions } from '../plugin/plugin.ts'
import { countOf, humanCount } from '../reading/human-figures.ts'
import type { CommandIo } from './command.ts'
import { whyNot } from './file-trouble.ts'
import type { ReadRecord } from './hook-records.ts'
import { openInput, type RecordEntry, RecordReader } from './hook-records.ts'
import { Interruption, interruptedAt, STOPPING } from './interruption.ts'
import { showRun, summaryOf, whereTheyAre } from './replay-report.ts'
import { Replayer, type ReplayResult } from './replayer.ts'
import { Progress } from './terminal.ts'
import { openTracePlace } from './trace-place.ts'

const DRAWN_TRACES = 20

interface ReplayInput {
  readonly files: readonly string[]
  readonly speed: number | undefined
  readonly host: string | undefined
}

export interface ReplayRun {
  readonly result: ReplayResult
  readonly isClean: boolean
  readonly exitCode: number | undefined
  readonly begins: string
}

export async function playAndDraw(
  playing: ReplayInput,
  backend: readonly string[],
  io: CommandIo,
): Promise<ReplayRun & { readonly isGood: boolean }> {
  const code = { host: playing.host, ...(backend.length === 0 ? {} : { backends: backend }) }
  const { config } = resolveConfig({ code, env: io.env, home: io.home })
  const place = await openTracePlace(config, io)
  try {
    const plugin = { ...code, local_log: true }
    const { span_batch_max_export_batch_size: batchSpans } = config
    const played = await play(plugin, { batchSpans, env: place.env }, playing, io)
    const { result, exitCode } = played
    const isDelivered = await showRun(result, { config, place, last: exitCode === undefined ? DRAWN_TRACES : 0 }, io)
    io.stderr.write(`${played.begins}${summaryOf(result)}; ${whereTheyAre(result, place)}\n`)
    const isKept = place.whyNotKept === undefined || !config.local_log
    return { ...played, isGood: played.isClean && isDelivered && isKept }
  } finally {
    await place.close()
  }
}

interface PlayOptions {
  readonly batchSpans: number
  readonly speed?: number | undefined
  readonly env: CommandIo['env']
}

export async function play(
  plugin: PluginOptions,
  options: PlayOptions,
  { files, speed, host }: ReplayInput,
  io: CommandIo,
): Promise<ReplayRun> {
  const feedFiles: FeedRecords = async (replayer, progress, stop) => {
    const feed = new RecordFeed(replayer, progress, stop, io)
    let isClean = true
    for (const file of files) isClean = (await feed.feedFile(file, new RecordReader(host))) && isClean
    return isClean
  }
  return playRecords(plugin, { ...options, speed }, new Progress(io, await bytesOf(files)), feedFiles, io)
}

/** Resolves to false if some of the input was unusable. */
type FeedRecords = (replayer: Replayer, progress: Progress, stop: AbortSignal) => Promise<boolean>

export async function playRecords(
  plugin: PluginOptions,
  { env, ...options }: PlayOptions,
  progress: Progress,
  feed: FeedRecords,
  io: CommandIo,
): Promise<ReplayRun> {
  const interruption = new Interruption(io, () => progress.showStep(STOPPING))
  const outside = { env, home: io.home, stderr: progress.stderr }
  const replayer = new Replayer({ plugin, ...options, interruption }, outside)
  const isClean = await feed(replayer, progress, interruption.stop)
  const begins = interruptedAt(interruption, progress)
  if (begins === '') progress.showStep('delivering …')
  const result = await replayer.finish()
  progress.end()
  return { result, isClean, exitCode: interruption.exitCode, begins: begins || interruptedAt(interruption) }
}

/** The maximum number of malformed lines reported one by one: in a wrong file all are malformed. */
const MAX_REPORTED = 20

class RecordFeed {
  readonly #replayer: Replayer
  readonly #progress: Progress
  readonly #stop: AbortSignal
  readonly #io: CommandIo
  #bytes = 0
  #records = 0

  constructor(replayer: Replayer, progress: Progress, stop: AbortSignal, io: CommandIo) {
    this.#replayer = replayer
    this.#progress = progress
    this.#stop = stop
    this.#io = io
  }

  /**
   * Resolves to false if a line was malformed or the file unreadable; the rest is still replayed. If stopped, the rest of the
   * file is not read.
   */
  async feedFile(file: string, reader: RecordReader): Promise<boolean> {
    const name = file === '-' ? 'standard input' : file
    let malformed = 0
    try {
      for await (const entry of this.#entries(file, reader)) {
        if (this.#stop.aborted) break
        if ('record' in entry) await this.#feed(entry.record, file === '-' ? this.#io.now() : undefined)
        else if (++malformed <= MAX_REPORTED)
          this.#report(`${name} line ${entry.line}: ${entry.problem}; the line is skipped`)
      }
    } catch (error) {
      if (this.#stop.aborted) return malformed === 0
      this.#report(`cannot read ${name}: ${whyNot(error)}`)
      return false
    }
    const untold = malformed - MAX_REPORTED
    if (untold > 0) this.#report(`${name}: ${countOf(untold, 'further line')} skipped`)
    return malformed === 0
  }

  #entries(file: string, reader: RecordReader): AsyncGenerator<RecordEntry, void> {
    // The input may be waiting for more data when the command stops.
    const input = addAbortSignal(this.#stop, openInput(file, this.#io.stdin))
    return reader.read(input, bytes => {
      this.#bytes += bytes
    })
  }

  async #feed(record: ReadRecord, arrivedAt: number | undefined): Promise<void> {
    await this.#replayer.feed(record, arrivedAt)
    this.#records += 1
    this.#progress.update(this.#bytes, seconds => {
      const [records, spans] = [countOf(this.#records, 'record'), countOf(this.#replayer.spans, 'span')]
      return `${records} · ${spans} · ${humanCount(this.#records / seconds)} records/s`
    })
  }

  #report(line: string): void {
    this.#progress.end()
    this.#io.stderr.write(`hookspan replay: ${line}\n`)
  }
}

export async function bytesOf(files: readonly string[]): Promise<number | undefined> {
  let sum = 0
  for (const file of files) {
    const found = file === '-' ? undefined : await stat(file).catch(() => undefined)
    if (found?.isFile() !== true) return undefined
    sum += found.size
  }
  return sum
}

import { resolveConfig } from '../plugin/config/resolve.ts'
import type { PluginOptions } from '../plugin/plugin.ts'
import type { CommandIo } from './command.ts'
import { RecordReader } from './hook-records.ts'
import { Interruption, interruptedAt, STOPPING } from './interruption.ts'
import { Progress } from './progress.ts'
import { bytesOf, RecordFeed } from './record-feed.ts'
import { showRun, summaryOf, whereTheyAre } from './replay-report.ts'
import { Replayer, type ReplayResult } from './replayer.ts'
import { openTracePlace } from './trace-place.ts'

const DRAWN_TRACES = 20

export interface Playing {
  /** `-` is standard input. */
  readonly files: readonly string[]
  readonly speed: number | undefined
  readonly host: string | undefined
}

export interface Played {
  readonly result: ReplayResult
  /** No line was malformed, and no file unreadable. */
  readonly isClean: boolean
  readonly exitCode: number | undefined
  readonly begins: string
}

/** Replays files into the trace log and to the given or configured backends, then draws the result. */
export async function playAndDraw(
  playing: Playing,
  backend: readonly string[],
  io: CommandIo,
): Promise<Played & { readonly isGood: boolean }> {
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

export async function play(
  plugin: PluginOptions,
  { batchSpans, env }: { readonly batchSpans: number; readonly env: CommandIo['env'] },
  { files, speed, host }: Playing,
  io: CommandIo,
): Promise<Played> {
  const progress = new Progress(io, await bytesOf(files))
  const interruption = new Interruption(io, () => progress.say(STOPPING))
  const replayer = new Replayer(
    { plugin, batchSpans, speed, interruption },
    { env, home: io.home, stderr: progress.stderr },
  )
  const feed = new RecordFeed(replayer, progress, interruption.stop, io)
  let isClean = true
  for (const file of files) isClean = (await feed.feedFile(file, new RecordReader(host))) && isClean
  const begins = interruptedAt(interruption, progress)
  if (begins === '') progress.say('delivering …')
  const result = await replayer.finish()
  progress.end()
  return { result, isClean, exitCode: interruption.exitCode, begins: begins || interruptedAt(interruption) }
}

import { existsSync } from 'node:fs'
import { resolveConfig } from '../../config/resolve.ts'
import type { UserBackend } from '../../config/types.ts'
import { countOf, humanCount } from '../../viewer/human-figures.ts'
import type { PluginOptions } from '../../wiring/plugin.ts'
import { type Command, type CommandIo, EXIT, runCommand } from '../command.ts'
import { Progress } from '../progress.ts'
import { RecordFeed } from '../record-feed.ts'
import { prepareOutputs, type ReplayArguments, readArguments } from '../replay-arguments.ts'
import { drawTraces, reportDelivery, whatIsIn } from '../replay-report.ts'
import { Replayer, type ReplayResult } from '../replayer.ts'
import { openTracePlace, type TracePlace } from '../trace-place.ts'

const USAGE = `Usage: hookspan replay FILE… [--out FILE] [--metrics-out FILE] [--backend TYPE[=URL]] [--host H] [--speed N] [--strict]

Turns files of hook records, or of raw events of a host (one JSON object a line; - reads standard input), into traces, and
draws them. The same records give the same trace and span ids each time. Without --out and --backend they go where the configuration says:
by default into the local trace log only. A malformed line is reported and skipped.

  --out FILE            write OTLP/JSON lines to FILE (replaced), and send nothing anywhere
  --metrics-out FILE    with --out: the metrics, too
  --backend TYPE[=URL]  send to this backend instead of the configured ones; may be given more than once
  --host H              the host of records and events that name none: pi, openclaw, opencode, claude-agent-sdk, …
  --speed N             keep the recording's own time, N times as fast
  --strict              exit with 1 also when a hook or a field is not known, or a value has another type

Exits with 1 when a line was malformed, a file could not be read, or a backend did not get everything.
`

/** So many traces are drawn at the end. */
const DRAWN_TRACES = 20

export const replay: Command = {
  name: 'replay',
  summary: 'turn files of hook records into traces',
  usage: USAGE,
  run,
}

/** Resolves to the exit code: 1 when a line was malformed, a file unreadable, or something was dropped. */
export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(replay, args, io, async () => {
    const options = readArguments(args)
    return options.out === undefined ? replayAndDraw(options, io) : replayInto(options.out, options, io)
  })
}

/** Into a file, and nowhere else. */
async function replayInto(out: string, options: ReplayArguments, io: CommandIo): Promise<number> {
  await prepareOutputs(options)
  const file: UserBackend = { type: 'file', path: out, metrics_path: options.metricsOut }
  const code = { ...hostOf(options), local_log: false, backends: [file] }
  const { config } = resolveConfig({ env: io.env, home: io.home })
  const { span_batch_max_export_batch_size: batchSpans } = config
  const { isClean, result } = await play(code, { batchSpans, env: io.env }, options, io)
  const isDelivered = reportDelivery(
    result,
    { config: { ...config, backends: [] }, traceId: undefined, isKept: false },
    io,
  )
  const written = result.stats.backends.find(({ type }) => type === 'file')
  io.stderr.write(`${summary(result)}; ${whatIsIn(result, written, `written to ${out}`)}\n`)
  return isClean && isDelivered && !isTooLax(result, options) ? EXIT.ok : EXIT.failed
}

async function replayAndDraw(options: ReplayArguments, io: CommandIo): Promise<number> {
  const code = { ...hostOf(options), ...(options.backends.length === 0 ? {} : { backends: options.backends }) }
  const { config } = resolveConfig({ code, env: io.env, home: io.home })
  const place = await openTracePlace(config, io)
  try {
    const plugin = { ...code, local_log: true }
    const { span_batch_max_export_batch_size: batchSpans } = config
    const { isClean, result } = await play(plugin, { batchSpans, env: place.env }, options, io)
    const traceId = await drawTraces(result.stats.traceFiles.filter(existsSync), DRAWN_TRACES, io)
    const isDelivered = reportDelivery(result, { config, traceId, isKept: place.whyNotKept === undefined }, io)
    io.stderr.write(`${summary(result)}; ${whereTheyAre(place, result)}\n`)
    const isKept = place.whyNotKept === undefined || !config.local_log
    return isClean && isDelivered && isKept && !isTooLax(result, options) ? EXIT.ok : EXIT.failed
  } finally {
    await place.close()
  }
}

function hostOf({ host }: ReplayArguments): PluginOptions {
  return host === undefined ? {} : { host }
}

async function play(
  plugin: PluginOptions,
  { batchSpans, env }: { readonly batchSpans: number; readonly env: CommandIo['env'] },
  { files, host, speed }: ReplayArguments,
  io: CommandIo,
): Promise<{ isClean: boolean; result: ReplayResult }> {
  const replayer = new Replayer({ plugin, batchSpans, speed }, { env, home: io.home, stderr: io.stderr })
  const progress = new Progress(() => replayer.spans, io)
  const feed = new RecordFeed(replayer, progress, io)
  let isClean = true
  for (const file of files) isClean = (await feed.feedFile(file, host)) && isClean
  progress.say('delivering …')
  const result = await replayer.finish()
  progress.end()
  return { isClean, result }
}

function summary({ records, spans, stats: { hooks, unread } }: ReplayResult): string {
  const rest = (['ignored', 'duplicate', 'error'] as const).filter(outcome => hooks[outcome] > 0)
  const outcomes = rest.map(outcome => `${humanCount(hooks[outcome])} ${outcome}`)
  const misspelt = unread.hooks + unread.fields
  const slips = [
    ...(misspelt > 0 ? [`${humanCount(misspelt)} of unknown name`] : []),
    ...(unread.types > 0 ? [`${humanCount(unread.types)} of another type`] : []),
  ]
  const notes = [...outcomes, ...(slips.length > 0 ? [`not read: ${slips.join(', ')}`] : [])].join(', ')
  return `${countOf(records, 'record')}${notes === '' ? '' : ` (${notes})`} → ${countOf(spans, 'span')}`
}

/** Something in the records was not read, and the person wants to know. */
function isTooLax({ stats: { unread } }: ReplayResult, { isStrict }: ReplayArguments): boolean {
  return isStrict && unread.hooks + unread.fields + unread.types > 0
}

function whereTheyAre({ whyNotKept }: TracePlace, result: ReplayResult): string {
  if (whyNotKept !== undefined) return `not stored, because ${whyNotKept}`
  const { traceFiles, backends } = result.stats
  const log = backends.find(({ type, delivered }) => type === 'local_log' && delivered > 0)
  const others = traceFiles.length > 1 ? ` and ${countOf(traceFiles.length - 1, 'file')} before it` : ''
  return whatIsIn(result, log, `stored in ${traceFiles.at(-1)}${others}`)
}

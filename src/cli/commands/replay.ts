import { resolveConfig } from '../../config/resolve.ts'
import type { UserBackend } from '../../config/types.ts'
import type { PluginOptions } from '../../wiring/plugin.ts'
import { BACKEND_OPTION } from '../backend-option.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT } from '../command.ts'
import { Interruption, interruptedAt, STOPPING } from '../interruption.ts'
import { Progress } from '../progress.ts'
import { hostsWithAdapter } from '../raw-events.ts'
import { bytesOf, RecordFeed } from '../record-feed.ts'
import { prepareOutputs, type ReplayArguments, readArguments } from '../replay-arguments.ts'
import { reportDelivery, showRun, summaryOf, whatIsIn, whereTheyAre } from '../replay-report.ts'
import { Replayer, type ReplayResult } from '../replayer.ts'
import { openTracePlace } from '../trace-place.ts'

/** So many traces are drawn at the end. */
const DRAWN_TRACES = 20

const PAGE = {
  name: 'replay',
  summary: 'turn files of hook records into traces',
  operand: { placeholder: 'FILE…', offers: 'files' },
  about: `Turns files of hook records, or of raw events of a host (one JSON object a line; - reads standard input), into
traces, and draws them. The same records give the same trace and span ids each time. Without --out and --backend
they go where the configuration says: by default into the local trace log only. A malformed line is reported and
skipped.`,
  options: {
    out: {
      short: 'o',
      value: 'FILE',
      offers: 'files',
      aka: ['output'],
      help: 'write OTLP/JSON lines to FILE (replaced), and send nothing anywhere',
    },
    'metrics-out': { value: 'FILE', offers: 'files', help: 'with --out: the metrics, too' },
    backend: BACKEND_OPTION,
    host: {
      value: 'H',
      offers: hostsWithAdapter(),
      help: `the host of records and events that name none: ${hostsWithAdapter().join(', ')}, …`,
    },
    speed: { value: 'N', help: "keep the recording's own time, N times as fast" },
    strict: { help: 'exit with 1 also when a hook or a field is not known, or a value has another type' },
  },
  closing: 'Exits with 1 when a line was malformed, a file could not be read, or a backend did not get everything.',
} as const satisfies CommandPage

/** Exit code: 1 when a line was malformed, a file unreadable, or something was dropped. */
export const replay: Command = command(PAGE, async ({ values, operands }, io) => {
  const options = readArguments(operands, values)
  return options.out === undefined ? replayAndDraw(options, io) : replayInto(options.out, options, io)
})

/** Into a file, and nowhere else. */
async function replayInto(out: string, options: ReplayArguments, io: CommandIo): Promise<number> {
  await prepareOutputs(options)
  const file: UserBackend = { type: 'file', path: out, metrics_path: options.metricsOut }
  const code = { ...hostOf(options), local_log: false, backends: [file] }
  const { config } = resolveConfig({ env: io.env, home: io.home })
  const { span_batch_max_export_batch_size: batchSpans } = config
  const played = await play(code, { batchSpans, env: io.env }, options, io)
  const { result } = played
  const isDelivered = reportDelivery(
    result,
    { config: { ...config, backends: [] }, traceId: undefined, isKept: false },
    io,
  )
  const written = result.stats.backends.find(({ type }) => type === 'file')
  io.stderr.write(`${played.begins}${summaryOf(result)}; ${whatIsIn(result, written, `written to ${out}`)}\n`)
  const isGood = played.isClean && isDelivered && !isTooLax(result, options)
  return played.exitCode ?? (isGood ? EXIT.ok : EXIT.failed)
}

async function replayAndDraw(options: ReplayArguments, io: CommandIo): Promise<number> {
  const code = { ...hostOf(options), ...(options.backends.length === 0 ? {} : { backends: options.backends }) }
  const { config } = resolveConfig({ code, env: io.env, home: io.home })
  const place = await openTracePlace(config, io)
  try {
    const plugin = { ...code, local_log: true }
    const { span_batch_max_export_batch_size: batchSpans } = config
    const played = await play(plugin, { batchSpans, env: place.env }, options, io)
    const { result, exitCode } = played
    const isDelivered = await showRun(result, { config, place, last: exitCode === undefined ? DRAWN_TRACES : 0 }, io)
    io.stderr.write(`${played.begins}${summaryOf(result)}; ${whereTheyAre(result, place)}\n`)
    const isKept = place.whyNotKept === undefined || !config.local_log
    const isGood = played.isClean && isDelivered && isKept && !isTooLax(result, options)
    return exitCode ?? (isGood ? EXIT.ok : EXIT.failed)
  } finally {
    await place.close()
  }
}

function hostOf({ host }: ReplayArguments): Pick<PluginOptions, 'host'> {
  return host === undefined ? {} : { host }
}

interface Played {
  readonly result: ReplayResult
  /** No line was malformed, and no file unreadable. */
  readonly isClean: boolean
  /** Of an interruption. */
  readonly exitCode: number | undefined
  /** What its summary begins with. */
  readonly begins: string
}

async function play(
  plugin: PluginOptions,
  { batchSpans, env }: { readonly batchSpans: number; readonly env: CommandIo['env'] },
  { files, host, speed }: ReplayArguments,
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
  for (const file of files) isClean = (await feed.feedFile(file, host)) && isClean
  const begins = interruptedAt(interruption, progress)
  if (begins === '') progress.say('delivering …')
  const result = await replayer.finish()
  progress.end()
  return { result, isClean, exitCode: interruption.exitCode, begins: begins || interruptedAt(interruption) }
}

/** Something in the records was not read, and the person wants to know. */
function isTooLax({ stats: { unread } }: ReplayResult, { isStrict }: ReplayArguments): boolean {
  return isStrict && unread.hooks + unread.fields + unread.types > 0
}

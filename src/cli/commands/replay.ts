import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { UserBackend } from '../../config/types.ts'
import type { PluginOptions } from '../../wiring/plugin.ts'
import { type Command, type CommandIo, EXIT, runCommand, WrongUse } from '../command.ts'
import { openInput, RecordReader } from '../hook-records.ts'
import { Progress } from '../progress.ts'
import { drawTraces, reportDelivery } from '../replay-report.ts'
import { Replayer } from '../replayer.ts'

const USAGE = `Usage: hookspan replay FILE… [--out FILE] [--metrics-out FILE] [--backend TYPE[=URL]] [--host H] [--speed N]

Turns files of hook records (one JSON object a line; - reads standard input) into traces, and draws them. The same
records give the same trace and span ids each time. Without --out and --backend they go where the configuration says:
by default into the local trace log only.

  --out FILE            write OTLP/JSON lines to FILE (replaced), and send nothing anywhere
  --metrics-out FILE    with --out: the metrics, too
  --backend TYPE[=URL]  send to this backend instead of the configured ones; may be given more than once
  --host H              the host of records that name none
  --speed N             keep the recording's own time, N times as fast
`

/** So many traces are drawn at the end. */
const DRAWN_TRACES = 20

export const replay: Command = { name: 'replay', summary: 'turn files of hook records into traces', usage: USAGE, run }

/** Resolves to the exit code: 1 when a line was malformed, a file unreadable, or something was dropped. */
export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(replay, args, io, () => replayFiles(readOptions(args), io))
}

interface Options {
  readonly files: readonly string[]
  readonly out: string | undefined
  readonly metricsOut: string | undefined
  readonly backends: readonly string[]
  readonly host: string | undefined
  readonly speed: number | undefined
}

function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      out: { type: 'string' },
      'metrics-out': { type: 'string' },
      backend: { type: 'string', multiple: true, default: [] },
      host: { type: 'string' },
      speed: { type: 'string' },
    },
  })
  if (positionals.length === 0) throw new WrongUse('expected a FILE of hook records, or - for standard input')
  const { out, host, speed, 'metrics-out': metricsOut, backend: backends } = values
  if (metricsOut !== undefined && out === undefined) throw new WrongUse('--metrics-out goes with --out')
  if (out !== undefined && backends.length > 0) throw new WrongUse('--out sends nothing anywhere, so it takes no --backend')
  if (speed !== undefined && !(Number(speed) > 0)) throw new WrongUse(`--speed takes a number above 0, got ${JSON.stringify(speed)}`)
  return { files: positionals, out, metricsOut, backends, host, speed: speed === undefined ? undefined : Number(speed) }
}

function pluginOptions({ out, metricsOut, backends, host }: Options): PluginOptions {
  const named = host === undefined ? {} : { host }
  if (out !== undefined) {
    const file: UserBackend = { type: 'file', path: out, metrics_path: metricsOut }
    return { ...named, local_log: false, prometheus: false, backends: [file] }
  }
  return backends.length === 0 ? named : { ...named, backends }
}

async function replayFiles(options: Options, io: CommandIo): Promise<number> {
  for (const path of [options.out, options.metricsOut]) if (path !== undefined) await writeFile(path, '', { mode: 0o600 })
  const replayer = new Replayer({ plugin: pluginOptions(options), speed: options.speed }, io)
  const progress = new Progress('records', io)
  let isClean = true
  for (const file of options.files) {
    isClean = (await feedFile(file, options.host, replayer, progress, io)) && isClean
  }
  progress.end()
  const stats = await replayer.finish()
  const isDelivered = reportDelivery(stats, io)
  const written = options.out ?? stats.traceFile
  if (options.out === undefined && written !== undefined) await drawTraces(written, DRAWN_TRACES, io)
  io.stderr.write(summary(replayer.records, stats.hooks, written))
  return isClean && isDelivered ? EXIT.ok : EXIT.failed
}

function summary(records: number, hooks: Readonly<Record<string, number>>, written: string | undefined): string {
  const rest = ['ignored', 'duplicate', 'error'].filter(result => (hooks[result] ?? 0) > 0)
  const notes = rest.map(result => `, ${hooks[result]} ${result}`).join('')
  return `${records} records${notes}${written === undefined ? '' : `; traces in ${written}`}\n`
}

/** Resolves to false when a line was malformed or the file could not be read; the rest is replayed all the same. */
async function feedFile(
  file: string,
  host: string | undefined,
  replayer: Replayer,
  progress: Progress,
  io: CommandIo,
): Promise<boolean> {
  let isClean = true
  try {
    for await (const entry of new RecordReader(host).read(openInput(file, io.stdin))) {
      if ('record' in entry) {
        await replayer.feed(entry.record)
        progress.step()
      } else {
        isClean = false
        io.stderr.write(`hookspan replay: ${file} line ${entry.line}: ${entry.problem}; the line is skipped\n`)
      }
    }
  } catch (error) {
    isClean = false
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    io.stderr.write(`hookspan replay: cannot read ${file}: ${code === 'ENOENT' ? 'there is no such file' : code}\n`)
  }
  return isClean
}

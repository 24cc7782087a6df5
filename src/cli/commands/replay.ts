import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import type { UserBackend } from '../../plugin/config/types.ts'
import type { Command, CommandArguments, CommandIo, OptionTable } from '../command.ts'
import { command, EXIT, WrongUse, whyNot } from '../command.ts'
import { HOSTS_WITH_ADAPTER } from '../hook-records.ts'
import { BACKEND_OPTION, checkBackends } from '../option-values.ts'
import type { ReplayResult } from '../replay.ts'
import { fileJob, replayAndDraw, replayRecords, reportDelivery, summaryOf, whatIsIn } from '../replay.ts'

const OPTIONS = {
  out: {
    short: 'o',
    value: 'FILE',
    offers: 'files',
    aka: ['output'],
    help: 'write OTLP/JSON lines to FILE (replaced), and send nothing',
  },
  'metrics-out': { value: 'FILE', offers: 'files', help: 'with --out: write the metrics to this file' },
  backend: BACKEND_OPTION,
  host: {
    value: 'H',
    offers: HOSTS_WITH_ADAPTER,
    help: `default host of records and events: ${HOSTS_WITH_ADAPTER.join(', ')}, …`,
  },
  speed: { value: 'N', help: 'replay at the recorded pace, N times as fast' },
  strict: { help: 'also exit with 1 if a hook or field is unknown, or a value has a wrong type' },
} as const satisfies OptionTable

const DRAWN_TRACES = 20

export const replay: Command = command({
  name: 'replay',
  operand: { placeholder: 'FILE…', offers: 'files' },
  about: `Converts files of hook records, or of raw events of a host (one JSON object a line; - reads standard input), to traces, and
prints them. The same records produce the same trace and span ids each time. Without --out and --backend, the configuration
decides where they go: by default only to the local trace log. A malformed line is reported and skipped.`,
  options: OPTIONS,
  closing: 'Exits with 1 if a line was malformed, a file could not be read, or a backend did not receive everything.',
  async run(given, io) {
    const job = readJob(given)
    if (job.out !== undefined) return replayInto(job.out, job, io)
    const code = { host: job.host, ...(job.backend.length > 0 && { backends: job.backend }) }
    const drawn = { ...(await fileJob(job.files, job.host, job.speed, io)), drawnTraces: DRAWN_TRACES }
    const run = await replayAndDraw(code, drawn, io)
    io.stderr.write(`${run.begins}${summaryOf(run.result)}; ${run.where}\n`)
    const isGood = run.isClean && run.isDelivered && run.isKeptAsConfigured && !isTooLax(run.result, job)
    return run.exitCode ?? (isGood ? EXIT.ok : EXIT.failed)
  },
})

type ReplayJob = Omit<CommandArguments<typeof OPTIONS>['values'], 'speed'> & {
  readonly files: readonly string[]
  readonly speed: number | undefined
}

function readJob({ values, operands: files }: CommandArguments<typeof OPTIONS>): ReplayJob {
  const { out, backend, 'metrics-out': metricsOut } = values
  if (files.length === 0) throw new WrongUse('expected a FILE of hook records, or - for standard input')
  if (metricsOut !== undefined && out === undefined) throw new WrongUse('--metrics-out goes with --out')
  if (out !== undefined && backend.length > 0) {
    throw new WrongUse('--out sends nothing, so it cannot be combined with --backend')
  }
  checkOutputs(files, out, metricsOut)
  const speed = readSpeed(values.speed)
  checkBackends(backend)
  return { ...values, files, speed }
}

function readSpeed(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const speed = Number(text)
  if (text.trim() !== '' && speed > 0 && Number.isFinite(speed)) return speed
  throw new WrongUse(`--speed takes a number above 0, got ${JSON.stringify(text)}`)
}

/** Output files are truncated first, so a mistake must not destroy a recording. */
function checkOutputs(files: readonly string[], out: string | undefined, metricsOut: string | undefined): void {
  for (const [option, path] of [['--out', out] as const, ['--metrics-out', metricsOut] as const]) {
    if (path?.trim() === '') throw new WrongUse(`${option} takes a path`)
    const input = path === undefined ? undefined : files.find(file => file !== '-' && isSameFile(file, path))
    if (input !== undefined) throw new WrongUse(`${option} would overwrite ${input}, which is to be read`)
  }
  if (out !== undefined && metricsOut !== undefined && (out === metricsOut || isSameFile(out, metricsOut))) {
    throw new WrongUse('--out and --metrics-out are the same file')
  }
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map(path => statSync(path, { throwIfNoEntry: false }))
  // Devices and pipes can be read and written at once.
  return one !== undefined && other !== undefined && one.isFile() && one.dev === other.dev && one.ino === other.ino
}

async function replayInto(out: string, job: ReplayJob, io: CommandIo): Promise<number> {
  const { host, 'metrics-out': metricsOut } = job
  for (const path of metricsOut === undefined ? [out] : [out, metricsOut]) {
    await writeFile(path, '', { mode: 0o600 }).catch((cause: unknown) => {
      throw new Error(`cannot write ${path}: ${whyNot(cause)}`, { cause })
    })
  }
  const file: UserBackend = { type: 'file', path: out, metrics_path: metricsOut }
  const { config } = resolveConfig({ env: io.env, home: io.home })
  const fed = await fileJob(job.files, host, job.speed, io)
  const played = await replayRecords({ host, local_log: false, backends: [file] }, { config, env: io.env }, fed, io)
  const { result } = played
  const context = { config: { ...config, backends: [] }, traceId: undefined, isKept: false }
  const isDelivered = reportDelivery(result, context, io)
  const written = result.stats.backends.find(({ type }) => type === 'file')
  io.stderr.write(`${played.begins}${summaryOf(result)}; ${whatIsIn(result, written, `written to ${out}`)}\n`)
  const isGood = played.isClean && isDelivered && !isTooLax(result, job)
  return played.exitCode ?? (isGood ? EXIT.ok : EXIT.failed)
}

function isTooLax({ stats: { unread } }: ReplayResult, { strict }: ReplayJob): boolean {
  return strict && unread.hooks + unread.fields + unread.types > 0
}

import { createPipeline, type Pipeline } from '../../delivery/pipeline/index.ts'
import { readBacklog } from '../../delivery/trace-log/index.ts'
import { stateHome } from '../../plugin/config/paths.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import { pipelineSettings } from '../../plugin/settings.ts'
import { type Command, type CommandIo, type CommandPage, command, EXIT, WrongUse } from '../command.ts'
import { withoutMeanwhile } from '../doctor/probe.ts'
import { Interruption } from '../interruption.ts'
import { BACKEND_OPTION, sinceAt } from '../option-values.ts'
import { BacklogDelivery, chosenBackends, type SendJob } from '../send/delivery.ts'
import { Progress } from '../terminal.ts'
import { findTrace } from '../trace-query.ts'
import { localLog, namesTrace, traceFiles } from '../traces-place.ts'

const SHOW_MILLIS = 200

const PAGE = {
  name: 'send',
  operand: { placeholder: '[FILE… | TRACE_ID]', offers: 'files' },
  about: `Sends pending traces of the local trace log: those that a backend did not accept when they were recorded. The next agent
that runs with hookspan does the same automatically. Traces of running agents are left to these.

With --all, a backend also receives the traces recorded before it was configured, each once: delivered traces are remembered
beside the log, by name and address of the backend. With FILE (OTLP/JSON lines, or a directory of *.jsonl) it receives that
file, each time again, with the ids of the file. With TRACE_ID or a unique prefix of it, it receives that trace of the local
trace log, for example one that "keep" did not select.`,
  options: {
    backend: {
      ...BACKEND_OPTION,
      value: 'NAME|TYPE[=URL]',
      help: 'only to this backend: a configured name, or any other, for example jaeger=http://127.0.0.1:4318',
    },
    all: { help: 'also traces recorded before the backend was configured' },
    since: { value: 'WHEN', help: 'like --all, but only traces started since then: 2h, 7d, 2026-11-21T10:00' },
  },
  closing: 'Exits with 1 if something is still pending.',
} as const satisfies CommandPage

export const send: Command = command(PAGE, async ({ values, operands }, io) => {
  if (operands.length > 0 && values.all)
    throw new WrongUse('--all sends the trace log and cannot be combined with FILE')
  const since = values.since === undefined ? undefined : sinceAt(values.since, io.now())
  const { config } = resolveConfig({ env: io.env, home: io.home })
  const directory = stateHome(io.env, io.home)
  if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
  const backends = await chosenBackends(values.backend, config, directory, io)
  const isAsked = values.all || since !== undefined || operands.length > 0
  if (isAsked && backends.length === 0) {
    throw new WrongUse('no backend is configured; name one, for example --backend jaeger=http://127.0.0.1:4318')
  }
  const isOfAll = values.backend.length === 0
  const job = { directory, config, backends, isOfAll, since: isAsked ? (since ?? 0) : undefined }
  const [only] = operands
  if (only === undefined) return deliver(job, io)
  if (operands.length > 1 || !(await namesTrace(only))) {
    return deliver({ ...job, files: await traceFiles(operands) }, io)
  }
  const { paths, tree } = await findTrace(localLog(io), { traceId: only }, io)
  return deliver({ ...job, files: paths, traceId: tree.traceId }, io)
})

async function deliver(job: SendJob, io: CommandIo): Promise<number> {
  const interruption = new Interruption(io)
  const progress = new Progress(io)
  const pipeline = openPipeline(job, interruption.giveUp, { env: io.env, home: io.home, stderr: progress.stderr })
  const before = await readBacklog(job.directory)
  const delivery = new BacklogDelivery(pipeline, job, before)
  // This timer also keeps the process alive, because requests do not.
  const shown = setInterval(() => delivery.show(progress), SHOW_MILLIS)
  try {
    await Promise.race([delivery.run(interruption.stop), stopped(interruption)])
    await pipeline.shutdown()
  } finally {
    clearInterval(shown)
    progress.end()
  }
  const after = (await readBacklog(job.directory)).filter(({ isLive }) => !isLive)
  for (const line of delivery.outcome(after)) io.stdout.write(`${line}\n`)
  const { exitCode } = interruption
  if (exitCode !== undefined) io.stderr.write('hookspan send: interrupted; run the same command again to continue\n')
  return exitCode ?? (delivery.isComplete(after) ? EXIT.ok : EXIT.failed)
}

function stopped({ stop }: Interruption): Promise<void> {
  return new Promise(resolve => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

function openPipeline(
  { config, backends, isOfAll, since }: SendJob,
  giveUp: AbortSignal,
  io: Pick<CommandIo, 'env' | 'home' | 'stderr'>,
): Pipeline {
  const settings = pipelineSettings({ ...config, backends, local_log: true }, io.env, io.home)
  const { prometheus: _none, ...rest } = settings
  const takers = settings.backends.map(backend => ({ ...backend, metrics: false }))
  // Resent spans are not in a backlog, so the line must not promise that they are kept or sent later.
  const say = (line: string): void =>
    io.stderr.write(`hookspan: ${since === undefined ? line : withoutMeanwhile(line)}\n`)
  return createPipeline(
    { ...rest, backends: takers, isPartial: !isOfAll, giveUp },
    { warn: say, error: say, debug: () => undefined },
  )
}

import { resolveConfig } from '../../config/resolve.ts'
import type { ResolvedConfig } from '../../config/types.ts'
import { type BacklogEntry, createPipeline, type Pipeline, readBacklog } from '../../pipeline/index.ts'
import { countOf } from '../../viewer/human-figures.ts'
import { pipelineSettings, stateHome } from '../../wiring/settings.ts'
import { type Command, type CommandIo, type CommandPage, EXIT, runCommand, WrongUse } from '../command.ts'
import { humanBytes } from '../doctor/human-bytes.ts'
import { Interruption } from '../interruption.ts'
import { Progress } from '../progress.ts'

/** So often the line that says how far it is is drawn anew. */
const SHOW_MILLIS = 200

const PAGE = {
  name: 'send',
  summary: 'deliver what the local trace log still holds for a backend',
  about: `Delivers now what the local trace log still holds for a backend: traces that it did not take when they were
recorded. The next agent that runs with hookspan does the same by itself. Traces of agents that are running are
left to them.`,
  options: {
    backend: { value: 'NAME', many: true, help: 'only for this backend, as it is named in the configuration' },
  },
  closing: 'Exits with 1 when something is left.',
} as const satisfies CommandPage

export const send: Command = { ...PAGE, run }

/** Resolves to the exit code: 1 when a backend has not got everything. */
export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(PAGE, args, io, async ({ values }) => {
    const { config } = resolveConfig({ env: io.env, home: io.home })
    const names = readNames(values.backend, config)
    const directory = stateHome(io.env, io.home)
    if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
    return deliver(directory, names, config, io)
  })
}

function readNames(given: readonly string[], config: ResolvedConfig): readonly string[] {
  const known = config.backends.map(({ name }) => name)
  for (const name of given) {
    if (known.includes(name)) continue
    const configured = known.length === 0 ? 'none is configured' : `configured: ${known.join(', ')}`
    throw new WrongUse(`there is no backend ${JSON.stringify(name)}; ${configured}`)
  }
  return given.length === 0 ? known : given
}

async function deliver(
  directory: string,
  names: readonly string[],
  config: ResolvedConfig,
  io: CommandIo,
): Promise<number> {
  const interruption = new Interruption(io)
  const before = await readBacklog(directory)
  const total = bytesIn(before.filter(entry => isLeft(entry) && names.includes(entry.backend)))
  const progress = new Progress(io, total)
  const pipeline = openPipeline(names, config, interruption.giveUp, {
    env: io.env,
    home: io.home,
    stderr: progress.stderr,
  })
  await withProgress(pipeline, progress, total, () => Promise.race([pipeline.deliverBacklog(), stopped(interruption)]))
  await pipeline.shutdown()
  const after = (await readBacklog(directory)).filter(isLeft)
  for (const line of outcomes(pipeline, names, before, after)) io.stdout.write(`${line}\n`)
  const { exitCode } = interruption
  if (exitCode !== undefined) io.stderr.write('hookspan send: interrupted; "hookspan send" goes on where it was\n')
  return exitCode ?? (after.some(({ backend }) => names.includes(backend)) ? EXIT.failed : EXIT.ok)
}

function stopped({ stop }: Interruption): Promise<void> {
  return new Promise(resolve => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

function openPipeline(
  names: readonly string[],
  config: ResolvedConfig,
  giveUp: AbortSignal,
  io: Pick<CommandIo, 'env' | 'home' | 'stderr'>,
): Pipeline {
  const settings = pipelineSettings({ ...config, local_log: true }, io.env, io.home)
  const { prometheus: _none, ...rest } = settings
  const backends = settings.backends
    .filter(({ name, type }) => names.includes(name) && type !== 'console')
    .map(backend => ({ ...backend, metrics: false }))
  const say = (line: string): void => io.stderr.write(`hookspan: ${line}\n`)
  return createPipeline({ ...rest, backends, giveUp }, { warn: say, error: say, debug: () => undefined })
}

async function withProgress(
  pipeline: Pipeline,
  progress: Progress,
  total: number,
  run: () => Promise<void>,
): Promise<void> {
  let isTakenOver = false
  const shown = setInterval(() => {
    const left = pipeline.stats().backends.reduce((sum, { spoolBytes }) => sum + spoolBytes, 0)
    // Until it has taken over what others left, there seems to be nothing to do.
    isTakenOver ||= left > 0
    if (isTakenOver)
      progress.at(total - left, () => `${countOf(recovered(pipeline), 'span')} · ${humanBytes(left)} to go`)
  }, SHOW_MILLIS)
  await run().finally(() => clearInterval(shown))
  progress.end()
}

function bytesIn(entries: readonly BacklogEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0)
}

function recovered(pipeline: Pipeline): number {
  return pipeline.stats().backends.reduce((sum, backend) => sum + backend.recovered, 0)
}

/** One line for each backend, and for what is left for others. */
function outcomes(
  pipeline: Pipeline,
  names: readonly string[],
  before: readonly BacklogEntry[],
  after: readonly BacklogEntry[],
): string[] {
  const lines = names.map(name => {
    const spans = pipeline.stats().backends.find(backend => backend.name === name)?.recovered ?? 0
    const left = after.find(({ backend }) => backend === name)
    const rest = left === undefined ? 'nothing is left for it' : `${humanBytes(left.bytes)} are left for it`
    return `${name} got ${countOf(spans, 'span')}; ${rest}`
  })
  const others = after.filter(({ backend }) => !names.includes(backend))
  for (const { backend, bytes } of others) {
    lines.push(`${humanBytes(bytes)} are kept for ${backend}, which is not asked for or not configured`)
  }
  const running = before.filter(({ isLive }) => isLive)
  for (const { backend, bytes } of running) {
    lines.push(`${humanBytes(bytes)} for ${backend} belong to agents that are running; they deliver them`)
  }
  return lines.length === 0 ? ['no backend is configured, and nothing is kept for any'] : lines
}

function isLeft({ isLive }: BacklogEntry): boolean {
  return !isLive
}

import { basename, join } from 'node:path'
import { BACKEND_TYPES } from '../../delivery/backends/rows.ts'
import { destinationOf, planBackend } from '../../delivery/pipeline/backend-plan.ts'
import { createPipeline, type Pipeline } from '../../delivery/pipeline/index.ts'
import type { BacklogEntry, Resend, ResendOutcome } from '../../delivery/trace-log/index.ts'
import { pendingDestinations, readBacklog } from '../../delivery/trace-log/index.ts'
import { suggestion } from '../../plugin/config/nearest.ts'
import { stateHome } from '../../plugin/config/paths.ts'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import type { BackendConfig, ResolvedConfig } from '../../plugin/config/types.ts'
import { pipelineSettings } from '../../plugin/settings.ts'
import { countOf, humanBytes, humanInstant } from '../../reading/human-figures.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse } from '../command.ts'
import { withoutMeanwhile } from '../doctor/probe.ts'
import { BACKEND_OPTION, checkBackends, sinceAt } from '../option-values.ts'
import { Interruption, Progress } from '../terminal.ts'
import { findTrace, localLog, namesTrace, traceFiles } from '../traces.ts'

interface Place {
  readonly directory: string
  readonly config: ResolvedConfig
}

interface SendJob extends Place {
  readonly backends: readonly BackendConfig[]
  readonly isOfAll: boolean
  readonly files?: readonly string[] | undefined
  readonly traceId?: string | undefined
  /** Epoch milliseconds, 0 for all traces. Undefined to send only the backlog. */
  readonly since: number | undefined
}

function createDelivery(pipeline: Pipeline, job: SendJob, before: readonly BacklogEntry[]) {
  const { files, traceId, since, directory } = job
  const names = job.backends.map(({ name }) => name)
  let resend: Resend | undefined
  let isTakenOver = false
  let kept: ReadonlyMap<string, number> = new Map()

  /** Delivered spans by backend. This process records nothing, so its own spans were recovered from a killed process. */
  const arrived = (): ReadonlyMap<string, number> => {
    const { backends } = pipeline.stats()
    const spans = names.map((name): [string, number] => {
      const { recovered = 0, delivered = 0 } = backends.find(backend => backend.name === name) ?? {}
      return [name, recovered + delivered]
    })
    return new Map(spans)
  }

  const backlog = (): { readonly done: number; readonly total: number } => {
    const asked = before.filter(({ isLive, backend }) => !isLive && names.includes(backend))
    const total = asked.reduce((all, { bytes }) => all + bytes, 0)
    const left = pipeline.stats().backends.reduce((bytes, { spoolBytes }) => bytes + spoolBytes, 0)
    // Before recovering files of other processes the backlog looks empty.
    isTakenOver ||= left > 0
    return { done: isTakenOver ? Math.max(0, total - left) : 0, total }
  }

  return {
    async run(signal: AbortSignal): Promise<void> {
      if (files === undefined) {
        await pipeline.deliverBacklog()
        // Spans recovered from a killed process that held them are first written to this process's own log, and wait there.
        await pipeline.flush()
      }
      kept = arrived()
      if (since === undefined || signal.aborted) return
      resend = pipeline.resend({ ...(files && { files }), traceId, since, signal })
      await resend?.run()
    },

    show(progress: Progress): void {
      const spans = [...arrived().values()].reduce((all, one) => all + one, 0)
      const { done, total } = resend?.progress ?? backlog()
      progress.update(done, () => `${countOf(spans, 'span')} · ${humanBytes(done)} of ${humanBytes(total)}`, total)
    },

    outcome(after: readonly BacklogEntry[]): string[] {
      if (since === undefined) return backlogLines(arrived(), before, after)
      const isLog = files === undefined
      const place = traceId !== undefined ? `trace ${traceId}` : isLog ? join(directory, 'traces') : files.join(', ')
      return names.flatMap(name => {
        const dropped = pipeline.stats().backends.find(backend => backend.name === name)?.dropped ?? 0
        const outcomes = (resend?.outcomes() ?? []).filter(({ backend }) => backend === name)
        const waiting = after.find(({ backend }) => backend === name)?.bytes ?? 0
        return resendLines(name, outcomes, { place, isLog, kept: kept.get(name) ?? 0, waiting, dropped })
      })
    },

    isComplete(after: readonly BacklogEntry[]): boolean {
      const isOpen = names.every(name => pipeline.stats().backends.some(each => each.name === name))
      const isKept = files === undefined && after.some(({ backend }) => names.includes(backend))
      const isSent = resend?.outcomes().every(({ state }) => !UNSENT.includes(state))
      return isOpen && !isKept && (since === undefined || isSent === true)
    },
  }
}

const UNSENT: readonly ResendOutcome['state'][] = ['left', 'owed', 'unjudged']

const SHOWN_FILES = 20

function backlogLines(
  spans: ReadonlyMap<string, number>,
  before: readonly BacklogEntry[],
  after: readonly BacklogEntry[],
): string[] {
  const lines = [...spans].map(([name, count]) => {
    const left = after.find(({ backend }) => backend === name)
    const rest = left === undefined ? 'nothing is pending' : `${humanBytes(left.bytes)} are pending`
    return `${name} got ${countOf(count, 'span')}; ${rest}`
  })
  for (const { backend, bytes } of after.filter(each => !spans.has(each.backend))) {
    lines.push(`${humanBytes(bytes)} are pending for ${backend}, which is not selected or not configured`)
  }
  for (const { backend, bytes } of before.filter(({ isLive }) => isLive)) {
    lines.push(`${humanBytes(bytes)} for ${backend} belong to running agents, which deliver them`)
  }
  return lines.length === 0 ? ['no backend is configured, and nothing is pending'] : lines
}

interface BackendRequest {
  readonly place: string
  readonly isLog: boolean
  readonly kept: number
  readonly waiting: number
  /** Spans that the backend rejected or that failed permanently. */
  readonly dropped: number
}

function resendLines(backend: string, outcomes: readonly ResendOutcome[], asked: BackendRequest): string[] {
  const { isLog, kept, dropped, waiting } = asked
  const got = outcomes.filter(({ tally }) => tally.spans > 0)
  const of = (state: ResendOutcome['state']): number => outcomes.filter(outcome => outcome.state === state).length
  const next = isLog ? 'run this again to continue' : 'run this again to send all of them'
  const files = of('running')
  const running = files === 1 ? '1 file belongs to a running agent' : `${files} files belong to running agents`
  const [judged, unjudged] = [of('judged'), of('unjudged')]
  const line = (count: number, text: string): string[] => (count === 0 ? [] : [text])
  return [
    ...line(kept, `${backend} got ${countOf(kept, 'span')} that were pending`),
    got.length === 0 ? nothingSent(backend, outcomes, asked) : `${backend} got ${sum(got)}`,
    ...(got.length > 1 || (got.length === 1 && !isLog) ? fileLines(got) : []),
    ...line(dropped, `  ${countOf(dropped, 'span')} were rejected`),
    ...line(got.length === 0 ? 0 : of('had'), `  ${countOf(of('had'), 'further file')} already delivered`),
    ...line(files, `  ${running}: run this again after it has ended`),
    ...line(of('owed'), `  ${countOf(of('owed'), 'file')} pending: run hookspan send`),
    ...line(
      judged > 0 && of('owed') === 0 ? waiting : 0,
      `  ${humanBytes(waiting)} of selected traces are pending: run hookspan send`,
    ),
    ...line(
      judged,
      `  of ${countOf(judged, 'file')} it receives the selected traces; "keep" did not select the others: hookspan send TRACE_ID sends one`,
    ),
    ...line(
      unjudged,
      `  tail sampling is pending for ${countOf(unjudged, 'file')} of ended agents: run hookspan send with the same backends; hookspan send TRACE_ID sends one`,
    ),
    ...line(of('left'), `  not all of ${countOf(of('left'), 'file')} was sent; ${next}`),
  ]
}

function nothingSent(backend: string, outcomes: readonly ResendOutcome[], { place, waiting }: BackendRequest): string {
  const is = (wanted: ResendOutcome['state']): boolean => outcomes.some(({ state }) => state === wanted)
  if (outcomes.length === 0) return `there are no traces in ${place}`
  if (UNSENT.some(is) || (is('judged') && waiting > 0)) return `${backend} got nothing`
  if (is('judged'))
    return `${backend} has ${is('had') ? 'everything except traces that "keep" did not select' : 'all selected traces'}; nothing was sent`
  if (is('had')) return `${backend} has everything already; nothing was sent`
  return `nothing in ${place} is to be sent to ${backend}`
}

function sum(outcomes: readonly ResendOutcome[]): string {
  const traces = new Set(outcomes.flatMap(({ tally }) => [...tally.traceIds]))
  const spans = outcomes.reduce((count, { tally }) => count + tally.spans, 0)
  const from = Math.min(...outcomes.map(({ tally }) => tally.from))
  const to = Math.max(...outcomes.map(({ tally }) => tally.to))
  const period = `from ${humanInstant(from)} to ${humanInstant(to)}`
  return `${countOf(traces.size, 'trace')}, ${countOf(spans, 'span')}, ${period}`
}

function fileLines(outcomes: readonly ResendOutcome[]): string[] {
  const lines = outcomes.slice(0, SHOWN_FILES).map(outcome => `  ${basename(outcome.path)}: ${sum([outcome])}`)
  const more = outcomes.length - lines.length
  return more === 0 ? lines : [...lines, `  and ${countOf(more, 'further file')}`]
}

/** Configured backends by name, others as `TYPE` or `TYPE=URL`; all configured ones if none is named. @throws WrongUse */
async function chosenBackends(values: readonly string[], place: Place, io: CommandIo): Promise<BackendConfig[]> {
  if (values.length === 0) return place.config.backends.filter(({ type }) => type !== 'console')
  const chosen = new Map<string, BackendConfig>()
  for (const value of values) {
    const backend = await chosenBackend(value, place, io)
    if (backend.type === 'console') throw new WrongUse('console is the terminal of an agent; hookspan tree draws here')
    chosen.set(backend.name, backend)
  }
  return [...chosen.values()]
}

async function chosenBackend(value: string, { config, directory }: Place, io: CommandIo): Promise<BackendConfig> {
  const named = config.backends.find(({ name }) => name === value)
  if (named !== undefined) return named
  expectKnown(value, config)
  checkBackends([value])
  const [backend] = resolveConfig({ code: { backends: [value] }, env: io.env, home: io.home }).config.backends
  if (backend === undefined) throw new WrongUse(`--backend ${JSON.stringify(value)} cannot be read`)
  const { name, type } = backend
  const planned = planBackend(backend)
  // An unusable backend is reported when it is opened.
  if (!planned.ok) return backend
  const destination = destinationOf(planned.plan)
  const isSame = (other: BackendConfig): boolean => {
    const plannedOther = planBackend({ ...other, name })
    return other.type === type && plannedOther.ok && destinationOf(plannedOther.plan) === destination
  }
  const same = config.backends.find(isSame)
  if (same !== undefined) return same
  const pending = await pendingDestinations(directory, name)
  if ([...pending].every(each => each === destination)) return backend
  // The backlog of this name is for another address.
  const { urls, options } = planned.plan
  const place = URL.canParse(urls.traces ?? '') ? new URL(urls.traces ?? '').host : options['path']
  return { ...backend, name: `${name}@${place}` }
}

function expectKnown(value: string, config: ResolvedConfig): void {
  const types: readonly string[] = BACKEND_TYPES
  if (!/^[\w.-]+$/.test(value) || types.includes(value.toLowerCase())) return
  const names = config.backends.map(({ name }) => name)
  const configured = names.length === 0 ? 'none is configured' : `configured: ${names.join(', ')}`
  const advice = suggestion(value, [...names, ...types]) ?? `${configured}; any other is named TYPE=URL`
  throw new WrongUse(`there is no backend ${JSON.stringify(value)}; ${advice}`)
}

const SHOW_MILLIS = 200

export const send: Command = command({
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
  async run({ values, operands }, io) {
    if (operands.length > 0 && values.all)
      throw new WrongUse('--all sends the trace log and cannot be combined with FILE')
    const since = values.since === undefined ? undefined : sinceAt(values.since, io.now())
    const { config } = resolveConfig({ env: io.env, home: io.home })
    const directory = stateHome(io.env, io.home)
    if (directory === undefined) throw new Error('there is no home directory; set XDG_STATE_HOME to a full path')
    const backends = await chosenBackends(values.backend, { config, directory }, io)
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
  },
})

async function deliver(job: SendJob, io: CommandIo): Promise<number> {
  const interruption = new Interruption(io)
  const progress = new Progress(io)
  const pipeline = openPipeline(job, interruption.giveUp, { env: io.env, home: io.home, stderr: progress.stderr })
  const before = await readBacklog(job.directory)
  const delivery = createDelivery(pipeline, job, before)
  // This timer also keeps the process alive, because requests do not.
  const shown = setInterval(() => delivery.show(progress), SHOW_MILLIS)
  try {
    await Promise.race([delivery.run(interruption.stop), interruption.stopped])
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

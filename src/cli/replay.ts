import { constants, existsSync } from 'node:fs'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { plausibleAt } from '../contract/foreign.ts'
import { type BackendStats, traceLinks } from '../delivery/pipeline/index.ts'
import { makePrivateDirectory } from '../delivery/trace-log/private-file.ts'
import { stateHome } from '../plugin/config/paths.ts'
import { resolveConfig } from '../plugin/config/resolve.ts'
import type { ResolvedConfig, UserConfig } from '../plugin/config/types.ts'
import { createPluginIn } from '../plugin/create-plugin.ts'
import type { Plugin, PluginOptions, PluginStats } from '../plugin/plugin.ts'
import { countOf, humanCount } from '../reading/human-figures.ts'
import { selectTraces } from '../reading/trace-log.ts'
import { renderTotals, renderTree } from '../reading/tree-text.ts'
import { type CommandIo, whyNot } from './command.ts'
import { openInput, type ReadRecord, RecordReader } from './hook-records.ts'
import { Interruption, interruptedAt, lookOf, Progress, STOPPING } from './terminal.ts'
import { bytesOf, spanPricer } from './traces.ts'

async function whyNotStored({ local_log }: ResolvedConfig, io: CommandIo): Promise<string | undefined> {
  if (!local_log) return 'local_log is off'
  const home = stateHome(io.env, io.home)
  if (home === undefined) return 'there is no home directory'
  const directory = join(home, 'traces')
  try {
    makePrivateDirectory(directory)
    await access(directory, constants.W_OK)
    return undefined
  } catch (error) {
    return `${directory} cannot be written: ${whyNot(error)}`
  }
}

/** Batches are sent when full, never by time, so that two replays write the same bytes. */
const NO_SCHEDULE_MILLIS = 3_600_000
/** No agent waits for a replay, so a slow backend gets more time. */
const REPLAY_WAIT_MILLIS = 15_000
/** One record can end thousands of spans. The limit keeps a hanging backend from filling the memory. */
const QUEUE_SPANS = 50_000
const MAX_PAUSE_MILLIS = 60_000

interface ReplayOptions {
  readonly plugin: PluginOptions
  readonly batchSpans: number
  /** 1 = recorded speed, 2 = twice as fast; undefined = as fast as possible. */
  readonly speed?: number | undefined
  readonly interruption: Interruption
}

export interface ReplayResult {
  readonly stats: PluginStats
  readonly records: number
  readonly spans: number
  /** A backend could not be set up, or the plugin reported an error. */
  readonly hasErrors: boolean
}

/** Feeds records to a plugin, slowly enough that nothing is dropped. */
export class Replayer {
  readonly #plugin: Plugin
  readonly #speed: number | undefined
  readonly #backpressure: Backpressure
  readonly #stop: AbortSignal
  #records = 0
  #lastAt: number | undefined
  #lastArrivedAt: number | undefined
  #hasErrors = false

  constructor(options: ReplayOptions, io: Pick<CommandIo, 'env' | 'home' | 'stderr'>) {
    this.#speed = options.speed
    this.#stop = options.interruption.stop
    // A parent span of this process has nothing to do with the recording.
    const { TRACEPARENT: _parent, ...env } = io.env
    const say = (line: string): void => io.stderr.write(`hookspan: ${line}\n`)
    const error = (line: string): void => {
      this.#hasErrors = true
      say(line)
    }
    // Files receive everything, even if a busy machine takes a while.
    const { local_log, backends } = options.plugin
    const isFiles = local_log === false && backends?.every(each => typeof each !== 'string' && each.type === 'file')
    this.#plugin = createPluginIn(replayOptions(options), {
      env,
      home: io.home,
      isReplay: true,
      ...(isFiles !== true && { giveUp: options.interruption.giveUp }),
      diagnostics: { warn: say, error, debug: () => undefined },
    })
    this.#backpressure = new Backpressure(() => this.#plugin.stats().backends, undefined, this.#stop)
  }

  get spans(): number {
    const { backends } = this.#plugin.stats()
    return Math.max(0, ...backends.map(each => each.delivered + each.dropped + each.queued + each.spooled))
  }

  /** @param arrivedAt arrival of a record that comes live through a pipe, epoch milliseconds */
  async feed({ hook, payload, meta }: ReadRecord, arrivedAt?: number): Promise<void> {
    const at = plausibleAt(meta.at)
    if (at !== undefined) await this.#keepTime(at)
    else if (arrivedAt !== undefined) this.#lastAt = this.#sinceTheLast(arrivedAt)
    this.#lastArrivedAt = arrivedAt
    // The current time of a recording is that of the previous record.
    const timed = at === undefined && this.#lastAt !== undefined ? { ...meta, at: this.#lastAt } : meta
    this.#plugin.emitUntyped(hook, payload, timed)
    this.#records += 1
    await this.#backpressure.afterRecord(this.#records)
  }

  /** Ends open spans and delivers them. Spans that a backend does not accept within the time limit are dropped and counted. */
  async finish(): Promise<ReplayResult> {
    await this.#plugin.shutdown()
    return { stats: this.#plugin.stats(), records: this.#records, spans: this.spans, hasErrors: this.#hasErrors }
  }

  #sinceTheLast(arrivedAt: number): number {
    if (this.#lastAt === undefined || this.#lastArrivedAt === undefined) return arrivedAt
    return this.#lastAt + Math.max(0, arrivedAt - this.#lastArrivedAt)
  }

  async #keepTime(at: number): Promise<void> {
    const gap = this.#lastAt === undefined ? 0 : Math.max(0, at - this.#lastAt)
    this.#lastAt = at
    if (this.#speed === undefined || gap === 0) return
    const millis = Math.min(gap / this.#speed, MAX_PAUSE_MILLIS)
    // The timer rejects if aborted.
    await pause(millis, undefined, { signal: this.#stop }).catch(() => undefined)
  }
}

function replayOptions({ plugin, batchSpans, speed }: ReplayOptions): PluginOptions {
  return {
    deterministic_ids: true,
    ...plugin,
    // A replay always shows the whole recording, whatever is configured for the agent.
    enabled: true,
    sample_rate: 1,
    prometheus: false,
    force_flush_on_session_end: false,
    force_flush_wait_ms: REPLAY_WAIT_MILLIS,
    span_batch_max_queue_size: QUEUE_SPANS,
    span_batch_max_export_batch_size: Math.min(batchSpans, LARGEST_BATCH),
    // At a given speed the user is watching, so ended spans are sent promptly.
    ...(speed === undefined ? { span_batch_schedule_delay_ms: NO_SCHEDULE_MILLIS } : {}),
  }
}

const EVERY_RECORDS = 100
/** Replaying pauses if more spans are queued for a backend. A batch, at its maximum size, must be able to fill before. */
const MAX_QUEUED = 4096
const LARGEST_BATCH: number = MAX_QUEUED / 2
const POLL_MILLIS = 5
/** If a backend made no progress for this total time, replaying no longer pauses for it. */
const PATIENCE_MILLIS = 10_000

/** Slows the producer of spans down to the speed of the backends, except those that hang. */
export class Backpressure {
  readonly #backends: () => readonly BackendStats[]
  readonly #stop: AbortSignal | undefined
  readonly #patienceMillis: number
  readonly #waited = new Map<string, { readonly delivered: number; readonly millis: number }>()

  constructor(backends: () => readonly BackendStats[], patienceMillis: number = PATIENCE_MILLIS, stop?: AbortSignal) {
    this.#backends = backends
    this.#patienceMillis = patienceMillis
    this.#stop = stop
  }

  /** Every `EVERY_RECORDS` records, waits until the backends have caught up or the command stops. */
  async afterRecord(count: number): Promise<void> {
    if (count % EVERY_RECORDS !== 0) return
    for (let behind = this.#behind(); behind.length > 0 && this.#stop?.aborted !== true; behind = this.#behind()) {
      const since = performance.now()
      await pause(POLL_MILLIS)
      for (const backend of behind) this.#note(backend, performance.now() - since)
    }
  }

  #behind(): BackendStats[] {
    return this.#backends().filter(({ name, queued }) => {
      return queued > MAX_QUEUED && (this.#waited.get(name)?.millis ?? 0) < this.#patienceMillis
    })
  }

  #note({ name, delivered }: BackendStats, millis: number): void {
    const before = this.#waited.get(name)
    const isStuck = before?.delivered === delivered
    this.#waited.set(name, { delivered, millis: isStuck ? before.millis + millis : 0 })
  }
}

async function drawTraces(files: readonly string[], last: number, io: CommandIo): Promise<string | undefined> {
  const { trees, traceCount } = await selectTraces(files, { last }, undefined, spanPricer(io))
  for (const tree of trees) io.stdout.write(`${renderTree(tree, lookOf(io))}\n\n`)
  if (trees.length > 1) io.stdout.write(`${renderTotals(trees, lookOf(io))}\n`)
  if (traceCount > trees.length) io.stdout.write(`  the last ${trees.length} of ${countOf(traceCount, 'trace')}\n`)
  return trees.at(-1)?.traceId
}

interface DeliveryContext {
  readonly config: Pick<ResolvedConfig, 'backends' | 'project_name' | 'keep'>
  readonly traceId: string | undefined
  readonly isKept: boolean
}

/** Leaves out causes that were reported before, and complete files of this run. @returns whether everything arrived */
export function reportDelivery(result: ReplayResult, context: DeliveryContext, io: CommandIo): boolean {
  const { stats, hasErrors } = result
  for (const backend of stats.backends) {
    const isOurs = !context.config.backends.some(({ name }) => name === backend.name)
    if (result.spans === 0 || (isOurs && missingIn(backend) === 0)) continue
    const got = whatItGot(backend, context)
    if (got !== undefined) io.stderr.write(`${backend.name} got ${got}${linkOf(backend, context)}\n`)
  }
  return !hasErrors && stats.backends.every(each => missingIn(each) === 0 && each.lastError === undefined)
}

/** `stored in /x`, or `12 of them written to /x`. On a full disk nothing is written, and no file is named. */
export function whatIsIn({ spans }: Pick<ReplayResult, 'spans'>, log: BackendStats | undefined, where: string): string {
  if (log === undefined || (spans > 0 && log.delivered === 0)) return `nothing is ${where.replace(/ .*$/s, '')}`
  return `${missingIn(log) > 0 ? `${humanCount(log.delivered)} of them ` : ''}${where}`
}

function missingIn({ dropped, spooled }: BackendStats): number {
  return dropped + spooled
}

/** Undefined if there is nothing to report but the error. */
function whatItGot(backend: BackendStats, { config, isKept }: DeliveryContext): string | undefined {
  const { name, delivered, spooled, lastError } = backend
  const missing = missingIn(backend)
  const kept = spooled > 0 && isKept ? `; ${humanCount(spooled)} are pending` : ''
  if (missing > 0) return `${humanCount(delivered)} of ${countOf(delivered + missing, 'span')}${kept}`
  if (delivered > 0) return countOf(delivered, 'span')
  if (lastError !== undefined) return undefined
  const takesSpans = config.backends.some(each => each.name === name && each.traces !== false)
  return config.keep?.hold && takesSpans ? 'no spans: `keep` selects none of these turns' : 'the metrics'
}

function linkOf({ name, delivered }: BackendStats, { config, traceId }: DeliveryContext): string {
  const backend = config.backends.find(each => each.name === name)
  if (backend === undefined || traceId === undefined || delivered === 0) return ''
  const { view } = traceLinks(backend, traceId, config.project_name)
  return view === undefined ? '' : `; the last trace: ${view}`
}

/** `28 records (1 ignored) → 13 spans`. */
export function summaryOf({ records, spans, stats: { hooks, unread } }: ReplayResult): string {
  const rest = (['ignored', 'duplicate', 'error'] as const).filter(outcome => hooks[outcome] > 0)
  const outcomes = rest.map(outcome => `${humanCount(hooks[outcome])} ${outcome}`)
  const misspelt = unread.hooks + unread.fields
  const slips = misspelt > 0 ? [`${humanCount(misspelt)} with unknown names`] : []
  if (unread.types > 0) slips.push(`${humanCount(unread.types)} with wrong types`)
  const notes = [...outcomes, ...(slips.length > 0 ? [`not read: ${slips.join(', ')}`] : [])].join(', ')
  return `${countOf(records, 'record')}${notes === '' ? '' : ` (${notes})`} → ${countOf(spans, 'span')}`
}

function storedWhere(result: ReplayResult): string {
  const { traceFiles, backends } = result.stats
  const log = backends.find(({ type, delivered }) => type === 'local_log' && delivered > 0)
  const others = traceFiles.length > 1 ? ` and ${countOf(traceFiles.length - 1, 'file')} before it` : ''
  return whatIsIn(result, log, `stored in ${traceFiles.at(-1)}${others}`)
}

/** Resolves to false if some of the input was unusable. */
type FeedRecords = (replayer: Replayer, progress: Progress, stop: AbortSignal) => Promise<boolean>

interface ReplayJob extends Pick<ReplayOptions, 'speed'> {
  readonly progress: Progress
  readonly feed: FeedRecords
}

interface ReplayRun {
  readonly result: ReplayResult
  readonly isClean: boolean
  readonly exitCode: number | undefined
  readonly begins: string
}

interface DrawnRun extends ReplayRun {
  readonly traceId: string | undefined
  readonly isDelivered: boolean
  readonly isStored: boolean
  readonly isKeptAsConfigured: boolean
  readonly where: string
}

/** Replays into the local trace log, or a temporary one, draws the last traces and reports the delivery to each backend. */
export async function replayAndDraw(
  code: UserConfig & Pick<PluginOptions, 'host'>,
  job: ReplayJob & { readonly drawnTraces: number },
  io: CommandIo,
): Promise<DrawnRun> {
  const { config } = resolveConfig({ code, env: io.env, home: io.home })
  const why = await whyNotStored(config, io)
  const isStored = why === undefined
  const directory = isStored ? undefined : await mkdtemp(join(tmpdir(), 'hookspan-'))
  const env = directory === undefined ? io.env : { ...io.env, XDG_STATE_HOME: directory }
  try {
    const run = await replayRecords({ ...code, local_log: true }, { config, env }, job, io)
    const last = run.exitCode === undefined ? job.drawnTraces : 0
    const traceId = await drawTraces(last === 0 ? [] : run.result.stats.traceFiles.filter(existsSync), last, io)
    const isDelivered = reportDelivery(run.result, { config, traceId, isKept: isStored }, io)
    const where = isStored ? storedWhere(run.result) : `not stored, because ${why}`
    return { ...run, traceId, isDelivered, isStored, isKeptAsConfigured: isStored || !config.local_log, where }
  } finally {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true })
  }
}

export async function replayRecords(
  plugin: PluginOptions,
  { config, env }: { readonly config: ResolvedConfig; readonly env: CommandIo['env'] },
  { progress, feed, speed }: ReplayJob,
  io: CommandIo,
): Promise<ReplayRun> {
  const interruption = new Interruption(io, () => progress.showStep(STOPPING))
  const outside = { env, home: io.home, stderr: progress.stderr }
  const batchSpans = config.span_batch_max_export_batch_size
  const replayer = new Replayer({ plugin, batchSpans, speed, interruption }, outside)
  const isClean = await feed(replayer, progress, interruption.stop)
  const begins = interruptedAt(interruption, progress)
  if (begins === '') progress.showStep('delivering …')
  const result = await replayer.finish()
  progress.end()
  return { result, isClean, exitCode: interruption.exitCode, begins: begins || interruptedAt(interruption) }
}

/** The maximum number of malformed lines reported one by one: in a wrong file all are malformed. */
const MAX_REPORTED = 20

/** Skips malformed lines and unreadable files, and replays the rest. If stopped, the rest of a file is not read. */
export async function fileJob(
  files: readonly string[],
  host: string | undefined,
  speed: number | undefined,
  io: CommandIo,
): Promise<ReplayJob> {
  const feed: FeedRecords = async (replayer, progress, stop) => {
    let [bytes, records, isClean] = [0, 0, true]
    const report = (line: string): void => {
      isClean = false
      progress.end()
      io.stderr.write(`hookspan replay: ${line}\n`)
    }
    const feedRecord = async (record: ReadRecord, arrivedAt: number | undefined): Promise<void> => {
      await replayer.feed(record, arrivedAt)
      records += 1
      progress.update(bytes, seconds => {
        const counts = [countOf(records, 'record'), countOf(replayer.spans, 'span')]
        return `${counts.join(' · ')} · ${humanCount(records / seconds)} records/s`
      })
    }
    for (const file of files) {
      const name = file === '-' ? 'standard input' : file
      let malformed = 0
      try {
        // The input may be waiting for more data when the command stops.
        const input = addAbortSignal(stop, openInput(file, io.stdin))
        const countBytes = (read: number): void => {
          bytes += read
        }
        for await (const entry of new RecordReader(host).read(input, countBytes)) {
          if (stop.aborted) break
          if ('record' in entry) await feedRecord(entry.record, file === '-' ? io.now() : undefined)
          else if (++malformed <= MAX_REPORTED)
            report(`${name} line ${entry.line}: ${entry.problem}; the line is skipped`)
        }
      } catch (error) {
        if (stop.aborted) continue
        report(`cannot read ${name}: ${whyNot(error)}`)
        continue
      }
      const untold = malformed - MAX_REPORTED
      if (untold > 0) report(`${name}: ${countOf(untold, 'further line')} skipped`)
    }
    return isClean
  }
  return { progress: new Progress(io, await bytesOf(files)), feed, speed }
}

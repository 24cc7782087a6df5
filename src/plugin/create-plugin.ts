import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Context } from '@opentelemetry/api'
import { ignoreErrors, peek, textOf } from '../contract/foreign.ts'
import { HOOK_NAMES, type HookHandler, type HookMeta, type HookName } from '../contract/index.ts'
import type { RunningPlugins } from '../contract/running-plugins.ts'
import type { Pipeline, PipelineStats, UserExtensionOptions } from '../delivery/pipeline/index.ts'
import type { Core } from '../tracker/core.ts'
import type { Enrich } from '../tracker/enrichment.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { AttributeOptions } from '../tracker/spans/span-definition.ts'
import { homeDirectory, stateHome } from './config/paths.ts'
import { resolveConfig } from './config/resolve.ts'
import type { ResolvedConfig, UserConfig } from './config/types.ts'
import type { PluginEnvironment } from './core-and-pipeline.ts'
import { createDiagnostics, loggerOf } from './diagnostics.ts'
import { EarlyContexts } from './early-context.ts'
import { RUNS_EXIT_LISTENERS, saveAtExit, shutdownAtExit } from './exit.ts'
import { loadCore } from './load-core.ts'
import type { Plugin, PluginOptions, PluginStats, Redact } from './plugin.ts'
import { NO_STATS, type RecordContext, RecordQueue } from './record-queue.ts'
import type { Telemetry, TelemetrySource } from './telemetry.ts'
import { turnsOf } from './wrappers/turn.ts'

export type { PluginEnvironment } from './core-and-pipeline.ts'

const NOTHING_SENT: PipelineStats = { backends: [], traceFiles: [] }
/** Its reviews look like turns. */
const REVIEWING_HOST = 'hermes'
const PLUGINS = Symbol.for('hookspan.plugins')
/** `import.meta.url` is missing in a CommonJS bundle, so `createRequire` gets `undefined`. */
const NOT_LOADED: readonly unknown[] = ['MODULE_NOT_FOUND', 'ERR_INVALID_ARG_VALUE']

export interface Extensions extends UserExtensionOptions {
  readonly enrich?: Enrich | undefined
  readonly redact?: Redact | undefined
}

interface SplitOptions extends Pick<PluginOptions, 'host' | 'tracerProvider' | 'meterProvider' | 'logger'> {
  readonly config: UserConfig
  readonly extensions: Extensions
}

interface Recording {
  readonly host: string
  readonly config: ResolvedConfig
  readonly telemetry: TelemetrySource
  readonly environment: PluginEnvironment
  readonly extensions?: Extensions
}

/**
 * Creates a plugin that records hooks as traces and metrics.
 *
 * Configuration comes from defaults, file, environment and these options; later ones win. An invalid value is reported as one
 * line on stderr, and never throws.
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent', backends: [{ type: 'jaeger' }] })
 * plugin.emit('on_session_start', { session_id: 's1', model: 'qwen3' })
 */
export function createPlugin(options: PluginOptions = {}): Plugin {
  return createPluginIn(options, ownEnvironment())
}

export function ownEnvironment(): PluginEnvironment {
  return { env: process.env, home: homeDirectory(), isReplay: false }
}

/** Never throws. If an option or the machine prevents a start, one line says so and the plugin does nothing. */
export function createPluginIn(options: PluginOptions, environment: PluginEnvironment): TracingPlugin {
  try {
    return startPlugin(options, environment)
  } catch (error) {
    return pluginNotStarted(options, reasonNotStarted(error), environment.diagnostics)
  }
}

export function pluginNotStarted(options: unknown, reason: string, diagnostics?: Diagnostics): TracingPlugin {
  const report = diagnostics ?? createDiagnostics(undefined, loggerOf(peek(options, 'logger')))
  report.error(reason)
  return new TracingPlugin(report)
}

function startPlugin(options: PluginOptions, environment: PluginEnvironment): TracingPlugin {
  const split = splitOptions(typeof options === 'object' && options !== null ? options : {})
  const { env, home, isReplay, continuation, recordsLogsOnly } = environment
  const resolution = resolveConfig({ code: split.config, env, home, hostName: split.host })
  const config = recordsLogsOnly ? withLogsOnly(resolution.config) : resolution.config
  const logger = loggerOf(split.logger)
  const report = environment.diagnostics ?? createDiagnostics(config.debug ? stateHome(env, home) : undefined, logger)
  if (split.logger !== undefined && logger === undefined)
    report.warn('logger: expected an object with the methods error and warn; lines go to stderr')
  for (const { message } of resolution.problems) report.warn(message)
  if (!config.enabled) return new TracingPlugin(report)
  if (config.local_log && stateHome(env, home) === undefined) {
    report.warn(
      'there is no home directory, so traces are not stored on this machine; set XDG_STATE_HOME to a full path',
    )
  }
  const telemetry = telemetryFor(split, config, environment, report)
  const host = split.host ?? ''
  const plugin = new TracingPlugin(report, { host, config, telemetry, environment, extensions: split.extensions })
  if (!isReplay && !continuation && !recordsLogsOnly) {
    const shared = globalThis as { [PLUGINS]?: RunningPlugins }
    shared[PLUGINS] ??= new Map()
    shared[PLUGINS].set(host, { plugin, isOver: () => plugin.isShutDown })
  }
  return plugin
}

export function splitOptions(options: PluginOptions): SplitOptions {
  const { host, tracerProvider, meterProvider, logger, enrich, spanProcessors, metricReaders, redact, ...rest } =
    options
  const isFunction = typeof redact === 'function'
  const extensions = { enrich, spanProcessors, metricReaders, redact: isFunction ? redact : undefined }
  const config: UserConfig = redact === undefined ? rest : { ...rest, redact: isFunction || redact }
  return { config, extensions, host, tracerProvider, meterProvider, logger }
}

function withLogsOnly(config: ResolvedConfig): ResolvedConfig {
  const ofLogs = config.backends.filter(({ logs }) => logs === true)
  const backends = ofLogs.map(backend => ({ ...backend, traces: false, metrics: false }))
  return { ...config, local_log: false, prometheus: undefined, backends }
}

function telemetryFor(
  { tracerProvider, meterProvider, extensions }: SplitOptions,
  config: ResolvedConfig,
  environment: PluginEnvironment,
  report: Diagnostics,
): TelemetrySource {
  if (tracerProvider === undefined && meterProvider === undefined)
    return { kind: 'own', open: () => loadCore().ownTelemetry(config, environment, report, extensions) }
  for (const option of ['spanProcessors', 'metricReaders'] as const) {
    if (extensions[option] !== undefined)
      report.warn(`${option}: they are left out where a provider is handed in; give them to that provider`)
  }
  return loadCore().hostTelemetry({ tracerProvider, meterProvider }, report)
}

/** Uses the error's code or name: the message of a host's error may contain anything. */
function reasonNotStarted(error: unknown): string {
  const found = peek(error, 'code')
  const isNotLoaded = NOT_LOADED.includes(found)
  const code = isNotLoaded ? openError() : found
  const reason =
    code === 'EMFILE' || code === 'ENFILE'
      ? `too many files are open (${code}); raise the limit (ulimit -n)`
      : isNotLoaded
        ? 'files of hookspan are missing; if a bundler made this program, mark `hookspan` as external in it'
        : (textOf(code) ?? textOf(peek(error, 'name')) ?? 'something unknown was thrown')
  return `nothing is recorded, because it could not be started: ${reason}`
}

/** If too many files are open, the loader reports a module as missing. Undefined if a file can be opened. */
function openError(): unknown {
  try {
    closeSync(openSync(fileURLToPath(import.meta.url), 'r'))
    return undefined
  } catch (error) {
    return peek(error, 'code')
  }
}

export class TracingPlugin implements Plugin {
  readonly report: Diagnostics
  readonly #recording: Recording | undefined
  readonly #queue: RecordQueue | undefined
  readonly #unregisterShutdown: (() => void) | undefined
  readonly #unregisterSave: (() => void) | undefined
  #attributeOptions: AttributeOptions | undefined
  #pipeline: Pipeline | undefined
  #isShutDown = false
  #ending: Promise<void> | undefined

  // Functions of the object itself: users pass them to their hosts on their own, and `testing.ts` copies them.
  readonly emitUntyped = (hook: string, payload?: unknown, meta?: HookMeta): Promise<void> | undefined =>
    this.#queue?.handleHook(hook, payload, meta)
  readonly emit: Plugin['emit'] = this.emitUntyped
  readonly on: Plugin['on'] = this.emit
  readonly turn: Plugin['turn'] = turnsOf(this.emit)
  readonly handlers: Plugin['handlers'] = Object.fromEntries(
    HOOK_NAMES.map(hook => [hook, (payload: unknown) => this.emitUntyped(hook, payload)]),
  ) as Record<HookName, HookHandler>

  constructor(report: Diagnostics, recording?: Recording) {
    this.report = report
    this.#recording = recording
    if (recording === undefined) return
    const { config, telemetry, environment, extensions = {} } = recording
    const { isReplay, continuation } = environment
    const enrich = typeof extensions.enrich === 'function' ? extensions.enrich : undefined
    if (extensions.enrich !== enrich) report.warn('enrich: expected a function; nothing is added to the spans')
    if (config.redact_patterns.length > 0) this.#attributeOptionsOf(recording)
    const isOurs = telemetry.kind !== 'host'
    // User code that sees each span may ask where it was called, and what has happened until then.
    const { spanProcessors } = extensions
    const hasProcessors = Array.isArray(spanProcessors) && spanProcessors.length > 0
    const isObserved = !isOurs || enrich !== undefined || hasProcessors
    const isInline = isObserved || config.log_flush_ms === 0
    const isEndedByCaller = isReplay || continuation !== undefined
    this.#queue = new RecordQueue({
      openCore: context => this.#openCore(recording, enrich, context),
      captureScope: {
        isFull: config.content_capture === 'full',
        conversationHistory: config.capture_conversation_history,
      },
      loadSteps: isInline || isReplay || telemetry.kind !== 'own' ? undefined : open => allLoadSteps(config, open),
      isInline,
      flushesSessionEnd: config.force_flush_on_session_end,
      earlyContexts: isInline || isEndedByCaller ? undefined : earlyContextsOf(recording),
      isSessionEndInline: isEndedByCaller || !RUNS_EXIT_LISTENERS,
      maxUnwrittenMillis: isEndedByCaller || config.log_flush_ms === 0 ? Number.POSITIVE_INFINITY : config.log_flush_ms,
      save: () => this.#pipeline?.flushLogSync(),
      activeSpan: config.parent === 'active' ? () => ignoreErrors(() => loadCore().activeSpan(isOurs)) : undefined,
      now: continuation?.now ?? Date.now,
    })
    if (!isEndedByCaller) this.#unregisterShutdown = shutdownAtExit(this, config.handle_signals)
    // A pipeline in memory has nothing to save when the process ends.
    if (telemetry.kind !== 'memory') this.#unregisterSave = saveAtExit(() => this.#saveAtExit())
  }

  get isShutDown(): boolean {
    return this.#isShutDown
  }

  readonly log: Plugin['log'] = (message, about) => {
    const { telemetry, config } = this.#recording ?? {}
    // The backends of a pipeline in memory are not known here.
    const isSent = telemetry?.kind === 'own' && config?.backends.some(({ logs }) => logs === true)
    const hasReceiver = telemetry?.kind === 'memory' || isSent
    if (hasReceiver) this.#queue?.handleLogLine({ message, about })
  }

  readonly flush = (): Promise<void> => this.#queue?.flush() ?? Promise.resolve()

  readonly shutdown = (): Promise<void> => {
    this.#isShutDown = true
    this.#ending ??= this.#end()
    return this.#ending
  }

  readonly [Symbol.asyncDispose]: () => Promise<void> = this.shutdown

  readonly traceparent: Plugin['traceparent'] = ids => {
    const { config, host = '' } = this.#recording ?? {}
    return config?.propagate_context ? this.#queue?.traceparent(ids, host) : undefined
  }

  readonly context: Plugin['context'] = (ids, given) => {
    const base = ignoreErrors(() => loadCore().baseContext(given)) ?? (given as Context)
    return this.#queue?.context(ids, this.#recording?.host ?? '', base) ?? base
  }

  readonly stats = (): PluginStats => ({
    ...(this.#queue?.stats() ?? NO_STATS),
    ...(this.#pipeline?.stats() ?? NOTHING_SENT),
  })

  #attributeOptionsOf({ config, extensions }: Recording): AttributeOptions {
    const warn = (line: string): void => this.report.warn(line)
    this.#attributeOptions ??= loadCore().attributeOptionsOf(config, warn, extensions?.redact)
    return this.#attributeOptions
  }

  #openCore(recording: Recording, enrich: Enrich | undefined, context: RecordContext): Core | undefined {
    const { host, config, environment, telemetry } = recording
    try {
      const opened: Telemetry = telemetry.open()
      this.#pipeline = opened.pipeline
      const attributeOptions = this.#attributeOptionsOf(recording)
      const parts = { host, config, environment, attributeOptions, enrich, report: this.report }
      return loadCore().createCoreWithPipeline(parts, opened, context)
    } catch (error) {
      this.report.error(reasonNotStarted(error))
      return undefined
    }
  }

  #stopRecording(): void {
    if (this.#recording?.environment.continuation?.leavesOpen) this.#queue?.leaveOpen()
    else this.#queue?.endAll()
  }

  async #end(): Promise<void> {
    this.#stopRecording()
    this.#unregisterShutdown?.()
    await (this.#pipeline ? this.#pipeline.shutdown() : this.#queue?.flush())
    // Only at the end: the host may exit during the shutdown.
    this.#unregisterSave?.()
  }

  #saveAtExit(): void {
    if (this.#queue?.isUnused !== false) return
    try {
      this.#stopRecording()
    } finally {
      this.#pipeline?.shutdownSync()
    }
  }
}

function* allLoadSteps(config: ResolvedConfig, open: () => unknown): Generator<void> {
  const { loadSteps } = loadCore()
  yield
  yield* loadSteps(config, open)
}

/** Undefined if the ids of a turn depend on more than chance: its caller, its sampling, a seed, the host's own provider. */
function earlyContextsOf({ host, config, telemetry }: Recording): EarlyContexts | undefined {
  const isAnyId = telemetry.kind !== 'host' && !config.deterministic_ids && config.parent === 'link'
  if (!isAnyId || (config.sample_rate ?? 1) < 1 || host === REVIEWING_HOST) return undefined
  return new EarlyContexts(host, config.root_span_ttl_ms)
}

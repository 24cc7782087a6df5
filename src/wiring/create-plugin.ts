import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createNoopMeter } from '@opentelemetry/api'
import { nearestName } from '../config/nearest.ts'
import { type Environment, homeDirectory } from '../config/paths.ts'
import { resolveConfig } from '../config/resolve.ts'
import type { ResolvedConfig } from '../config/types.ts'
import { peek, textOf } from '../contract/foreign.ts'
import { HOOK_NAMES, type HookHandler, type HookMeta, type HookName } from '../contract/index.ts'
import type { CoreOptions } from '../core/options.ts'
import { Core } from '../core/plugin.ts'
import type { Report } from '../core/guard.ts'
import { createPipeline, type Pipeline } from '../pipeline/index.ts'
import { turnsOf } from '../wrappers/turn.ts'
import { createDiagnostics, type Logger, loggerOf } from './diagnostics.ts'
import { saveAtExit, shutdownAtExit } from './exit.ts'
import { apart, type Extensions, type ParsedOptions, usableEnrich } from './extensions.ts'
import { activeSpan, baseContext } from './host-context.ts'
import { Intake, type Outside } from './intake.ts'
import { type Life, withLife } from './life.ts'
import { gaugesOf } from './pipeline-gauges.ts'
import type { Plugin, PluginOptions, PluginStats } from './plugin.ts'
import { RecordCopier } from './record-copy.ts'
import { coreConfigOf, drawOf, pipelineSettings, stateHome } from './settings.ts'
import { type Telemetry, telemetryHandedIn, telemetryOf } from './telemetry.ts'

/** What a program of ours may set beside a user's options: where it runs, and that it replays. */
export interface Surroundings {
  readonly env: Environment
  readonly home: string
  /** Only the records' own time counts, and exit is the program's own business. */
  readonly isReplay: boolean
  readonly diagnostics?: Report
  /** As in the settings of the pipeline. */
  readonly giveUp?: AbortSignal
}

/**
 * A plugin that records hooks as traces and metrics. Configuration comes from defaults, file, environment and these
 * options, the later ones winning; a value that cannot be used is one line on stderr, never an exception.
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent', backends: [{ type: 'jaeger' }] })
 * plugin.emit('on_session_start', { session_id: 's1', model: 'qwen3' })
 */
export function createPlugin(options: PluginOptions = {}): Plugin {
  return createPluginIn(options, {
    env: process.env,
    home: homeDirectory(),
    isReplay: false,
  })
}

/** Nothing that a host hands in or that its machine lacks may end the host: then there is no plugin, and a line says so. */
export function createPluginIn(options: PluginOptions, surroundings: Surroundings): Plugin {
  try {
    return create(options, surroundings)
  } catch (error) {
    const why = `nothing is recorded, because it could not be started: ${whyNot(error)}`
    return notStarted(options, why, surroundings.diagnostics)
  }
}

/** A plugin that takes everything and does nothing, and the line that says why; nothing at all is opened for it. */
export function notStarted(options: unknown, why: string, diagnostics?: Report): Plugin {
  const report = diagnostics ?? createDiagnostics(undefined, loggerIn(options))
  report.error(why)
  return switchedOff(report)
}

function loggerIn(options: unknown): Logger | undefined {
  try {
    return loggerOf((options as PluginOptions).logger)
  } catch {
    return undefined
  }
}

/** Of a module that it cannot open the loader says that it is not there. */
function openError(): unknown {
  try {
    closeSync(openSync(fileURLToPath(import.meta.url), 'r'))
    return 'MODULE_NOT_FOUND'
  } catch (error) {
    return peek(error, 'code')
  }
}

/** The error's code or name, and not what it says: a host's can quote anything. */
function whyNot(error: unknown): string {
  const code = peek(error, 'code') === 'MODULE_NOT_FOUND' ? openError() : peek(error, 'code')
  if (code === 'EMFILE' || code === 'ENFILE') return `too many files are open (${code}); raise the limit (ulimit -n)`
  return textOf(code) ?? textOf(peek(error, 'name')) ?? 'something unknown was thrown'
}

function create(options: PluginOptions, surroundings: Surroundings): Plugin {
  const parsed = apart(typeof options === 'object' && options !== null ? options : {})
  const { host, logger: given, extensions } = parsed
  const { env, home } = surroundings
  const resolution = resolveConfig({ code: parsed.config, env, home, hostName: host })
  const { config } = resolution
  const logger = loggerOf(given)
  const report = surroundings.diagnostics ?? createDiagnostics(config.debug ? stateHome(env, home) : undefined, logger)
  if (given !== undefined && logger === undefined) {
    report.warn('logger: expected an object with the methods error and warn; lines go to stderr')
  }
  for (const { message } of resolution.problems) report.warn(message)
  if (!config.enabled) return switchedOff(report)
  if (config.local_log && stateHome(env, home) === undefined) {
    report.warn(
      'there is no home directory, so traces are not stored on this machine; set XDG_STATE_HOME to a full path',
    )
  }
  const telemetry = openTelemetry(parsed, config, surroundings, report)
  return assemble(host ?? '', config, telemetry, surroundings, report, extensions)
}

function openTelemetry(
  { tracerProvider, meterProvider, extensions }: ParsedOptions,
  config: ResolvedConfig,
  { env, home, giveUp }: Surroundings,
  report: Report,
): Telemetry {
  if (tracerProvider !== undefined || meterProvider !== undefined) {
    for (const option of ['spanProcessors', 'metricReaders'] as const) {
      if (extensions[option] !== undefined)
        report.warn(`${option}: they are left out where a provider is handed in; give them to that provider`)
    }
    return telemetryHandedIn({ tracerProvider, meterProvider }, report)
  }
  return telemetryOf(createPipeline({ ...pipelineSettings(config, env, home), giveUp }, report, extensions))
}

/** A plugin from its resolved configuration and its telemetry. */
export function assemble(
  host: string,
  config: ResolvedConfig,
  { tracer, meter, pipeline, flush }: Telemetry,
  { env, isReplay }: Surroundings,
  report: Report,
  extensions: Extensions = {},
): Plugin {
  const warn = (line: string): void => report.warn(line)
  const savesEach = pipeline !== undefined && config.log_flush_ms === 0
  const draw = drawOf(config, warn, extensions.redact)
  const enrich = usableEnrich(extensions, warn)
  const coreOptions: Omit<CoreOptions, keyof Outside> = {
    ...coreConfigOf(config, env),
    tracer,
    meter,
    nearestName,
    draw,
    enrich,
    report,
    host,
    flush,
    hurry: pipeline && (() => pipeline.hurry()),
    // A pipeline of ours does so itself.
    holdsProcess: pipeline === undefined,
    seedIds: pipeline?.seedIds,
    sweepByClock: !isReplay,
    gauges: gaugesOf(pipeline),
    settle: savesEach ? () => pipeline.saveNow() : undefined,
  }
  const core = new Intake({
    createCore: outside => coreOf({ ...coreOptions, ...outside }),
    copier: new RecordCopier({ isFull: draw.capture.mode === 'full', ...draw.capture }),
    isDirect: savesEach || pipeline === undefined || enrich !== undefined || hasProcessors(extensions),
    flushesAtEnd: config.force_flush_on_session_end,
    activeSpan: () => (config.parent === 'active' ? activeSpan(pipeline !== undefined) : undefined),
    now: Date.now,
  })
  const life: Life = { report, isOver: false }
  let ending: Promise<void> | undefined
  const shutdown = (): Promise<void> => {
    life.isOver = true
    ending ??= endAll(core, pipeline, { forgetExit, forgetSaving })
    return ending
  }
  const forgetExit = isReplay
    ? () => undefined
    : shutdownAtExit({ shutdown, flush: () => core.flush() }, config.handle_signals)
  const forgetSaving = saveAtExit(() => {
    try {
      core.endAll()
    } finally {
      pipeline?.endNow()
    }
  })
  if (!isReplay) pipeline?.recover(spans => core.countCrashed(spans))
  const traceparent: Plugin['traceparent'] = ids => (config.propagate_context ? core.traceparent(ids, host) : undefined)
  const context: Plugin['context'] = (ids, base) => core.context(ids, host, baseContext(base))
  return withLife(facade({ core, pipeline, traceparent, context, shutdown }), life)
}

/** Code of somebody else's that sees each span: it may ask where it is called, and what has happened until then. */
function hasProcessors({ spanProcessors }: Extensions): boolean {
  return Array.isArray(spanProcessors) && spanProcessors.length > 0
}

/** A meter of a host's may refuse to make instruments: that costs the metrics, not the spans. */
function coreOf(options: CoreOptions): Core {
  try {
    return new Core(options)
  } catch {
    options.report.warn('meterProvider: its meter makes no instruments; no metrics are recorded')
    return new Core({ ...options, meter: createNoopMeter() })
  }
}

async function endAll(
  core: Intake,
  pipeline: Pipeline | undefined,
  { forgetExit, forgetSaving }: { readonly forgetExit: () => void; readonly forgetSaving: () => void },
): Promise<void> {
  core.endAll()
  forgetExit()
  // A provider that was handed in goes on when we do not.
  await (pipeline ? pipeline.shutdown() : core.flush())
  // Not before: the host may end the process while we are at it.
  forgetSaving()
}

interface FacadeParts extends Pick<Plugin, 'traceparent' | 'context' | 'shutdown'> {
  readonly core: Intake
  readonly pipeline: Pipeline | undefined
}

function facade({ core, pipeline, traceparent, context, shutdown }: FacadeParts): Plugin {
  const emit = (hook: string, payload?: unknown, meta?: HookMeta): Promise<void> | undefined =>
    core.on(hook, payload, meta)
  return {
    emit,
    emitUntyped: emit,
    on: emit,
    turn: turnsOf(emit),
    handlers: handlersOf(emit),
    flush: () => core.flush(),
    shutdown,
    [Symbol.asyncDispose]: shutdown,
    traceparent,
    context,
    stats: (): PluginStats => ({ ...core.stats(), ...(pipeline?.stats() ?? { backends: [], traceFiles: [] }) }),
  }
}

function handlersOf(emit: (hook: string, payload?: unknown) => Promise<void> | undefined): Plugin['handlers'] {
  const handlers = {} as Record<HookName, HookHandler>
  for (const hook of HOOK_NAMES) handlers[hook] = payload => emit(hook, payload)
  return handlers
}

function switchedOff(report: Report): Plugin {
  const nothing = (): undefined => undefined
  const life: Life = { report, isOver: false }
  const shutdown = (): Promise<void> => {
    life.isOver = true
    return Promise.resolve()
  }
  const plugin: Plugin = {
    emit: nothing,
    emitUntyped: nothing,
    on: nothing,
    turn: turnsOf(nothing),
    handlers: handlersOf(nothing),
    flush: () => Promise.resolve(),
    shutdown,
    [Symbol.asyncDispose]: shutdown,
    traceparent: nothing,
    context: (_ids, base) => baseContext(base),
    stats: () => ({
      hooks: { ok: 0, ignored: 0, duplicate: 0, error: 0 },
      spansOpen: 0,
      turnsOpen: 0,
      unread: { hooks: 0, fields: 0, types: 0 },
      backends: [],
      traceFiles: [],
    }),
  }
  return withLife(plugin, life)
}

import type { Context } from '@opentelemetry/api'
import { HOOK_NAMES, type HookHandler, type HookMeta, type HookName } from '../contract/index.ts'
import type { Pipeline, PipelineStats } from '../delivery/pipeline/index.ts'
import type { Continuation } from '../delivery/trace-log/index.ts'
import type { Core } from '../tracker/core.ts'
import type { Diagnostics } from '../tracker/guard.ts'
import type { AttributeOptions } from '../tracker/spans/span-definition.ts'
import { type Environment, homeDirectory, stateHome } from './config/paths.ts'
import { resolveConfig } from './config/resolve.ts'
import type { ResolvedConfig } from './config/types.ts'
import { createDiagnostics, type Logger, loggerOf } from './diagnostics.ts'
import { saveAtExit, shutdownAtExit } from './exit.ts'
import { apart, type Extensions, type ParsedOptions, usableEnrich } from './extensions.ts'
import { type CoreEnvironment, Intake, NOTHING_TAKEN } from './intake.ts'
import { askLate, late, loadApi } from './late.ts'
import { noteRunning, type PluginState, withLife } from './life.ts'
import { logsAlone } from './logs-alone.ts'
import type { Plugin, PluginOptions, PluginStats } from './plugin.ts'
import { RecordCopier } from './record-copy.ts'
import type { LateTelemetry, Telemetry } from './telemetry.ts'
import { whyNotStarted } from './why-not.ts'
import { turnsOf } from './wrappers/turn.ts'

const NOTHING_SENT: PipelineStats = { backends: [], traceFiles: [] }

/** Settings for our own programs, besides a user's options: the environment, and replay. */
export interface Surroundings {
  readonly env: Environment
  readonly home: string
  /** Only record times count, and the program handles its exit itself. */
  readonly isReplay: boolean
  readonly diagnostics?: Diagnostics
  /** Set by a receiver: it continues what a previous one has left open. */
  readonly continuation?: Continuation
  readonly giveUp?: AbortSignal
  /** Only log events are recorded. The agent itself runs its own plugin with the same configuration. */
  readonly tellsLogsAlone?: boolean
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
  return createPluginIn(options, ownSurroundings())
}

/** Like `createPlugin`, but only for log events beside an agent's own plugin. Sends, serves and stores nothing else. */
export function createLogPlugin(options: PluginOptions): Plugin {
  return createPluginIn(options, { ...ownSurroundings(), tellsLogsAlone: true })
}

function ownSurroundings(): Surroundings {
  return { env: process.env, home: homeDirectory(), isReplay: false }
}

/** Never throws. If an option or the machine prevents a start, one line says so and the plugin does nothing. */
export function createPluginIn(options: PluginOptions, surroundings: Surroundings): Plugin {
  try {
    return create(options, surroundings)
  } catch (error) {
    return notStarted(options, whyNotStarted(error), surroundings.diagnostics)
  }
}

/** Reports the reason, and returns a plugin that does nothing. Opens no files or connections. */
export function notStarted(options: unknown, why: string, diagnostics?: Diagnostics): Plugin {
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

function create(options: PluginOptions, surroundings: Surroundings): Plugin {
  const parsed = apart(typeof options === 'object' && options !== null ? options : {})
  const { host, logger: given, extensions } = parsed
  const { env, home } = surroundings
  const resolution = resolveConfig({ code: parsed.config, env, home, hostName: host })
  const config = surroundings.tellsLogsAlone ? logsAlone(resolution.config) : resolution.config
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
  const telemetry = telemetryFor(parsed, config, surroundings, report)
  const plugin = assemble(host ?? '', config, telemetry, surroundings, report, extensions)
  const isAgents = !surroundings.isReplay && !surroundings.continuation && !surroundings.tellsLogsAlone
  return isAgents ? noteRunning(host ?? '', plugin) : plugin
}

function telemetryFor(
  { tracerProvider, meterProvider, extensions }: ParsedOptions,
  config: ResolvedConfig,
  { env, home, giveUp, continuation }: Surroundings,
  report: Diagnostics,
): LateTelemetry {
  if (tracerProvider !== undefined || meterProvider !== undefined) {
    for (const option of ['spanProcessors', 'metricReaders'] as const) {
      if (extensions[option] !== undefined)
        report.warn(`${option}: they are left out where a provider is handed in; give them to that provider`)
    }
    return late().telemetryHandedIn({ tracerProvider, meterProvider }, report)
  }
  const open = (): Telemetry => late().ownTelemetry({ config, env, home, giveUp, continuation }, report, extensions)
  return { isOurs: true, pieces: openAll => piecesFor(config, openAll), open }
}

function* piecesFor(config: ResolvedConfig, open: () => unknown): Generator<void> {
  yield loadApi()
  const { pieces } = late()
  yield
  yield* pieces(config, open)
}

export function assemble(
  host: string,
  config: ResolvedConfig,
  telemetry: LateTelemetry,
  { env, isReplay, continuation }: Surroundings,
  report: Diagnostics,
  extensions: Extensions = {},
): Plugin {
  const { isOurs } = telemetry
  const warn = (line: string): void => report.warn(line)
  const enrich = usableEnrich(extensions, warn)
  let drawing: AttributeOptions | undefined
  const attributeOptions = (): AttributeOptions => {
    drawing ??= late().attributeOptionsOf(config, warn, extensions.redact)
    return drawing
  }
  // Reports an invalid pattern at once.
  if (config.redact_patterns.length > 0) attributeOptions()
  let pipeline: Pipeline | undefined
  const createCore = (outside: CoreEnvironment): Core => {
    const opened = telemetry.open()
    pipeline = opened.pipeline
    return late().openCore(
      { host, config, env, isReplay, attributeOptions: attributeOptions(), enrich, report, continuation },
      opened,
      outside,
    )
  }
  const isDirect = (isOurs && config.log_flush_ms === 0) || !isOurs || enrich !== undefined || hasProcessors(extensions)
  const isEndedByItself = isReplay || continuation !== undefined
  const intake = new Intake({
    createCore: outside => started(() => createCore(outside), report),
    copier: new RecordCopier({
      isFull: config.content_capture === 'full',
      conversationHistory: config.capture_conversation_history,
    }),
    pieces: isDirect || isReplay ? undefined : telemetry.pieces,
    isDirect,
    flushesAtEnd: config.force_flush_on_session_end,
    unwrittenMillis: isEndedByItself || config.log_flush_ms === 0 ? Number.POSITIVE_INFINITY : config.log_flush_ms,
    save: () => pipeline?.flushLogSync(),
    activeSpan: () =>
      config.parent === 'active' ? askLate(loaded => loaded.activeSpan(isOurs), undefined) : undefined,
    now: continuation?.now ?? Date.now,
  })
  const life: PluginState = { report, isOver: false }
  let ending: Promise<void> | undefined
  const leave = (): void => (continuation?.leavesOpen ? intake.leaveOpen() : intake.endAll())
  const shutdown = (): Promise<void> => {
    life.isOver = true
    ending ??= endAll(leave, { intake, pipelineOf: () => pipeline, forgetExit, forgetSaving })
    return ending
  }
  const forgetExit = isEndedByItself
    ? () => undefined
    : shutdownAtExit({ shutdown, flush: () => intake.flush() }, config.handle_signals)
  const save = (): void => {
    if (intake.isUntouched) return
    try {
      leave()
    } finally {
      pipeline?.shutdownSync()
    }
  }
  const forgetSaving = telemetry.isInMemory ? () => undefined : saveAtExit(save)
  const traceparent: Plugin['traceparent'] = ids =>
    config.propagate_context ? intake.traceparent(ids, host) : undefined
  const context: Plugin['context'] = (ids, base) => intake.context(ids, host, contextOf(base))
  // A pipeline that was passed in may take logs: its backends are not known beforehand.
  const takesLogs = isOurs && (telemetry.pieces === undefined || config.backends.some(({ logs }) => logs))
  const log: Plugin['log'] = (message, about) => {
    if (takesLogs) intake.log({ message, about })
  }
  const sent = (): PipelineStats => pipeline?.stats() ?? NOTHING_SENT
  return withLife(facade({ intake, sent, log, traceparent, context, shutdown }), life)
}

/** Returns undefined after a failure, and reports it as one line. */
function started(create: () => Core, report: Diagnostics): Core | undefined {
  try {
    return create()
  } catch (error) {
    report.error(whyNotStarted(error))
    return undefined
  }
}

/** User code that sees each span may ask where it was called, and what has happened until then. */
function hasProcessors({ spanProcessors }: Extensions): boolean {
  return Array.isArray(spanProcessors) && spanProcessors.length > 0
}

interface EndingParts {
  readonly intake: Intake
  readonly pipelineOf: () => Pipeline | undefined
  readonly forgetExit: () => void
  readonly forgetSaving: () => void
}

/** @param leave stops the plugin: ends open spans, or leaves them to the next process */
async function endAll(leave: () => void, { intake, pipelineOf, forgetExit, forgetSaving }: EndingParts): Promise<void> {
  leave()
  forgetExit()
  const pipeline = pipelineOf()
  // The host's own provider stays open. It is only flushed.
  await (pipeline ? pipeline.shutdown() : intake.flush())
  // Only at the end: the host may exit during the shutdown.
  forgetSaving()
}

function contextOf(base: Context | undefined): Context {
  return askLate(loaded => loaded.baseContext(base), base as Context)
}

interface FacadeParts extends Pick<Plugin, 'log' | 'traceparent' | 'context' | 'shutdown'> {
  readonly intake: Intake
  readonly sent: () => PipelineStats
}

function facade({ intake, sent, log, traceparent, context, shutdown }: FacadeParts): Plugin {
  const emit = (hook: string, payload?: unknown, meta?: HookMeta): Promise<void> | undefined =>
    intake.on(hook, payload, meta)
  return {
    emit,
    emitUntyped: emit,
    on: emit,
    turn: turnsOf(emit),
    handlers: handlersOf(emit),
    log,
    flush: () => intake.flush(),
    shutdown,
    [Symbol.asyncDispose]: shutdown,
    traceparent,
    context,
    stats: (): PluginStats => ({ ...intake.stats(), ...sent() }),
  }
}

function handlersOf(emit: (hook: string, payload?: unknown) => Promise<void> | undefined): Plugin['handlers'] {
  const handlers = {} as Record<HookName, HookHandler>
  for (const hook of HOOK_NAMES) handlers[hook] = payload => emit(hook, payload)
  return handlers
}

function switchedOff(report: Diagnostics): Plugin {
  const nothing = (): undefined => undefined
  const life: PluginState = { report, isOver: false }
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
    log: nothing,
    flush: () => Promise.resolve(),
    shutdown,
    [Symbol.asyncDispose]: shutdown,
    traceparent: nothing,
    context: (_ids, base) => contextOf(base),
    stats: () => ({ ...NOTHING_TAKEN, ...NOTHING_SENT }),
  }
  return withLife(plugin, life)
}

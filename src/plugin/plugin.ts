import type { Context as ApiContext, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { HookMeta, HookName, HookPayloads } from '../contract/index.ts'
import type { BackendStats, MetricReader, SpanProcessor } from '../delivery/pipeline/index.ts'
import type { Enrich } from '../tracker/enrichment.ts'
import type { LogAbout } from '../tracker/log-events.ts'
import type { CoreStats } from '../tracker/stats.ts'
import type { UserConfig } from './config/types.ts'
import type { RunTurn } from './wrappers/turn.ts'

export type { Enrich, EnrichedSpan, EnrichRecord } from '../tracker/enrichment.ts'

/** OpenTelemetry's `Context`, of `@opentelemetry/api` */
export type Context = ApiContext

declare global {
  interface SymbolConstructor {
    /**
     * Declared by TypeScript and Node, too. Repeated for users who compile with neither: our types must not require a library.
     */
    readonly asyncDispose: unique symbol
  }
}

export type { LogAbout } from '../tracker/log-events.ts'
export type { CoreStats, UnreadStats } from '../tracker/stats.ts'

/**
 * Receives lines for the user, each of which begins with `hookspan: `. Accepts `console`, pino, winston and OpenTelemetry's
 * `diag` as they are. Return values and exceptions of its methods are ignored.
 */
export interface Logger {
  /** Recording or sending has failed, in part or entirely. */
  error(line: string): unknown
  /** A setting is wrong or data was lost, and the user can fix it. */
  warn(line: string): unknown
  /** Not used so far. */
  info?(line: string): unknown
  /** Called only with `debug: true`: the same lines as in the debug log. */
  debug?(line: string): unknown
}

/** Returns a text without what must not be seen. */
export type Redact = (text: string) => string

/** The options of `createPlugin` and `register`: the configuration keys of `docs/configuration.md`, and these. */
export interface PluginOptions extends Omit<UserConfig, 'redact'> {
  /** The agent product: `hermes`, `pi`, … Names the service, and is the host of records that name none. */
  readonly host?: string | undefined
  /** Records through your own provider. hookspan then exports nothing itself. Your provider is flushed, and never shut down. */
  readonly tracerProvider?: TracerProvider | undefined
  /** The same for metrics. */
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Receives the lines for the user: a wrong setting, an unreachable backend. Default: stderr.
   *
   * @example createPlugin({ logger: console })
   */
  readonly logger?: Logger | undefined
  /**
   * `false` turns masking of secrets off. A function receives every text before it reaches a span, and returns its visible
   * form. The built-in masking runs after it. If it throws or returns no text, the text is withheld.
   *
   * @example createPlugin({ redact: text => text.replaceAll(/[\w.]+@example\.com/g, '[MAIL]') })
   */
  readonly redact?: boolean | Redact | undefined
  /**
   * Adds attributes of your own. Called at the start and at the end of each span, with the hook record that caused it. The
   * returned attributes are masked and cut like all others, and cannot replace hookspan's own names. The agent waits for the
   * function. If it throws, one line reports it, and the span is kept.
   *
   * @example createPlugin({ enrich: ({ payload }, { kind }) => (kind === 'tool' ? { owner: ownerOf(payload) } : {}) })
   */
  readonly enrich?: Enrich | undefined
  /**
   * Processors of the OpenTelemetry SDK that receive each span beside ours, already masked. The agent waits for them. Flushed
   * and shut down with the plugin.
   */
  readonly spanProcessors?: readonly SpanProcessor[] | undefined
  /** Readers of the OpenTelemetry SDK that collect our metrics beside ours. Flushed and shut down with the plugin. */
  readonly metricReaders?: readonly MetricReader[] | undefined
}

/** Counts of hooks and spans. */
export interface PluginStats extends CoreStats {
  /** Per backend: spans delivered, dropped, queued, kept for later. The local trace log is one of them. */
  readonly backends: readonly BackendStats[]
  /** The trace files of this process, oldest first. Empty if the local log is off or nothing was recorded. */
  readonly traceFiles: readonly string[]
}

/** Identifies an open span by the ids of its hooks: a tool by its `tool_call_id`, otherwise the innermost span of a turn. */
export interface SpanIds {
  /** The host, if several share the plugin. */
  readonly host?: string | undefined
  /** The session of the turn, or of the turn that the tool runs in */
  readonly session_id?: string | undefined
  /** The turn. Default: the open turn of the session */
  readonly turn_id?: string | undefined
  /** The tool. Without it, the turn is identified */
  readonly tool_call_id?: string | undefined
}

/** A running plugin. No method throws, and no promise rejects. */
export interface Plugin {
  /**
   * Records one hook. Returns undefined, except for the end of a session: that promise resolves when everything is flushed, or
   * after `force_flush_wait_ms`, for hosts that want to wait.
   *
   * The payload is copied, so it may be changed as soon as this returns. It is processed when the event loop turns.
   *
   * A misspelt hook or field does not compile. Without a compiler, it is reported once to the user, and counted in
   * `stats().unread`.
   *
   * @example plugin.emit('pre_tool_call', { session_id: 's1', tool_name: 'terminal', args: { command: 'ls' } })
   */
  emit<Name extends HookName>(hook: Name, payload: HookPayloads[Name], meta?: HookMeta): Promise<void> | undefined
  /**
   * Like `emit`, for hooks from a file or from a host without types: any name, any payload. Checked at run time.
   *
   * @example for (const { hook, payload, ...meta } of lines.map(JSON.parse)) plugin.emitUntyped(hook, payload, meta)
   */
  emitUntyped(hook: string, payload?: unknown, meta?: HookMeta): Promise<void> | undefined
  /** Alias of `emit`, for hosts that already call it by this name. It does not subscribe to anything. */
  readonly on: Plugin['emit']
  /** Runs a turn of your own agent, and emits its hooks. With `enabled: false`, the turn runs without being recorded. */
  readonly turn: RunTurn
  /** One function per hook that calls `emit`, ready to pass to a host. */
  readonly handlers: {
    readonly [Name in keyof HookPayloads]: (payload?: HookPayloads[Name]) => Promise<void> | undefined
  }
  /**
   * Records a log line of your own, for backends with `logs: true`, beside the span of the turn or tool with these ids or this
   * `traceparent`. Without either, it is placed beside the open turn, if there is exactly one. The message is content: it is
   * masked, cut, and omitted with `content_capture: off`.
   *
   * @example plugin.log('the cache is cold', { severity: 'WARN', session_id: 's1', attributes: { shard: 3 } })
   */
  log(message: string, about?: LogAbout & SpanIds): void
  /** Resolves when everything recorded until now is sent, or after `force_flush_wait_ms`. */
  flush(): Promise<void>
  /** Ends open spans (marked `shutdown`), flushes and closes, within `force_flush_wait_ms`. Idempotent. */
  shutdown(): Promise<void>
  /** Calls `shutdown` at the end of a block: `await using hooks = createPlugin()`. */
  [Symbol.asyncDispose](): Promise<void>
  /**
   * Returns the W3C `traceparent` of exactly this turn or tool, for a child process or a tool server. Undefined if it is not
   * open, or `propagate_context` is off.
   */
  traceparent(ids: SpanIds): string | undefined
  /**
   * Returns an OpenTelemetry context with this turn or tool as its active span, so that your own spans become its children.
   * Other values of `base` are kept. Returns `base` itself if no such span is open, or the plugin is off. The span cannot be
   * modified through the context. `propagate_context` does not apply, because nothing leaves the process.
   *
   * @param base default: the active context
   * @example context.with(hooks.context({ tool_call_id: 'c1' }), () => tracer.startActiveSpan('SELECT', work))
   */
  context(ids: SpanIds, base?: Context): Context
  /** Returns the counts of hooks and spans until now. */
  stats(): PluginStats
}

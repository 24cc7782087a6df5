import type { Context as ApiContext, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { UserConfig } from '../config/user-config.ts'
import type { HookMeta, HookName, HookPayloads } from '../contract/index.ts'
import type { Enrich } from '../core/enrichment.ts'
import type { LogAbout } from '../core/log-events.ts'
import type { CoreStats } from '../core/stats.ts'
import type { BackendStats, MetricReader, SpanProcessor } from '../pipeline/index.ts'
import type { RunTurn } from '../wrappers/handles.ts'
import type { Logger } from './diagnostics.ts'
import type { Redact } from './own-redact.ts'

export type { Enrich, EnrichedSpan, EnrichRecord } from '../core/enrichment.ts'

/** OpenTelemetry's, of `@opentelemetry/api` */
export type Context = ApiContext

declare global {
  interface SymbolConstructor {
    /** As TypeScript and Node declare it, for those who compile with neither: our types must not ask for a library. */
    readonly asyncDispose: unique symbol
  }
}

export type { LogAbout } from '../core/log-events.ts'
export type { CoreStats, UnreadStats } from '../core/stats.ts'

/** What `createPlugin` and `register` take: the configuration keys of `docs/configuration.md`, and these. */
export interface PluginOptions extends Omit<UserConfig, 'redact'> {
  /** The agent product: `hermes`, `pi`, … Names the service, and is the host of records that name none. */
  readonly host?: string | undefined
  /** Record through a provider of yours. Then nothing of ours is exported by us: yours is flushed, and never shut down. */
  readonly tracerProvider?: TracerProvider | undefined
  /** The same for metrics. */
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Takes the lines for the person: a wrong setting, a backend that does not answer. Default: stderr.
   *
   * @example createPlugin({ logger: console })
   */
  readonly logger?: Logger | undefined
  /**
   * `false`: no secrets are masked. A function: it is given every text before it reaches a span, and says what may be seen of
   * it; what is masked without it is masked after it. A text on which it throws, or returns no text, is withheld.
   *
   * @example createPlugin({ redact: text => text.replaceAll(/[\w.]+@example\.com/g, '[MAIL]') })
   */
  readonly redact?: boolean | Redact | undefined
  /**
   * Attributes of your own: called at the start and at the end of each span, with the hook record that tells of it. What it
   * returns is masked and cut like everything, and cannot take the place of names that are hookspan's. The agent waits for
   * it. What it throws is a line, and costs the span nothing.
   *
   * @example createPlugin({ enrich: ({ payload }, { kind }) => (kind === 'tool' ? { owner: ownerOf(payload) } : {}) })
   */
  readonly enrich?: Enrich | undefined
  /**
   * Processors of the OpenTelemetry SDK that see each span beside ours, masked already. The agent waits for them. Flushed and shut
   * down with us.
   */
  readonly spanProcessors?: readonly SpanProcessor[] | undefined
  /** Readers of the OpenTelemetry SDK that collect our metrics beside ours. Flushed and shut down with us. */
  readonly metricReaders?: readonly MetricReader[] | undefined
}

/** What has become of the hooks and of the spans. */
export interface PluginStats extends CoreStats {
  /** Per backend: spans delivered, dropped, queued, kept for later. The local trace log is one of them. */
  readonly backends: readonly BackendStats[]
  /** Where the traces of this process are, oldest first, when the local log is on and something was recorded. */
  readonly traceFiles: readonly string[]
}

/** Which open span is meant, in the ids of the hooks: a tool's, by its `tool_call_id`; else the innermost one of a turn. */
export interface SpanIds {
  /** Where several hosts share the plugin. */
  readonly host?: string | undefined
  /** Of the turn, or of the turn that the tool runs in */
  readonly session_id?: string | undefined
  /** Without it: the session's open turn */
  readonly turn_id?: string | undefined
  /** The tool; without it the turn is meant */
  readonly tool_call_id?: string | undefined
}

/** A running plugin. No method of it throws, and no promise of it rejects. */
export interface Plugin {
  /**
   * Takes one hook. Returns nothing; only the end of a session gives a promise, which resolves when everything is flushed
   * or after `force_flush_wait_ms`, for hosts that want to wait.
   *
   * What the payload holds may be changed as soon as this returns: it is copied, and worked off when the event loop turns.
   *
   * What is misspelt does not compile; where nobody compiles, it is one line for the person, and counted in `stats().unread`.
   *
   * @example plugin.emit('pre_tool_call', { session_id: 's1', tool_name: 'terminal', args: { command: 'ls' } })
   */
  emit<Name extends HookName>(hook: Name, payload: HookPayloads[Name], meta?: HookMeta): Promise<void> | undefined
  /**
   * The same for what comes out of a file, or out of a host that the compiler knows nothing of: any name, any payload. It is
   * judged when it comes in.
   *
   * @example for (const { hook, payload, ...meta } of lines.map(JSON.parse)) plugin.emitUntyped(hook, payload, meta)
   */
  emitUntyped(hook: string, payload?: unknown, meta?: HookMeta): Promise<void> | undefined
  /** The same as `emit`, under the name by which a host may already call it. It subscribes to nothing. */
  readonly on: Plugin['emit']
  /** Runs a turn of your own agent, and tells its hooks. With `enabled: false` it runs all the same. */
  readonly turn: RunTurn
  /** `emit`, a function a hook, ready to hand to a host. */
  readonly handlers: {
    readonly [Name in keyof HookPayloads]: (payload?: HookPayloads[Name]) => Promise<void> | undefined
  }
  /**
   * A line of your own, for backends with `logs: true`, beside the span of the turn or tool that is named: by its ids, or by
   * `traceparent`; without either beside the turn that is open, if there is but one. The message is content: masked, cut, and
   * left out with `content_capture: off`.
   *
   * @example plugin.log('the cache is cold', { severity: 'WARN', session_id: 's1', attributes: { shard: 3 } })
   */
  log(message: string, about?: LogAbout & SpanIds): void
  /** Resolves when what was recorded until now is sent, or after `force_flush_wait_ms`. */
  flush(): Promise<void>
  /** Ends what is open (marked `shutdown`), flushes, closes; within `force_flush_wait_ms`. Idempotent. */
  shutdown(): Promise<void>
  /** The same, at the end of the block: `await using hooks = createPlugin()`. */
  [Symbol.asyncDispose](): Promise<void>
  /**
   * W3C `traceparent` of exactly the turn or tool that is named, to hand to a child process or a tool server; undefined
   * when it is not open, or `propagate_context` is off.
   */
  traceparent(ids: SpanIds): string | undefined
  /**
   * OpenTelemetry's context with the turn or tool that is named as its active span, so that spans of yours stand below it. What
   * else `base` holds, it keeps; `base` itself when nothing of that name is open, or the plugin is switched off. Through the
   * context nothing can be written to the span. `propagate_context` makes no difference: it hands nothing to anybody.
   *
   * @param base default: the context that is active
   * @example context.with(hooks.context({ tool_call_id: 'c1' }), () => tracer.startActiveSpan('SELECT', work))
   */
  context(ids: SpanIds, base?: Context): Context
  /** What has become of the hooks and spans until now. */
  stats(): PluginStats
}

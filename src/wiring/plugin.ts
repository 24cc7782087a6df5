import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { UserConfig } from '../config/types.ts'
import type { HookMeta, HookName, HookPayloads } from '../contract/index.ts'
import type { CoreStats } from '../core/plugin.ts'
import type { BackendStats } from '../pipeline/index.ts'

export type { CoreStats, UnreadStats } from '../core/plugin.ts'

/** What `createPlugin` and `register` take: the configuration keys of `docs/configuration.md`, and these. */
export interface PluginOptions extends UserConfig {
  /** The agent product: `hermes`, `pi`, … Names the service, and is the host of records that name none. */
  readonly host?: string | undefined
  /** Record through a provider of yours. Then nothing of ours is exported by us: yours is flushed, and never shut down. */
  readonly tracerProvider?: TracerProvider | undefined
  /** The same for metrics. */
  readonly meterProvider?: MeterProvider | undefined
  /**
   * Takes the lines for the person: a wrong setting, a backend that does not answer. Default: stderr. For hosts that draw on
   * the terminal, where a line on stderr would spoil the screen.
   */
  readonly report?: ((line: string) => void) | undefined
}

/** What has become of the hooks and of the spans. */
export interface PluginStats extends CoreStats {
  /** Per backend: spans delivered, dropped, queued, kept for later. The local trace log is one of them. */
  readonly backends: readonly BackendStats[]
  /** Where the traces of this process are, oldest first, when the local log is on and something was recorded. */
  readonly traceFiles: readonly string[]
}

/** Ids of the turn or tool whose context is wanted, as the hooks spell them. */
export interface TraceparentIds {
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
  /** The same, a function a hook, ready to hand to a host. */
  readonly handlers: {
    readonly [Name in keyof HookPayloads]: (payload?: HookPayloads[Name]) => Promise<void> | undefined
  }
  /** Resolves when what was recorded until now is sent, or after `force_flush_wait_ms`. */
  flush(): Promise<void>
  /** Ends what is open (marked `shutdown`), flushes, closes; within `force_flush_wait_ms`. Idempotent. */
  shutdown(): Promise<void>
  /**
   * W3C `traceparent` of exactly the turn or tool that is named, to hand to a child process or a tool server; undefined
   * when it is not open, or `propagate_context` is off.
   */
  traceparent(ids: TraceparentIds): string | undefined
  /** What has become of the hooks and spans until now. */
  stats(): PluginStats
}

/**
 * What we use of the plugin API of OpenClaw, as read from `openclaw@2026.9.6` (`plugin-sdk/plugin-entry` and its
 * declarations). Nothing of the host is imported: it is ten times our size, and the plugin runs inside of it anyway.
 */
export interface OpenClawApi {
  readonly id?: string
  /**
   * Why the plugin was loaded. In one process it is loaded several times, and the hooks of more than one load are called:
   * those of `full` for sessions and the gateway, those of a later `discovery` for the runs of the agent.
   */
  readonly registrationMode?: string
  /** The whole configuration of the host. */
  readonly config?: unknown
  /** `plugins.entries.<id>.config`. */
  readonly pluginConfig?: unknown
  readonly runtime?: OpenClawRuntime
  readonly lifecycle?: { onDispose?(dispose: () => void): unknown }
  on(hook: string, handler: OpenClawHandler): unknown
}

/** Hooks are called one by one or together, some are awaited; what a handler of ours gives is nothing, or a flush. */
export type OpenClawHandler = (event: unknown, context: unknown) => Promise<void> | undefined

/** What OpenClaw tells of a running agent. */
export interface OpenClawRuntime {
  readonly events?: {
    /** Listeners are called in order, inside a guard of the host. Gives the function that ends the subscription. */
    onAgentEvent?(listener: (event: OpenClawAgentEvent) => void): unknown
  }
}

/** One event of a run. The host hides the ids of the session from enumeration on some of them. */
export interface OpenClawAgentEvent {
  readonly runId?: unknown
  readonly stream?: unknown
  readonly data?: unknown
  readonly sessionKey?: unknown
  readonly sessionId?: unknown
  readonly agentId?: unknown
}

/** What a plugin module exports. `definePluginEntry` of the host gives this and a schema, which the manifest has. */
export interface OpenClawPlugin {
  readonly id: string
  readonly name: string
  readonly description: string
  register(api: OpenClawApi): void
}

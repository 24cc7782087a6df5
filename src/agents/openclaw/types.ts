import { peek } from '../../contract/foreign.ts'

/**
 * The subset of OpenClaw's plugin API that this adapter uses, read from `openclaw@2026.9.6` (`plugin-sdk/plugin-entry` and its
 * declarations). The host is not imported: it is ten times the size of this package, and the plugin runs inside of it.
 */
export interface OpenClawApi {
  readonly id?: string
  /**
   * Why the plugin was loaded. A process loads it several times, and hooks of more than one load are called. Sessions and the
   * gateway call those of `full`, runs of the agent those of a later `discovery`.
   */
  readonly registrationMode?: string
  readonly config?: unknown
  /** `plugins.entries.<id>.config`. */
  readonly pluginConfig?: unknown
  readonly runtime?: OpenClawRuntime
  readonly lifecycle?: { onDispose?(dispose: () => void): unknown }
  on(hook: string, handler: OpenClawHandler): unknown
}

/**
 * A hook handler. The host calls handlers in sequence or in parallel and awaits some. The handlers here return undefined, or the
 * promise of a flush.
 */
export type OpenClawHandler = (event: unknown, context: unknown) => Promise<void> | undefined

/** Runtime services of OpenClaw. */
export interface OpenClawRuntime {
  readonly events?: {
    /** Calls listeners in order and catches their errors. Returns the function that ends the subscription. */
    onAgentEvent?(listener: (event: OpenClawAgentEvent) => void): unknown
  }
}

/** One event of a run. On some events, the session ids are not enumerable. */
export interface OpenClawAgentEvent {
  readonly runId?: unknown
  readonly stream?: unknown
  readonly data?: unknown
  readonly sessionKey?: unknown
  readonly sessionId?: unknown
  readonly agentId?: unknown
}

/** The export of a plugin module. The host's `definePluginEntry` returns this and a schema, which the manifest contains. */
export interface OpenClawPlugin {
  readonly id: string
  readonly name: string
  readonly description: string
  register(api: OpenClawApi): void
}

/** Returns true if the configuration allows conversation hooks: registering a forbidden hook makes the host warn at each load. */
export function mayReadConversation({ config }: Pick<OpenClawApi, 'config'>, id: string): boolean {
  if (config === undefined) return true
  const entry = peek(peek(peek(config, 'plugins'), 'entries'), id)
  return peek(peek(entry, 'hooks'), 'allowConversationAccess') === true
}

/** Adds a listener to the agent events, until the host disposes of the plugin. */
export function onAgentEvents(api: Omit<OpenClawApi, 'on'>, listener: (event: OpenClawAgentEvent) => void): void {
  const unsubscribe = api.runtime?.events?.onAgentEvent?.(listener)
  if (typeof unsubscribe === 'function') api.lifecycle?.onDispose?.(() => void unsubscribe())
}

/** Load modes in which nothing runs and every use of the API throws. */
export const LIFELESS_MODES: ReadonlySet<unknown> = new Set(['setup-only', 'cli-metadata'])

import { peek } from '../../contract/foreign.ts'

/**
 * The subset of the host's types that this adapter uses, read from `@opencode-ai/plugin` 1.18.33. Values that only pass through
 * are `unknown`: actual bus events differ from their types.
 */

/** A client of opencode's API, passed to every plugin. */
export interface Client {
  readonly app?: { log?(options: { readonly body: object }): unknown }
}

/** The input that opencode passes to a plugin. */
export interface PluginInput {
  readonly directory?: string
  readonly client?: Client
}

/** The input of hooks about a conversation. */
export interface ChatInput {
  readonly sessionID?: string
  readonly agent?: unknown
}

/** The functions of a plugin that opencode calls. */
export interface Hooks {
  event(input: { readonly event: { readonly type: string; readonly properties?: unknown } }): Promise<void>
  'chat.message'(input: ChatInput, output: unknown): Promise<void>
  'chat.params'(input: ChatInput, output: unknown): Promise<void>
  'chat.headers'(input: ChatInput, output: { headers: Record<string, string> }): Promise<void>
  'shell.env'(
    input: { readonly sessionID?: string; readonly callID?: string },
    output: { env: Record<string, string> },
  ): Promise<void>
  dispose(): Promise<void>
}

/** `options` are those of `["…", {…}]` in `opencode.json`. */
export type OpencodePlugin = (input: PluginInput, options?: Readonly<Record<string, unknown>>) => Promise<Hooks>

type Say = (line: string) => void

/**
 * Returns a writer to opencode's log if opencode draws on the terminal, where a line on stderr would corrupt the screen.
 * Returns undefined otherwise: `run`, `serve`, and servers of other programs. Plugins run in a worker in terminal mode, and in
 * the main thread in all other modes.
 */
export function screenReporter(client: Client | undefined): Say | undefined {
  if (peek(Reflect.get(globalThis, 'Bun'), 'isMainThread') !== false) return undefined
  return line => {
    const answer = client?.app?.log?.({ body: { service: 'hookspan', level: 'warn', message: line } })
    // Not awaited: the call would wait for startup. An unhandled rejection would end opencode.
    if (answer instanceof Promise) answer.catch(() => undefined)
  }
}

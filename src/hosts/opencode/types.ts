/**
 * What we need of a host's types, read from `@opencode-ai/plugin` 1.18.33. Values that only pass through are unknown:
 * the bus sends other things than its types say.
 */

/** Of opencode's own API, to which it gives every plugin a client. */
export interface Client {
  readonly app?: { log?(options: { readonly body: object }): unknown }
}

/** What opencode gives a plugin. */
export interface PluginInput {
  readonly directory?: string
  readonly client?: Client
}

/** Of what a hook about a conversation is told. */
export interface ChatInput {
  readonly sessionID?: string
  readonly agent?: unknown
}

/** What opencode calls. */
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

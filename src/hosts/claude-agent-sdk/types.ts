/**
 * What this adapter needs of `@anthropic-ai/claude-agent-sdk`, read from 0.3.330 (`sdk.d.ts`, and the events of real runs).
 * Structural: the package is not imported, and nothing is trusted to be there.
 *
 * Raw events, as captures hold them (`HostEvent`):
 *
 * - `hook.<HookEvent>`: `data` is the input of the hook callback, `tool_use_id` its second argument.
 * - `msg.<type>` or `msg.<type>.<subtype>`: `data` is a message of the query, as the application reads it.
 * - `canUseTool`: `data` is `{n: tool name, i: its input}` and what the SDK says of the call (`toolUseID`, `title`, …).
 * - `canUseTool.end`: `data` is `{toolUseID, r: the answer}`; without `r` when the callback threw.
 * - `iterator.end`, `iterator.error` (`data` is `{name, aborted}`), `iterator.return` (the application left): no more messages.
 *
 * `context` is `{query}`, an id of our own: what has no session id belongs to the query.
 */

/** A hook callback: what it returns can change what the agent does; `{}` says nothing. */
export type HookCallback = (
  input: unknown,
  toolUseId: string | undefined,
  options: unknown,
) => Promise<Readonly<Record<string, never>>>

export interface HookMatcher {
  readonly hooks: readonly HookCallback[]
}

/** Answers whether a tool may run. */
export type CanUseTool = (toolName: string, input: unknown, details: unknown) => unknown

/** The part of `Options` that is added to. */
export interface QueryOptions {
  readonly hooks?: Readonly<Record<string, unknown>>
  readonly canUseTool?: unknown
}

/** `query()` itself: what it takes and returns is handed through as it is. */
export type QueryFunction = (...parameters: never[]) => object

/** Tells the machine one event. */
export type Tell = (event: string, data: unknown, toolUseId?: string) => void

/**
 * The hook payloads and session file findings of Gemini CLI, read from 0.61.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`BeforeTool`, …): `data` is the hook's payload, `at` its own timestamp.
 * - `session:…`: findings of `receiver-adapter.ts` in the session's files, see below. They follow the hook that triggered the read. That
 *   hook is processed after them, so that a request precedes the tools it asked for. A session file is written before the next
 *   hook fires, so the read never waits.
 *
 * Times in `data` are epoch milliseconds.
 */

export interface GeminiFileOwner {
  readonly session_id: string
  readonly agent_id?: string | undefined
}

/** `session:sent`: input to the model, either a prompt or results of tools. */
export interface GeminiInput extends GeminiFileOwner {
  /** The text of a prompt; undefined for results. */
  readonly text?: string | undefined
}

/** `session:answer`: a complete answer of the model. Its tool calls are written when they have run. */
export interface GeminiAnswer extends GeminiFileOwner {
  readonly id: string
  readonly model: string
  readonly content?: unknown
  /** `input`, `output`, `cached`, `thoughts`, `tool`. */
  readonly tokens?: unknown
}

export interface GeminiAnswerCalls extends GeminiFileOwner {
  readonly id: string
  readonly answered_at: number
  readonly calls: readonly GeminiRecordedCall[]
}

export interface GeminiRecordedCall {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
  /** `success`, `error`, `cancelled`. */
  readonly status: unknown
  /** The error of an unsuccessful call; results of others come from the hook. */
  readonly error?: unknown
  readonly display?: unknown
  readonly at?: number | undefined
}

/** `session:error`: a request failed finally. Written in the terminal UI, not by `gemini -p`. */
export interface GeminiError extends GeminiFileOwner {
  readonly id: string
  readonly message: unknown
}

/** `session:cancelled`: the user has stopped the turn, or denied a tool, which stops the turn. */
export interface GeminiCancellation extends GeminiFileOwner {
  readonly id: string
}

export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
])

/**
 * Hooks that add nothing to others. `PreCompress` fires before each request, even if nothing is compressed, and `AfterModel` for
 * each chunk.
 */
export const QUIET_HOOKS: readonly string[] = ['BeforeModel', 'BeforeToolSelection', 'AfterModel', 'PreCompress']

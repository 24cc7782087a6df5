/**
 * What Gemini CLI gives to its hooks and writes into its session files, read from 0.61.0 (real runs).
 *
 * Raw events, as captures hold them (`HostEvent`):
 *
 * - the name of a hook (`BeforeTool`, …): `data` is what the hook is given, `at` when it fired, as it says itself.
 * - `session:…`: what `inlet.ts` has found in the files of the session, below. They come behind the hook that had the files
 *   read, which is taken when they have: a request is told before the tool that it asked for.
 *
 * A session file is written before the next hook fires, so nothing of it is waited for. Times in `data` are epoch milliseconds.
 */

/** Which file something stood in: that of the session, or of a child agent. */
export interface Whose {
  readonly session_id: string
  readonly agent_id?: string | undefined
}

/** `session:sent`: something is sent to the model, a prompt or results of tools. */
export interface SentFound extends Whose {
  /** Of a prompt. */
  readonly text?: string | undefined
}

/** `session:answer`: a whole answer of the model. What tools it asks for is written when they have run. */
export interface AnswerFound extends Whose {
  readonly id: string
  /** That was asked for. */
  readonly model: string
  readonly content?: unknown
  /** `input`, `output`, `cached`, `thoughts`, `tool`. */
  readonly tokens?: unknown
}

/** `session:calls`: the tools that an answer has asked for; all of them are over. */
export interface CallsFound extends Whose {
  /** Of the answer. */
  readonly id: string
  /** When it came. */
  readonly answered_at: number
  readonly calls: readonly CallFound[]
}

export interface CallFound {
  readonly id: string
  readonly name: unknown
  readonly args: unknown
  /** `success`, `error`, `cancelled`. */
  readonly status: unknown
  /** Where it was no success: the hook tells the others. */
  readonly error?: unknown
  /** What the terminal shows of that. */
  readonly display?: unknown
  readonly at?: number | undefined
}

/** `session:error`: a request failed, for good. Written in the terminal, not by `gemini -p`. */
export interface ErrorFound extends Whose {
  readonly id: string
  readonly message: unknown
}

/** `session:cancelled`: a person has stopped the turn, or refused a tool, which stops it. */
export interface CancelFound extends Whose {
  readonly id: string
}

/** Hooks before which the files are read. */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
])

/**
 * Hooks that say nothing which is not known from others. `PreCompress` fires before each request, whether anything is
 * compressed or not, and `AfterModel` for each chunk.
 */
export const QUIET_HOOKS: readonly string[] = ['BeforeModel', 'BeforeToolSelection', 'AfterModel', 'PreCompress']

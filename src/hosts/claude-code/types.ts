/**
 * What Claude Code sends to its hooks and writes into its transcripts, read from 2.1.330 (real runs).
 *
 * Raw events, as captures hold them (`HostEvent`):
 *
 * - the name of a hook (`PreToolUse`, …): `data` is what the hook is given, and `session_id` in it the session.
 *   `context` is `{traceparent}` where the process was started in a span of somebody's.
 * - `transcript:…`: what `inlet.ts` has found in the files of the session, below. `data` has the `session_id`, and the
 *   `agent_id` where it is of a child agent. They come behind the hook that had the files read, which is taken when they
 *   have: a request is told before the tool that it asked for.
 *
 * Times in `data` are epoch milliseconds, as the transcript says them.
 */

/** Which session, turn and agent something of a transcript is about. */
export interface Whose {
  readonly session_id: string
  readonly agent_id?: string | undefined
  readonly prompt_id?: string | undefined
}

/** `transcript:prompt`: the beginning of a turn, told where no hook has: nobody listened yet. */
export interface PromptFound extends Whose {
  readonly at: number
  readonly prompt: unknown
}

/** `transcript:request`: one that has no answer yet. A tool of it may run already: answers are written when they are whole. */
export interface RequestFound extends Whose {
  /** Undefined where nothing was told since the turn began. */
  readonly started_at?: number | undefined
  /** It is not written yet; that there is one is known from its tool. */
  readonly start_is_guessed?: boolean | undefined
  readonly model?: unknown
}

/** `transcript:response`: one whole answer of the model, however many lines it was written in. */
export interface ResponseFound extends Whose {
  /** The model provider's: one for each answer. */
  readonly message_id: string
  readonly model?: unknown
  readonly stop_reason?: unknown
  /** Anthropic's, as it stands on each line. */
  readonly usage?: unknown
  /** Content blocks without what the model thought. */
  readonly content: readonly unknown[]
  /** When the request was sent; undefined where nothing says it. */
  readonly started_at?: number | undefined
  /** It is the time of what the request answers, because the transcript does not say when it was sent. */
  readonly start_is_guessed?: boolean | undefined
  readonly ended_at: number
}

/** `transcript:failure`: an attempt that failed. */
export interface FailureFound extends Whose {
  /** Of the line. */
  readonly line_id: string
  readonly started_at?: number | undefined
  readonly at: number
  readonly model?: unknown
  readonly status?: unknown
  readonly error?: unknown
  readonly message?: unknown
  /** Undefined where there is no further attempt. */
  readonly retry_in_ms?: unknown
  readonly max_retries?: unknown
}

/** `transcript:interrupted`: a person has stopped the turn, of which no hook tells. */
export interface InterruptionFound extends Whose {
  readonly line_id: string
  readonly at: number
  /** When the request was sent that had no answer yet. */
  readonly started_at?: number | undefined
  readonly model?: unknown
}

/** `transcript:stopped`: the turn is over, in case its hook was not heard. */
export interface StopFound extends Whose {
  readonly at: number
  readonly last_assistant_message?: unknown
}

/** `transcript:agent`: the tool call that a child agent belongs to. */
export interface AgentFound {
  readonly session_id: string
  readonly agent_id: string
  readonly tool_use_id: string
}

/** `transcript:result`: the result of a tool call of which no hook has reported the end. */
export interface ResultFound extends Whose {
  readonly tool_use_id: string
  readonly at: number
  /** When the hook of its start was fired, if that hook timed out. */
  readonly started_at?: number | undefined
  readonly is_error?: boolean | undefined
  /** `permission-rule`, `user-rejected`, `automode-…`, `interrupted`, `cancelled`; undefined if the tool was not refused. */
  readonly denial?: unknown
  readonly response: unknown
}

/** `transcript:read`: that was all there is. */
export interface ReadOver {
  readonly session_id: string
  /** A hook of somebody else's has the agent go on, though it had stopped. */
  readonly goes_on?: boolean | undefined
}

/**
 * Hooks before which the files are read: what they say is taken behind what is found. Where no file is read, as in a
 * replay of hooks alone, they are taken with the event that follows.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolBatch', 'SubagentStart', 'SubagentStop'],
  ...['Stop', 'StopFailure', 'SessionEnd'],
])

/** The same, for a tool of which nothing was heard before. */
export const READS_UNHEARD: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure'])

/** Hooks that say nothing which is not known from others, or nothing of a turn. */
export const QUIET_HOOKS: readonly string[] = [
  ...['Setup', 'InstructionsLoaded', 'UserPromptExpansion', 'MessageDisplay', 'Notification', 'PreModelSwitch'],
  ...['TeammateIdle', 'TaskCreated', 'TaskCompleted', 'Elicitation', 'ElicitationResult', 'ConfigChange'],
  ...['CwdChanged', 'FileChanged', 'DirectoryAdded', 'WorktreeCreate', 'WorktreeRemove'],
]

/**
 * The hook payloads and transcript findings of Claude Code, read from 2.1.330 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload, with the session in `session_id`. `context` is
 *   `{traceparent}` if the process was started inside a span.
 * - `transcript:…`: findings of `receiver-adapter.ts` in the session's files, see below. `data` has the `session_id`, and the
 *   `agent_id` for a child agent. They follow the hook that triggered the read. That hook is processed after them, so that a request precedes
 *   the tools it asked for.
 *
 * Times in `data` are epoch milliseconds, from the transcript.
 */

export interface FindingOwner {
  readonly session_id: string
  readonly agent_id?: string | undefined
  readonly prompt_id?: string | undefined
}

/** `transcript:prompt`: the beginning of a turn whose hook was not received, for example before the receiver started. */
export interface TranscriptPrompt extends FindingOwner {
  readonly at: number
  readonly prompt: unknown
}

/** `transcript:request`: a request without an answer. Its tools may already run: answers are written when they are complete. */
export interface TranscriptRequest extends FindingOwner {
  /** Undefined if no time was recorded since the turn began. */
  readonly started_at?: number | undefined
  readonly start_is_guessed?: boolean | undefined
  readonly model?: unknown
}

/** `transcript:response`: one complete answer of the model, merged from all its lines. */
export interface TranscriptResponse extends FindingOwner {
  readonly message_id: string
  readonly model?: unknown
  readonly stop_reason?: unknown
  /** Anthropic's usage object, repeated on each line. */
  readonly usage?: unknown
  /** Content blocks without the model's thinking. */
  readonly content: readonly unknown[]
  readonly started_at?: number | undefined
  /** The start is the time of the preceding prompt or result, because the transcript lacks the time of sending. */
  readonly start_is_guessed?: boolean | undefined
  readonly ended_at: number
}

export interface TranscriptFailure extends FindingOwner {
  readonly line_id: string
  readonly started_at?: number | undefined
  readonly at: number
  readonly model?: unknown
  readonly status?: unknown
  readonly error?: unknown
  readonly message?: unknown
  /** Undefined if the attempt is not retried. */
  readonly retry_in_ms?: unknown
  readonly max_retries?: unknown
}

/** `transcript:interrupted`: the user has stopped the turn, which no hook reports. */
export interface TranscriptInterruption extends FindingOwner {
  readonly line_id: string
  readonly at: number
  readonly started_at?: number | undefined
  readonly model?: unknown
}

/** `transcript:stopped`: the end of the turn, in case its hook was not received. */
export interface TranscriptStop extends FindingOwner {
  readonly at: number
  readonly last_assistant_message?: unknown
}

/** `transcript:agent`: the tool call that a child agent belongs to. */
export interface TranscriptAgent {
  readonly session_id: string
  readonly agent_id: string
  readonly tool_use_id: string
}

/** `transcript:result`: the result of a tool call whose end no hook has reported. */
export interface TranscriptToolResult extends FindingOwner {
  readonly tool_use_id: string
  readonly at: number
  /** When the start hook was fired, if it timed out. */
  readonly started_at?: number | undefined
  readonly is_error?: boolean | undefined
  /** `permission-rule`, `user-rejected`, `automode-…`, `interrupted`, `cancelled`; undefined if the tool was not denied. */
  readonly denial?: unknown
  readonly response: unknown
}

/** `transcript:read`: the end of the findings. */
export interface TranscriptRead {
  readonly session_id: string
  /** A hook of another program made the agent go on after a stop. */
  readonly goes_on?: boolean | undefined
}

/**
 * Hooks before which the files are read; they are processed after the findings. If no file is read, for example in a replay of
 * hooks alone, they are processed with the next event.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolBatch', 'SubagentStart', 'SubagentStop'],
  ...['Stop', 'StopFailure', 'SessionEnd'],
])

/** Further hooks with the same effect, for a tool whose start was not received. */
export const READS_IF_UNKNOWN: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure'])

/** Hooks that add nothing to others, or nothing about a turn. */
export const QUIET_HOOKS: readonly string[] = [
  ...['Setup', 'InstructionsLoaded', 'UserPromptExpansion', 'MessageDisplay', 'Notification', 'PreModelSwitch'],
  ...['TeammateIdle', 'TaskCreated', 'TaskCompleted', 'Elicitation', 'ElicitationResult', 'ConfigChange'],
  ...['CwdChanged', 'FileChanged', 'DirectoryAdded', 'WorktreeCreate', 'WorktreeRemove'],
]

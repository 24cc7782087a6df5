/**
 * The hook payloads and transcript findings of Claude Code, read from 2.1.330 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload, with the session in `session_id`. `context` is
 *   `{traceparent}` if the process was started inside a span.
 * - `transcript:…`: findings of `receiver-adapter.ts` in the session's files. They follow the hook that triggered the read. That
 *   hook is processed after them, so that a request precedes the tools it asked for.
 *
 * All findings have `session_id`, `agent_id` for a child agent, and `prompt_id`. Times are epoch milliseconds, from the
 * transcript.
 *
 * - `transcript:prompt` {at, prompt}: the beginning of a turn whose hook was not received, for example before the receiver
 *   started.
 * - `transcript:request` {started_at, start_is_guessed, model}: a request without an answer. Its tools may already run: answers
 *   are written when they are complete. `started_at` is absent if no time was recorded since the turn began.
 * - `transcript:response`, `transcript:result`: see below.
 * - `transcript:failure` {line_id, started_at, at, model, status, error, message, retry_in_ms, max_retries}: `retry_in_ms` is
 *   absent if the attempt is not retried.
 * - `transcript:interrupted` {line_id, at, started_at, model}: the user has stopped the turn, which no hook reports.
 * - `transcript:stopped` {at, last_assistant_message}: the end of the turn, in case its hook was not received.
 * - `transcript:agent` {agent_id, tool_use_id}: the tool call that a child agent belongs to.
 * - `transcript:read` {goes_on}: the end of the findings.
 */

import type { FindingOwner } from '../base/findings.ts'

export interface TranscriptOwner extends FindingOwner {
  readonly prompt_id?: string | undefined
}

/** `transcript:response`: one complete answer of the model, merged from all its lines. */
export interface TranscriptResponse extends TranscriptOwner {
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

/** `transcript:result`: the result of a tool call whose end no hook has reported. */
export interface TranscriptToolResult extends TranscriptOwner {
  readonly tool_use_id: string
  readonly at: number
  /** When the start hook was fired, if it timed out. */
  readonly started_at?: number | undefined
  readonly is_error?: boolean | undefined
  /** `permission-rule`, `user-rejected`, `automode-…`, `interrupted`, `cancelled`; undefined if the tool was not denied. */
  readonly denial?: unknown
  readonly response: unknown
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

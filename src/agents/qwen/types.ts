/**
 * The differences between Qwen Code and Claude Code, read from 0.24.4 (real runs).
 *
 * Qwen Code has Claude Code's hook protocol and is translated by the same machine. Findings in its transcripts have the same
 * shapes (`../claude-code/types.ts`). Differences:
 *
 * - `tool_use_id` is generated for each hook. `tool_call_id` identifies the call, also in `PostToolBatch`, which has the call's
 *   status.
 * - A transcript has a line for each request, with its times and tokens. It includes requests of child agents and of Qwen Code's
 *   internal agents.
 * - The results of background agents are processed in a turn of the same `prompt_id`, which no hook begins.
 */

/** The `usage` of a `transcript:response`. */
export interface TokensFound {
  readonly input: unknown
  readonly output: unknown
  readonly cached: unknown
  readonly thoughts: unknown
}

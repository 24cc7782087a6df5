/**
 * What Qwen Code sends to its hooks and writes into its transcripts, read from 0.24.4 (real runs). It speaks as Claude Code
 * does, so its machine is that one, and what is found in its transcripts is told in the same words
 * (`../claude-code/types.ts`). What is different:
 *
 * - `tool_use_id` is made up for each hook; `tool_call_id` is the call's, also in `PostToolBatch`, which says how it ended.
 * - A transcript has a line for each request, with its times and tokens, also for those of child agents and of agents that
 *   Qwen Code uses for itself.
 * - The results of background agents are taken up in a turn of the same `prompt_id`, which no hook begins.
 */

/** `usage` of a `transcript:response`. */
export interface TokensFound {
  readonly input: unknown
  readonly output: unknown
  readonly cached: unknown
  readonly thoughts: unknown
}

/**
 * The hook payloads and session file findings of Gemini CLI, read from 0.61.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`BeforeTool`, …): `data` is the hook's payload, `at` its own timestamp.
 * - `session:…`: findings of `receiver-adapter.ts` in the session's files. They follow the hook that triggered the read. That
 *   hook is processed after them, so that a request precedes the tools it asked for. A session file is written before the next
 *   hook fires, so the read never waits.
 *
 * All findings have `session_id`, and `agent_id` in a child agent. Times are epoch milliseconds.
 *
 * - `session:sent` {text}: input to the model, either a prompt or results of tools, which have no text.
 * - `session:answer` {id, model, content, tokens: {input, output, cached, thoughts, tool}}: a complete answer of the model. Its
 *   tool calls are written when they have run.
 * - `session:calls` {id, answered_at, calls: [{id, name, args, status, error, display, at}]}: `status` is `success`, `error` or
 *   `cancelled`. Only unsuccessful calls have an error; results of others come from the hook.
 * - `session:error` {id, message}: a request failed finally. Written in the terminal UI, not by `gemini -p`.
 * - `session:cancelled` {id}: the user has stopped the turn, or denied a tool, which stops the turn.
 * - `session:read`: the end of the findings.
 */

export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
])

/**
 * Hooks that add nothing to others. `PreCompress` fires before each request, even if nothing is compressed, and `AfterModel` for
 * each chunk.
 */
export const QUIET_HOOKS: readonly string[] = ['BeforeModel', 'BeforeToolSelection', 'AfterModel', 'PreCompress']

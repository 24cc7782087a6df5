/**
 * The hook payloads and rollout findings of Codex, read from 0.169.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload. Its `session_id` is that of the user's session even in a
 *   child agent, whose hooks have an `agent_id` and their own turns.
 * - `rollout:…`: findings of `receiver-adapter.ts` in the rollout. They follow the hook that triggered the read. That hook is
 *   processed after them, so that a request precedes the tools it asked for.
 *
 * All findings have `session_id`, `agent_id` in a child agent, and `turn_id`. Those of requests have `started_at`, `model` and
 * `provider`: the rollout has a line when a request's input is complete, and none when it is sent. Times are epoch milliseconds,
 * from the rollout.
 *
 * - `rollout:call` {call_id, name, arguments, at}: a tool that the model requested, in an answer that may be incomplete. The name
 *   may differ from that in hooks: `exec_command` is `Bash` there.
 * - `rollout:answer` {response_id, usage, text, calls, ended_at}: `usage` is that of this answer alone; its input includes the
 *   cache. Only the token line contains `response_id`, so it is absent if the provider counts no tokens.
 * - `rollout:failure` {at, error: {type, message}, status}: the request at which a turn has failed. Earlier attempts that were
 *   retried are not in the rollout.
 * - `rollout:item` {call_id, at, status, exit_code, ran_at, agents: [{id, role}]}: the status of a tool, as Codex displays it.
 *   Not all tools have one. `ran_at` is when execution began, without the wait for an approval.
 * - `rollout:output` {call_id, at, output}
 * - `rollout:over` {at, outcome, reason, text}: the end of the turn, `completed`, `failed` or `interrupted`.
 * - `rollout:read` {goes_on}: the end of the findings.
 */

/**
 * Hooks before which the rollout is read; they are processed after the findings. If none is read, for example in a replay of
 * hooks alone, they are processed with the next event.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostCompact', 'SubagentStop', 'Stop', 'Interrupt'],
  ...['SessionEnd', 'SubagentStart'],
])

/**
 * The hook payloads and rollout findings of Codex, read from 0.169.0 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload. Its `session_id` is that of the user's session even in a
 *   child agent, whose hooks have an `agent_id` and their own turns.
 * - `rollout:…`: findings of `receiver-adapter.ts` in the rollout, see below. They follow the hook that triggered the read. That hook is
 *   processed after them, so that a request precedes the tools it asked for.
 *
 * Times in `data` are epoch milliseconds, from the rollout.
 */

export interface RolloutOwner {
  readonly session_id: string
  readonly agent_id?: string | undefined
  readonly turn_id: string
}

/** A finding about a request. The rollout has a line when a request's input is complete, and none when it is sent. */
interface RolloutRequest extends RolloutOwner {
  readonly started_at: number
  readonly model?: unknown
  readonly provider?: unknown
}

/** `rollout:call`: a tool that the model requested. The answer may be incomplete. */
export interface RolloutCall extends RolloutRequest {
  readonly call_id: string
  /** May differ from the name in hooks: `exec_command` is `Bash` there. */
  readonly name: unknown
  readonly arguments: unknown
  readonly at: number
}

export interface RolloutAnswer extends RolloutRequest {
  /** The model provider's id. Absent if the provider counts no tokens, because only the token line contains it. */
  readonly response_id?: unknown
  /** Usage of this answer alone; the input includes the cache. */
  readonly usage?: unknown
  readonly text?: string | undefined
  readonly calls: readonly object[]
  readonly ended_at: number
}

/** `rollout:failure`: the request at which a turn has failed. Earlier attempts that were retried are not in the rollout. */
export interface RolloutFailure extends RolloutRequest {
  readonly at: number
  readonly error: { readonly type: string; readonly message?: string | undefined }
  readonly status?: number | undefined
}

/** `rollout:item`: the status of a tool, as Codex displays it. Not all tools have one. */
export interface RolloutItem extends RolloutOwner {
  readonly call_id: string
  readonly at: number
  readonly status?: unknown
  readonly exit_code?: unknown
  /** When execution began, without the wait for an approval. */
  readonly ran_at?: number | undefined
  readonly agents?: readonly { readonly id: unknown; readonly role: unknown }[] | undefined
}

export interface RolloutOutput extends RolloutOwner {
  readonly call_id: string
  readonly at: number
  readonly output?: unknown
}

export interface RolloutTurnEnd extends RolloutOwner {
  readonly at: number
  readonly outcome: 'completed' | 'failed' | 'interrupted'
  readonly reason?: string | undefined
  readonly text?: unknown
}

export interface RolloutRead {
  readonly session_id: string
  /** A hook of another program made the agent go on after a stop. */
  readonly goes_on?: boolean | undefined
}

export interface RolloutFindings {
  readonly call: RolloutCall
  readonly answer: RolloutAnswer
  readonly failure: RolloutFailure
  readonly item: RolloutItem
  readonly output: RolloutOutput
  readonly over: RolloutTurnEnd
}

/**
 * Hooks before which the rollout is read; they are processed after the findings. If none is read, for example in a replay of
 * hooks alone, they are processed with the next event.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostCompact', 'SubagentStop', 'Stop', 'Interrupt'],
  ...['SessionEnd', 'SubagentStart'],
])

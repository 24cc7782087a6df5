/**
 * What Codex sends to its hooks and writes into its rollouts, read from 0.169.0 (real runs).
 *
 * Raw events, as captures hold them (`HostEvent`):
 *
 * - the name of a hook (`PreToolUse`, …): `data` is what the hook is given. `session_id` in it is that of the person's
 *   session also in a child agent, whose hooks have an `agent_id` and turns of their own.
 * - `rollout:…`: what `inlet.ts` has found in the rollout, below. They come behind the hook that had it read, which is taken
 *   when they have: a request is told before the tool that it asked for.
 *
 * Times in `data` are epoch milliseconds, as the rollout says them.
 */

/** Which turn something of a rollout is about. */
export interface Whose {
  readonly session_id: string
  readonly agent_id?: string | undefined
  readonly turn_id: string
}

/** Of a request. The rollout has a line when what it sends is complete, none when it is sent. */
interface OfRequest extends Whose {
  readonly started_at: number
  readonly model?: unknown
  readonly provider?: unknown
}

/** `rollout:call`: a tool that the model asks for. Its answer may not be over yet. */
export interface CallFound extends OfRequest {
  readonly call_id: string
  /** Not always what hooks call it: `exec_command` is their `Bash`. */
  readonly name: unknown
  /** JSON text, mostly. */
  readonly arguments: unknown
  readonly at: number
}

/** `rollout:answer`: one whole answer of the model. */
export interface AnswerFound extends OfRequest {
  /** The model provider's. Absent where the provider counts no tokens, and so nothing says it. */
  readonly response_id?: unknown
  /** Of this answer alone; the input includes the cache. */
  readonly usage?: unknown
  readonly text?: string | undefined
  readonly calls: readonly object[]
  readonly ended_at: number
}

/** `rollout:failure`: the request that a turn has failed at; those before it, that were made again, are nowhere. */
export interface FailureFound extends OfRequest {
  readonly at: number
  readonly error: { readonly type: string; readonly message?: string | undefined }
  readonly status?: number | undefined
}

/** `rollout:item`: what became of a tool, as Codex keeps it for its screen. Not all tools have one. */
export interface ItemFound extends Whose {
  readonly call_id: string
  readonly at: number
  /** `completed`, `failed`, `declined` */
  readonly status?: unknown
  readonly exit_code?: unknown
  /** When what it runs began, without the wait for somebody's approval. */
  readonly ran_at?: number | undefined
  /** Of a tool that starts child agents. */
  readonly agents?: readonly { readonly id: unknown; readonly role: unknown }[] | undefined
}

/** `rollout:output`: the result as it is sent to the model. */
export interface OutputFound extends Whose {
  readonly call_id: string
  readonly at: number
  readonly output?: unknown
}

/** `rollout:over`: the end of a turn. */
export interface OverFound extends Whose {
  readonly at: number
  readonly outcome: 'completed' | 'failed' | 'interrupted'
  readonly reason?: string | undefined
  readonly text?: unknown
}

/** `rollout:read`: that was all there is. */
export interface ReadOver {
  readonly session_id: string
  /** A hook of somebody else's has the agent go on, though it had stopped. */
  readonly goes_on?: boolean | undefined
}

/** By the name behind the colon. */
export interface Finds {
  readonly call: CallFound
  readonly answer: AnswerFound
  readonly failure: FailureFound
  readonly item: ItemFound
  readonly output: OutputFound
  readonly over: OverFound
}

/**
 * Hooks before which the rollout is read: what they say is taken behind what is found. Where none is read, as in a replay
 * of hooks alone, they are taken with the event that follows.
 */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostCompact', 'SubagentStop', 'Stop', 'Interrupt'],
  ...['SessionEnd', 'SubagentStart'],
])

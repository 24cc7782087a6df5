import type {
  ApiEnd,
  ApiError,
  ApiStart,
  ApprovalRequest,
  ApprovalResponse,
  Identity,
  SessionEnd,
  SessionStart,
  SubagentStart,
  ToolEnd,
  ToolStart,
  TurnAnswer,
  TurnStart,
} from '../contract/index.ts'

/** The ids of a turn, as the hooks spell them: for `emit`, `traceparent`, or a log of yours. */
export interface TurnIds {
  /** The conversation */
  readonly session_id: string
  /** The turn */
  readonly turn_id: string
}

/** The ids of a request, as the hooks spell them. */
export interface RequestIds extends TurnIds {
  /** The request; attempts at it share it */
  readonly api_request_id: string
  /** Which request of the turn it is, from 1; attempts at the same request share it. */
  readonly api_call_count: number
}

/** The ids of a tool call, as the hooks spell them. */
export interface ToolIds extends TurnIds {
  /** The call */
  readonly tool_call_id: string
  /** The request that asked for the tool; absent when the turn has made none. */
  readonly api_request_id?: string
}

/**
 * Fields of `on_session_start` and `pre_llm_call`. An id that is left out is made. Turns with the same `session_id` are one
 * conversation; they come one after the other: a turn that begins ends the one before it as interrupted.
 */
export type TurnOptions = Omit<SessionStart & TurnStart, Exclude<keyof Identity, keyof TurnIds>>

/**
 * Fields of `pre_api_request`. The same `api_request_id` as before makes it the next attempt at that request: a retry.
 */
export type RequestOptions = Omit<ApiStart, Exclude<keyof Identity, 'api_request_id'>>

/** Fields of `pre_tool_call`. `api_request_id` is the request that asked for it; without it, the one begun last. */
export type ToolOptions = Omit<ToolStart, 'args' | Exclude<keyof Identity, 'api_request_id' | 'tool_call_id'>>

/** Fields of `pre_approval_request`. */
export type ApprovalOptions = Omit<ApprovalRequest, keyof Identity>

/** Fields of `subagent_start`, and those of the child's turn. Its message is the `child_goal` unless it has one. */
export type SubagentOptions = Pick<
  SubagentStart,
  'child_role' | 'child_goal' | 'child_session_id' | 'child_subagent_id'
> &
  Omit<TurnOptions, keyof TurnIds | 'parent_session_id'>

/**
 * Says how something ended, in the fields of its hook, where what the function returns does not say it. It ends there and
 * then; only the first end counts.
 */
export type End<Fields> = (fields?: Omit<Fields, keyof Identity>) => void

/** What a turn and a tool have in common: what may be done in them. */
export interface Work {
  /**
   * One attempt at a model request. What `run` returns is read for usage, finish reason, model and message, in the shapes of
   * OpenAI, Anthropic, Gemini, the AI SDK, LangChain and Ollama; what it throws makes the attempt a failed one.
   *
   * @example const reply = await turn.request({ model, messages }, () => openai.chat.completions.create({ model, messages }))
   */
  request<Result>(options: RequestOptions, run: (request: RequestHandle) => Result): Result
  /**
   * One tool call, by its name or by more of its fields. `run` is handed the arguments. What it throws makes the call a
   * failed one; an `AbortError` a cancelled, a `TimeoutError` a timed out one, which are no errors.
   *
   * @example const text = await turn.tool('read_file', { path: 'TODO' }, ({ path }) => readFile(path, 'utf8'))
   * @example await turn.tool({ tool_name: call.name, tool_call_id: call.id }, args, tools[call.name])
   */
  tool<Args, Result>(call: string | ToolOptions, args: Args, run: (args: Args, tool: ToolHandle) => Result): Result
  /**
   * The time that somebody takes to decide. `true` or `'allow'` grants, `false` or `'deny'` does not; another word is kept as
   * the choice: `once`, `session` and `always` grant.
   *
   * @example if (!(await tool.approval({ command }, () => askPerson(command)))) return 'denied'
   */
  approval<Result>(options: ApprovalOptions, run: (approval: ApprovalHandle) => Result): Result
  /**
   * A child agent: a turn of its own session, below this one in the same trace.
   *
   * @example const report = await tool.subagent({ child_role: 'scout', child_goal: goal }, child => runAgent(child, goal))
   */
  subagent<Result>(options: SubagentOptions, run: (child: TurnHandle) => Result): Result
}

/** What the function of a turn is handed, and that of a child agent. */
export interface TurnHandle extends Work {
  /** Of this turn */
  readonly ids: TurnIds
  /** Without `failed`, `interrupted` or `completed`, the turn has completed. `assistant_response` is the answer. */
  readonly end: End<TurnAnswer & SessionEnd>
}

/** What the function of a request is handed. */
export interface RequestHandle {
  /** Of this request */
  readonly ids: RequestIds
  /** With `error`, the attempt has failed; `retryable` says whether another one follows. */
  readonly end: End<ApiEnd & ApiError>
}

/** What is done in a tool is told with these methods and not with the turn's: then it stands below the tool. */
export interface ToolHandle extends Work {
  /** Of this call */
  readonly ids: ToolIds
  /** For example `{ status: 'blocked' }`, when it was not run. */
  readonly end: End<Omit<ToolEnd, 'tool_name' | 'args'>>
}

/** What the function of an approval is handed. */
export interface ApprovalHandle {
  /** Of the turn, or of the tool that waits */
  readonly ids: TurnIds
  /** What was decided, and by whom */
  readonly end: End<Pick<ApprovalResponse, 'choice' | 'decided_by'>>
}

/**
 * Runs a turn of your own agent: one user message, and all that follows from it until the answer. Ids and ends are made for
 * you, and told to `emit`.
 *
 * - What the function returns ends the turn as completed, and is its answer when it is text; what it throws ends it as failed,
 *   an `AbortError` as interrupted. `turn.end` says it otherwise.
 * - What it returns, you get; what it throws is thrown to you. Of a promise, you get one that settles the same way, or the
 *   very promise when it is more than a plain one. Nothing waits for us.
 * - Something that is still open when its turn ends is ended with it, and marked.
 * - A thenable that is no promise, such as a query that runs when it is awaited, is left alone: await it in the function.
 *
 * @example
 * const answer = await hooks.turn({ user_message: question }, async turn => {
 *   const reply = await turn.request({ model, messages }, () => callModel(messages))
 *   return reply.text
 * })
 */
export type RunTurn = <Result>(options: TurnOptions, run: (turn: TurnHandle) => Result) => Result

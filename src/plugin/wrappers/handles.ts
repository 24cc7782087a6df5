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
} from '../../contract/index.ts'

/** The ids of a turn, as the hooks spell them: for `emit`, `traceparent`, or your own log. */
export interface TurnIds {
  /** The conversation */
  readonly session_id: string
  /** The turn */
  readonly turn_id: string
}

/** The ids of a request, as the hooks spell them. */
export interface RequestIds extends TurnIds {
  /** The request. All attempts share it */
  readonly api_request_id: string
  /** The ordinal of the request in its turn, from 1. All attempts share it. */
  readonly api_call_count: number
}

/** The ids of a tool call, as the hooks spell them. */
export interface ToolIds extends TurnIds {
  /** The call */
  readonly tool_call_id: string
  /** The request that asked for the tool. Absent if the turn has made none. */
  readonly api_request_id?: string
}

/**
 * Fields of `on_session_start` and `pre_llm_call`. A missing id is generated. Turns with the same `session_id` form one
 * conversation. They run one after another: a new turn ends the previous one as interrupted.
 */
export type TurnOptions = Omit<SessionStart & TurnStart, Exclude<keyof Identity, keyof TurnIds>>

/** Fields of `pre_api_request`. A repeated `api_request_id` marks the next attempt at that request: a retry. */
export type RequestOptions = Omit<ApiStart, Exclude<keyof Identity, 'api_request_id'>>

/** Fields of `pre_tool_call`. `api_request_id` is the request that asked for the tool. Default: the latest one. */
export type ToolCallOptions = Omit<ToolStart, 'args' | Exclude<keyof Identity, 'api_request_id' | 'tool_call_id'>>

/** Fields of `pre_approval_request`. */
export type ApprovalOptions = Omit<ApprovalRequest, keyof Identity>

/** Fields of `subagent_start`, and those of the child's turn. `user_message` defaults to `child_goal`. */
export type SubagentOptions = Pick<
  SubagentStart,
  'child_role' | 'child_goal' | 'child_session_id' | 'child_subagent_id'
> &
  Omit<TurnOptions, keyof TurnIds | 'parent_session_id'>

/** Ends a span at once, with fields of its hook, if the function's result does not contain them. Only the first end counts. */
export type End<Fields> = (fields?: Omit<Fields, keyof Identity>) => void

/** The operations of a turn or a tool. */
export interface TurnOperations {
  /**
   * Runs one attempt at a model request. Usage, finish reason, model and message are read from the result of `run`, in the
   * formats of OpenAI, Anthropic, Gemini, the AI SDK, LangChain and Ollama. If `run` throws, the attempt has failed.
   *
   * @example const reply = await turn.request({ model, messages }, () => openai.chat.completions.create({ model, messages }))
   */
  request<Result>(options: RequestOptions, run: (request: RequestHandle) => Result): Result
  /**
   * Runs one tool call, given by its name or by more fields. `run` receives the arguments. If it throws, the call has failed.
   * An `AbortError` means cancelled and a `TimeoutError` timed out, which are not errors.
   *
   * @example const text = await turn.tool('read_file', { path: 'TODO' }, ({ path }) => readFile(path, 'utf8'))
   * @example await turn.tool({ tool_name: call.name, tool_call_id: call.id }, args, tools[call.name])
   */
  tool<Args, Result>(call: string | ToolCallOptions, args: Args, run: (args: Args, tool: ToolHandle) => Result): Result
  /**
   * Records the time until a decision. `true` or `'allow'` grants, `false` or `'deny'` denies. Any other word is recorded as
   * the choice: `once`, `session` and `always` grant.
   *
   * @example if (!(await tool.approval({ command }, () => askPerson(command)))) return 'denied'
   */
  approval<Result>(options: ApprovalOptions, run: (approval: ApprovalHandle) => Result): Result
  /**
   * Runs a child agent: a turn with its own session, below this span in the same trace.
   *
   * @example const report = await tool.subagent({ child_role: 'scout', child_goal: goal }, child => runAgent(child, goal))
   */
  subagent<Result>(options: SubagentOptions, run: (child: TurnHandle) => Result): Result
}

/** The argument of a turn's function, and of a child agent's. */
export interface TurnHandle extends TurnOperations {
  /** The ids of this turn */
  readonly ids: TurnIds
  /** Ends the turn as completed, unless `failed`, `interrupted` or `completed` is given. `assistant_response` is the answer. */
  readonly end: End<TurnAnswer & SessionEnd>
}

/** The argument of a request's function. */
export interface RequestHandle {
  /** The ids of this request */
  readonly ids: RequestIds
  /** Ends the attempt. With `error`, it has failed, and `retryable` shows whether another one follows. */
  readonly end: End<ApiEnd & ApiError>
}

/**
 * The argument of a tool's function. Use its methods instead of the turn's for work inside the tool, so that its spans become
 * children of the tool.
 */
export interface ToolHandle extends TurnOperations {
  /** The ids of this call */
  readonly ids: ToolIds
  /** Ends the call, for example with `{ status: 'blocked' }` if it was not run. */
  readonly end: End<Omit<ToolEnd, 'tool_name' | 'args'>>
}

/** The argument of an approval's function. */
export interface ApprovalHandle {
  /** The ids of the turn, or of the tool that waits */
  readonly ids: TurnIds
  /** Records the decision, and who made it */
  readonly end: End<Pick<ApprovalResponse, 'choice' | 'decided_by'>>
}

/**
 * Runs a turn of your own agent: one user message, and everything until the answer. Ids and ends are generated for you, and
 * reported through `emit`.
 *
 * - If the function returns, the turn has completed. A string result is its answer. If it throws, the turn has failed, or
 *   with an `AbortError`, was interrupted. `turn.end` overrides this.
 * - Results and exceptions are passed on to you. For a promise, you get one that settles the same way, or the same promise
 *   if it has methods of its own. Your code never waits for hookspan.
 * - If a span is still open when its turn ends, it is ended with the turn, and marked.
 * - A thenable that is not a promise, such as a query that runs when it is awaited, is not touched: await it in the
 *   function.
 *
 * @example
 * const answer = await hooks.turn({ user_message: question }, async turn => {
 *   const reply = await turn.request({ model, messages }, () => callModel(messages))
 *   return reply.text
 * })
 */
export type RunTurn = <Result>(options: TurnOptions, run: (turn: TurnHandle) => Result) => Result

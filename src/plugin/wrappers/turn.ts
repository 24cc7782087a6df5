import { randomUUID } from 'node:crypto'
import { idOf, ignoreErrors, ownValue, peek, pickFields, textOf } from '../../contract/foreign.ts'
import type {
  ApiEnd,
  ApiError,
  ApiStart,
  ApprovalRequest,
  ApprovalResponse,
  HookName,
  HookPayloads,
  Identity,
  SessionEnd,
  SessionStart,
  SubagentStart,
  SubagentStop,
  ToolEnd,
  ToolStart,
  TurnAnswer,
  TurnStart,
} from '../../contract/index.ts'
import { addFacts, answerOf } from './model-answer.ts'
import { settle } from './settle.ts'

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

type Emit = <Name extends HookName>(hook: Name, payload: HookPayloads[Name]) => unknown

interface Course {
  readonly emit: Emit
  readonly ids: TurnIds
  /** The ordinal of each request by its id, so that a retry has the ordinal of its request. */
  readonly requests: Map<string, number>
  made: number
}

function idIn(options: unknown, key: string, make: () => string): string {
  return idOf(peek(options, key)) ?? make()
}

function madeId(course: Course): string {
  course.made += 1
  return `${course.ids.turn_id}:${course.made}`
}

/** The user's fields, overwritten by our ids. If the fields cannot be read, the span is still recorded. */
function merged<Said, Ids extends object>(said: Said, ids: Ids): Said & Ids {
  return ignoreErrors(() => ({ ...said, ...ids })) ?? (ids as Said & Ids)
}

function picked<Said, Key extends keyof Said & string>(said: Said, keys: readonly Key[]): Pick<Said, Key> {
  return pickFields(said, keys) as Pick<Said, Key>
}

function once<Said>(tell: (said: Said) => void): (said: Said) => void {
  let isTold = false
  return said => {
    if (isTold) return
    isTold = true
    tell(said)
  }
}

function failureOf(error: unknown) {
  const name = textOf(peek(error, 'name'))
  const named = name === 'Error' ? undefined : name
  const ofClass = textOf(ownValue(peek(error, 'constructor'), 'name'))
  return {
    // The most specific name of an error: many error classes do not set `name`.
    type: textOf(peek(error, 'type')) ?? named ?? textOf(peek(error, 'code')) ?? (name && (ofClass ?? name)),
    message: textOf(peek(error, 'message')) ?? textOf(error),
    isAborted: name === 'AbortError' || peek(error, 'code') === 'ABORT_ERR',
    isTimeout: name === 'TimeoutError',
  }
}

type TurnEnding = TurnAnswer & SessionEnd

/** Creates a plugin's `turn`. It only uses `emit`, with hooks that a user could emit manually. */
export function turnsOf(emit: Emit): RunTurn {
  return (options, run) => runTurn(emit, options, run)
}

function runTurn<Result>(
  emit: Emit,
  options: TurnOptions,
  run: (turn: TurnHandle) => Result,
  over?: (said: TurnEnding) => unknown,
): Result {
  const ids = { session_id: idIn(options, 'session_id', randomUUID), turn_id: idIn(options, 'turn_id', randomUUID) }
  const { user_message, conversation_history, ...session } = merged(options, ids)
  emit('on_session_start', session)
  const asked = ['model', 'platform', 'sender_id', 'user_message', 'conversation_history'] as const
  emit('pre_llm_call', { ...picked(options, asked), ...ids })
  const end = once((said: TurnEnding) => {
    // A completed turn had an answer, even if it is unknown.
    const answer = picked(said, ['assistant_response', 'model'])
    const isCompleted = said.completed === true && said.failed !== true && said.interrupted !== true
    if (isCompleted || answer.assistant_response !== undefined) emit('post_llm_call', { ...answer, ...ids })
    const { assistant_response, ...ending } = merged(said, ids)
    emit('on_session_end', ending)
    over?.(said)
  })
  const work = workOf({ emit, ids, requests: new Map(), made: 0 })
  return settle(() => run({ ids, end: fields => end(withOutcome(merged(fields, {}))), ...work }), {
    ended: value => end({ completed: true, ...(textOf(value) !== undefined && { assistant_response: value }) }),
    failed(error) {
      const { type, isAborted } = failureOf(error)
      end({ ...(isAborted ? { interrupted: true } : { failed: true }), ...(type && { turn_exit_reason: type }) })
    },
  })
}

function withOutcome(said: TurnEnding): TurnEnding {
  const { completed, failed, interrupted } = said
  return (completed ?? failed ?? interrupted) === undefined ? { ...said, completed: true } : said
}

function workOf(course: Course, inside?: ToolIds): TurnOperations {
  const { emit, requests } = course
  const ids = inside ?? course.ids
  let asking = inside?.api_request_id
  return {
    request(options, run) {
      const id = idIn(options, 'api_request_id', () => `${course.ids.turn_id}:r${requests.size + 1}`)
      const ordinal = requests.get(id) ?? requests.size + 1
      requests.set(id, ordinal)
      asking = id
      const own: RequestIds = { ...course.ids, api_request_id: id, api_call_count: ordinal }
      emit('pre_api_request', merged(options, own))
      const about = { ...picked(options, ['model', 'provider', 'retry_count']), ...own }
      const end = once((said: ApiEnd & ApiError) => {
        const hook = peek(said, 'error') === undefined ? 'post_api_request' : 'api_request_error'
        emit(hook, merged(said, about))
      })
      let streamed: ApiEnd | undefined
      return settle(() => run({ ids: own, end: fields => end(fields ?? {}) }), {
        came: chunk => {
          streamed = addFacts(streamed ?? { first_chunk_at: Date.now() / 1000 }, chunk)
        },
        ended: answer => end(streamed ?? answerOf(answer)),
        failed(error) {
          const { type, message } = failureOf(error)
          const status = peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(peek(error, 'response'), 'status')
          end({ error: { type, message }, ...(typeof status === 'number' && { status_code: status }) })
        },
      })
    },
    tool(call, args, run) {
      const options = typeof call === 'string' ? { tool_name: call } : call
      const own = toolIds(course, options, asking)
      // Without a request in its own scope, the tool must not become a child of a parallel request.
      const about = merged(options, own.api_request_id === undefined ? { ...own, api_call_count: 0 } : own)
      emit('pre_tool_call', { ...about, args })
      const end = once((said: ToolEnd) => void emit('post_tool_call', merged(said, about)))
      const tool: ToolHandle = { ids: own, end: fields => end(fields ?? {}), ...workOf(course, own) }
      return settle(() => run(args, tool), {
        ended: result => end({ status: 'ok', result }),
        failed: error => end(toolFailedBy(error)),
      })
    },
    approval(options, run) {
      // Unique, because two questions may be open at once.
      const pair = { ...ids, request_id: madeId(course) }
      emit('pre_approval_request', merged(options, pair))
      const about = { ...picked(options, ['pattern_key', 'surface']), ...pair }
      const end = once((said: ApprovalResponse) => void emit('post_approval_response', merged(said, about)))
      return settle(() => run({ ids, end: fields => end(fields ?? {}) }), {
        ended: answer => end(choiceOf(answer)),
        failed: error => end({ choice: wordOf(error) }),
      })
    },
    subagent(options, run) {
      const { child_role, child_goal, child_session_id, child_subagent_id, ...turn } = merged(options, {})
      const child = idIn(options, 'child_session_id', randomUUID)
      const about = {
        ...picked(options, ['child_role', 'child_subagent_id']),
        child_session_id: child,
        parent_session_id: ids.session_id,
        parent_turn_id: ids.turn_id,
        ...(inside && { tool_call_id: inside.tool_call_id }),
      }
      emit('subagent_start', { ...about, child_goal })
      const own = { session_id: child, parent_session_id: ids.session_id }
      const asked = { ...(child_role !== undefined && { agent_name: child_role }), user_message: child_goal }
      const over = (said: TurnEnding): unknown => emit('subagent_stop', { ...about, ...childEnd(said) })
      return runTurn(emit, { ...asked, ...turn, ...own }, run, over)
    },
  }
}

function toolIds(course: Course, options: ToolCallOptions, asking: string | undefined): ToolIds {
  const call = idIn(options, 'tool_call_id', () => madeId(course))
  const request = idIn(options, 'api_request_id', () => asking ?? '')
  return { ...course.ids, tool_call_id: call, ...(request !== '' && { api_request_id: request }) }
}

function toolFailedBy(error: unknown): ToolEnd {
  const { type, message, isAborted, isTimeout } = failureOf(error)
  if (isAborted || isTimeout) return { status: isAborted ? 'cancelled' : 'timeout' }
  return { status: 'error', error_type: type ?? null, error_message: message ?? null }
}

function childEnd(said: TurnEnding): SubagentStop {
  const status = said.failed ? 'failed' : said.interrupted ? 'interrupted' : said.completed ? 'completed' : 'incomplete'
  return { child_status: status, child_summary: peek(said, 'assistant_response') }
}

const GRANTING_WORDS: ReadonlySet<unknown> = new Set([true, 'allow', 'allowed', 'approve', 'approved', 'yes'])
const DENYING_WORDS: ReadonlySet<unknown> = new Set([false, 'denied', 'reject', 'rejected', 'no'])

function choiceOf(answer: unknown): ApprovalResponse {
  const said = ownValue(answer, 'choice') ?? answer
  const word = typeof said === 'string' ? said.trim().toLowerCase() : said
  const choice = GRANTING_WORDS.has(word) ? 'once' : DENYING_WORDS.has(word) ? 'deny' : textOf(said)
  return choice === undefined ? {} : { choice }
}

function wordOf(error: unknown): string {
  const { isAborted, isTimeout } = failureOf(error)
  if (isTimeout) return 'timeout'
  return isAborted ? 'cancelled' : 'error'
}

import { randomUUID } from 'node:crypto'
import { idOf, ownValue, peek, textOf } from '../../contract/foreign.ts'
import type {
  ApiEnd,
  ApiError,
  ApprovalResponse,
  HookName,
  HookPayloads,
  SessionEnd,
  SubagentStop,
  ToolEnd,
  TurnAnswer,
} from '../../contract/index.ts'
import type {
  ApprovalHandle,
  ApprovalOptions,
  RequestHandle,
  RequestIds,
  RequestOptions,
  RunTurn,
  SubagentOptions,
  ToolCallOptions,
  ToolHandle,
  ToolIds,
  TurnHandle,
  TurnIds,
  TurnOperations,
  TurnOptions,
} from './handles.ts'
import { addFacts, answerOf } from './model-answer.ts'
import { settle } from './settle.ts'

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
  try {
    return { ...said, ...ids }
  } catch {
    return ids as Said & Ids
  }
}

function picked<Said, Key extends keyof Said & string>(said: Said, keys: readonly Key[]): Pick<Said, Key> {
  const found: Record<string, unknown> = {}
  for (const key of keys) {
    const value = peek(said, key)
    if (value !== undefined) found[key] = value
  }
  return found as Pick<Said, Key>
}

function once<Said>(tell: (said: Said) => void): (said: Said) => void {
  let isTold = false
  return said => {
    if (isTold) return
    isTold = true
    tell(said)
  }
}

interface ThrownError {
  readonly type: string | undefined
  readonly message: string | undefined
  readonly isAborted: boolean
  readonly isTimeout: boolean
}

function failureOf(error: unknown): ThrownError {
  const name = textOf(peek(error, 'name'))
  return {
    type: typeOf(error, name),
    message: textOf(peek(error, 'message')) ?? textOf(error),
    isAborted: name === 'AbortError' || peek(error, 'code') === 'ABORT_ERR',
    isTimeout: name === 'TimeoutError',
  }
}

/** The most specific name of an error: many error classes do not set `name`. */
function typeOf(error: unknown, name: string | undefined): string | undefined {
  const named = name === 'Error' ? undefined : name
  const ofClass = textOf(ownValue(peek(error, 'constructor'), 'name'))
  return textOf(peek(error, 'type')) ?? named ?? textOf(peek(error, 'code')) ?? (name && (ofClass ?? name))
}

function statusCodeOf(error: unknown): number | undefined {
  const said = peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(peek(error, 'response'), 'status')
  return typeof said === 'number' ? said : undefined
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
  over?: (said: TurnEnding) => void,
): Result {
  const ids = { session_id: idIn(options, 'session_id', randomUUID), turn_id: idIn(options, 'turn_id', randomUUID) }
  const { user_message, conversation_history, ...session } = merged(options, ids)
  emit('on_session_start', session)
  const asked = ['model', 'platform', 'sender_id', 'user_message', 'conversation_history'] as const
  emit('pre_llm_call', { ...picked(options, asked), ...ids })
  const end = once((said: TurnEnding) => {
    tellEnd(emit, ids, said)
    over?.(said)
  })
  const work = workOf({ emit, ids, requests: new Map(), made: 0 })
  return settle(() => run({ ids, end: fields => end(withOutcome(merged(fields, {}))), ...work }), {
    ended: value => end({ completed: true, ...(textOf(value) !== undefined && { assistant_response: value }) }),
    failed: error => end(endedBy(error)),
  })
}

function withOutcome(said: TurnEnding): TurnEnding {
  const { completed, failed, interrupted } = said
  return (completed ?? failed ?? interrupted) === undefined ? { ...said, completed: true } : said
}

function endedBy(error: unknown): TurnEnding {
  const { type, isAborted } = failureOf(error)
  return { ...(isAborted ? { interrupted: true } : { failed: true }), ...(type && { turn_exit_reason: type }) }
}

function isCompleted({ completed, failed, interrupted }: SessionEnd): boolean {
  return completed === true && failed !== true && interrupted !== true
}

function tellEnd(emit: Emit, ids: TurnIds, said: TurnEnding): void {
  // A completed turn had an answer, even if it is unknown.
  const answer = picked(said, ['assistant_response', 'model'])
  if (isCompleted(said) || answer.assistant_response !== undefined) emit('post_llm_call', { ...answer, ...ids })
  const { assistant_response, ...ending } = merged(said, ids)
  emit('on_session_end', ending)
}

function workOf(course: Course, inside?: ToolIds): TurnOperations {
  let asking = inside?.api_request_id
  return {
    request(options, run) {
      const ids = requestIds(course, options)
      asking = ids.api_request_id
      return runRequest(course, options, ids, run)
    },
    tool(call, args, run) {
      const options = typeof call === 'string' ? { tool_name: call } : call
      return runTool(course, { options, args, ids: toolIds(course, options, asking) }, run)
    },
    approval: (options, run) => runApproval(course, options, inside, run),
    subagent: (options, run) => runSubagent(course, options, inside, run),
  }
}

function toolIds(course: Course, options: ToolCallOptions, asking: string | undefined): ToolIds {
  const call = idIn(options, 'tool_call_id', () => madeId(course))
  const request = idIn(options, 'api_request_id', () => asking ?? '')
  return { ...course.ids, tool_call_id: call, ...(request !== '' && { api_request_id: request }) }
}

interface ToolCallArguments<Args> {
  readonly options: ToolCallOptions
  readonly args: Args
  readonly ids: ToolIds
}

function runTool<Args, Result>(
  course: Course,
  { options, args, ids }: ToolCallArguments<Args>,
  run: (args: Args, tool: ToolHandle) => Result,
): Result {
  // Without a request in its own scope, the tool must not become a child of a parallel request.
  const about = merged(options, ids.api_request_id === undefined ? { ...ids, api_call_count: 0 } : ids)
  course.emit('pre_tool_call', { ...about, args })
  const end = once((said: ToolEnd) => void course.emit('post_tool_call', merged(said, about)))
  const tool: ToolHandle = { ids, end: fields => end(fields ?? {}), ...workOf(course, ids) }
  return settle(() => run(args, tool), {
    ended: result => end({ status: 'ok', result }),
    failed: error => end(toolFailedBy(error)),
  })
}

function toolFailedBy(error: unknown): ToolEnd {
  const { type, message, isAborted, isTimeout } = failureOf(error)
  if (isAborted || isTimeout) return { status: isAborted ? 'cancelled' : 'timeout' }
  return { status: 'error', error_type: type ?? null, error_message: message ?? null }
}

function runSubagent<Result>(
  { emit, ids }: Course,
  options: SubagentOptions,
  inside: ToolIds | undefined,
  run: (child: TurnHandle) => Result,
): Result {
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
  return runTurn(emit, { ...asked, ...turn, ...own }, run, said =>
    emit('subagent_stop', { ...about, ...childEnd(said) }),
  )
}

function childEnd(said: TurnEnding): SubagentStop {
  const status = said.failed ? 'failed' : said.interrupted ? 'interrupted' : said.completed ? 'completed' : 'incomplete'
  return { child_status: status, child_summary: peek(said, 'assistant_response') }
}

function requestIds({ ids, requests }: Course, options: RequestOptions): RequestIds {
  const id = idIn(options, 'api_request_id', () => `${ids.turn_id}:r${requests.size + 1}`)
  const ordinal = requests.get(id) ?? requests.size + 1
  requests.set(id, ordinal)
  return { ...ids, api_request_id: id, api_call_count: ordinal }
}

function runRequest<Result>(
  { emit }: Course,
  options: RequestOptions,
  ids: RequestIds,
  run: (request: RequestHandle) => Result,
): Result {
  emit('pre_api_request', merged(options, ids))
  const about = { ...picked(options, ['model', 'provider', 'retry_count']), ...ids }
  const end = once((said: ApiEnd & ApiError) => {
    const hook = peek(said, 'error') === undefined ? 'post_api_request' : 'api_request_error'
    emit(hook, merged(said, about))
  })
  let streamed: ApiEnd | undefined
  return settle(() => run({ ids, end: fields => end(fields ?? {}) }), {
    came: chunk => {
      streamed = addFacts(streamed ?? { first_chunk_at: Date.now() / 1000 }, chunk)
    },
    ended: answer => end(streamed ?? answerOf(answer)),
    failed: error => end(failedBy(error)),
  })
}

function failedBy(error: unknown): ApiError {
  const { type, message } = failureOf(error)
  const status = statusCodeOf(error)
  return { error: { type, message }, ...(status === undefined ? {} : { status_code: status }) }
}

const GRANTED = 'once'
const DENIED = 'deny'

const SAME_WORD: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, GRANTED],
  ['allow', GRANTED],
  ['allowed', GRANTED],
  ['approve', GRANTED],
  ['approved', GRANTED],
  ['yes', GRANTED],
  [false, DENIED],
  ['denied', DENIED],
  ['reject', DENIED],
  ['rejected', DENIED],
  ['no', DENIED],
])

function runApproval<Result>(
  course: Course,
  options: ApprovalOptions,
  inside: ToolIds | undefined,
  run: (approval: ApprovalHandle) => Result,
): Result {
  const ids = inside ?? course.ids
  // Unique, because two questions may be open at once.
  const pair = { ...ids, request_id: madeId(course) }
  course.emit('pre_approval_request', merged(options, pair))
  const about = { ...picked(options, ['pattern_key', 'surface']), ...pair }
  const end = once((said: ApprovalResponse) => void course.emit('post_approval_response', merged(said, about)))
  return settle(() => run({ ids, end: fields => end(fields ?? {}) }), {
    ended: answer => end(choiceOf(answer)),
    failed: error => end({ choice: wordOf(error) }),
  })
}

function choiceOf(answer: unknown): ApprovalResponse {
  const said = ownValue(answer, 'choice') ?? answer
  const choice = SAME_WORD.get(typeof said === 'string' ? said.trim().toLowerCase() : said) ?? textOf(said)
  return choice === undefined ? {} : { choice }
}

function wordOf(error: unknown): string {
  const { isAborted, isTimeout } = failureOf(error)
  if (isTimeout) return 'timeout'
  return isAborted ? 'cancelled' : 'error'
}

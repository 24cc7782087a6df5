import { randomUUID } from 'node:crypto'
import { peek, textOf } from '../../contract/foreign.ts'
import type { SessionEnd, SubagentStop, ToolEnd, TurnAnswer } from '../../contract/index.ts'
import { runApproval } from './approval.ts'
import { type Course, type Emit, idIn, madeId, merged, once, picked } from './course.ts'
import { failureOf } from './failure.ts'
import type {
  RunTurn,
  SubagentOptions,
  ToolHandle,
  ToolIds,
  ToolOptions,
  TurnHandle,
  TurnIds,
  TurnOptions,
  Work,
} from './handles.ts'
import { requestIds, runRequest } from './request.ts'
import { settle } from './settle.ts'

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

/** The operations of a turn or a tool. Requests inside a tool own only the tool calls inside it. */
function workOf(course: Course, inside?: ToolIds): Work {
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

function toolIds(course: Course, options: ToolOptions, asking: string | undefined): ToolIds {
  const call = idIn(options, 'tool_call_id', () => madeId(course))
  const request = idIn(options, 'api_request_id', () => asking ?? '')
  return { ...course.ids, tool_call_id: call, ...(request !== '' && { api_request_id: request }) }
}

interface Called<Args> {
  readonly options: ToolOptions
  readonly args: Args
  readonly ids: ToolIds
}

function runTool<Args, Result>(
  course: Course,
  { options, args, ids }: Called<Args>,
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

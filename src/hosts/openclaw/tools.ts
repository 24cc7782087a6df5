import { booleanOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { hookRecord } from '../host-event.ts'
import { plainText } from './messages.ts'
import { type Run, remember, type Tool } from './state.ts'

export type ToolNews = Partial<Pick<Tool, 'endAt' | 'result' | 'error' | 'isError' | 'status' | 'durationMillis'>>

export function toolOf(run: Run, id: string, name: unknown, startAt: number): Tool {
  const known = run.tools.get(id)
  if (known !== undefined) return known
  const tool: Tool = {
    id,
    name,
    startAt,
    args: undefined,
    startTold: false,
    endTold: false,
    isWritten: false,
    endAt: undefined,
    result: undefined,
    error: undefined,
    isError: undefined,
    status: undefined,
    durationMillis: undefined,
  }
  remember(run.tools, id, tool)
  if (run.tools.has(id)) run.openTools.add(tool)
  return tool
}

/** The call that asked for it: named by the model's message, else the newest. A nested tool has its parent's. */
function requestOf(run: Run, { id }: Tool): string | undefined {
  return (run.askedBy.get(id) ?? run.lastCall)?.id
}

/** @param parentId of the tool that calls this one, where one does */
export function startTool(run: Run, tool: Tool, args: unknown, parentId?: string): HookRecord[] {
  if (tool.startTold || tool.endTold) return []
  tool.startTold = true
  tool.args = args
  const parent = parentId === undefined ? undefined : run.askedBy.get(parentId)
  if (parent !== undefined) remember(run.askedBy, tool.id, parent)
  const request = requestOf(run, tool)
  return [
    hookRecord('pre_tool_call', tool.startAt, {
      session_id: run.sessionId,
      turn_id: run.id,
      tool_name: tool.name,
      args,
      tool_call_id: tool.id,
      api_request_id: request,
    }),
  ]
}

/** What is said first stays: later news are the same facts from another side. */
export function learn(tool: Tool, news: ToolNews): void {
  tool.endAt ??= news.endAt
  tool.result ??= news.result
  tool.error ??= textOf(news.error)
  tool.isError ??= news.isError
  tool.status ??= news.status
  tool.durationMillis ??= news.durationMillis
}

export function endTool(run: Run, tool: Tool, at: number): HookRecord[] {
  if (tool.endTold) return []
  tool.endTold = true
  run.openTools.delete(tool)
  const status = statusOf(tool)
  const record = hookRecord('post_tool_call', tool.endAt ?? at, {
    session_id: run.sessionId,
    turn_id: run.id,
    tool_name: tool.name,
    args: tool.args,
    tool_call_id: tool.id,
    api_request_id: requestOf(run, tool),
    result: resultOf(tool),
    duration_ms: numberOf(tool.durationMillis),
    status,
    error_message: status === 'error' ? tool.error : undefined,
  })
  // It is remembered until its run is over; what it was given and gave need not be.
  tool.args = undefined
  tool.result = undefined
  return [record]
}

/** Text as text. One that looks like JSON stays inside: a status in a file that was read is no word about the tool. */
function resultOf({ result }: Tool): unknown {
  const text = plainText(peek(result, 'content'))
  return text === undefined || text.trimStart().startsWith('{') ? result : text
}

/** Tools whose end has been said in part only, where no more will come. */
export function settleTools(run: Run): HookRecord[] {
  const ended = [...run.openTools].filter(tool => tool.endAt !== undefined)
  return ended.flatMap(tool => endTool(run, tool, run.lastAt))
}

/** Tools that a run left behind when it was stopped. Of any other we do not know, and say so: they stay incomplete. */
export function cancelTools(run: Run, at: number): HookRecord[] {
  const open = [...run.openTools].filter(tool => tool.startTold)
  return open.flatMap(tool => {
    tool.status = 'cancelled'
    return endTool(run, tool, at)
  })
}

/** The host's word for a tool that was refused by a hook which failed, where it says nothing else. */
const REFUSED = 'Tool call blocked'

function statusOf(tool: Tool): string {
  const details = peek(tool.result, 'details')
  const said = peek(details, 'status')
  const isRefused = peek(details, 'deniedReason') !== undefined || textOf(tool.error)?.startsWith(REFUSED) === true
  if (tool.status === 'blocked' || said === 'blocked' || isRefused) return 'blocked'
  if (tool.status === 'cancelled' || said === 'cancelled') return 'cancelled'
  if (said === 'timeout' || booleanOf(peek(details, 'timedOut')) === true) return 'timeout'
  if (booleanOf(peek(details, 'noOutputTimedOut')) === true) return 'timeout'
  const isFailed = tool.status === 'failed' || tool.isError === true || tool.error !== undefined
  return isFailed ? 'error' : 'ok'
}

import { booleanOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { looksLikeJson, plainText } from '../base/messages.ts'
import { Approval } from '../base/tool.ts'
import { type Facts, type Run, RunTool, remember } from './state.ts'

export type ToolFacts = Partial<Pick<RunTool, 'endAt' | 'result' | 'error' | 'isError' | 'status' | 'durationMillis'>>

export function toolOf(run: Run, id: string, name: unknown, startAt: number): RunTool {
  const known = run.tools.get(id)
  if (known !== undefined) return known
  const tool = new RunTool(run, id, name, startAt)
  remember(run.tools, id, tool)
  if (run.tools.has(id)) run.openTools.add(tool)
  return tool
}

/**
 * Returns the requesting call: the one whose message names the tool, otherwise the newest. A nested tool inherits its parent's.
 */
function requestOf({ turn, id }: RunTool): string | undefined {
  return (turn.requestingCalls.get(id) ?? turn.lastCall)?.id
}

export function startTool(tool: RunTool, args: unknown, parentId?: string): void {
  if (tool.state !== 'asked') return
  const { requestingCalls: askedBy } = tool.turn
  const parent = parentId === undefined ? undefined : askedBy.get(parentId)
  if (parent !== undefined) remember(askedBy, tool.id, parent)
  tool.args = args
  tool.requestId = requestOf(tool)
  tool.emitStart()
}

/** Adds facts about the end. The first value of each wins: later events repeat it. */
export function addToolFacts(tool: RunTool, news: ToolFacts): void {
  tool.endAt ??= news.endAt
  tool.result ??= news.result
  tool.error ??= textOf(news.error)
  tool.isError ??= news.isError
  tool.status ??= news.status
  tool.durationMillis ??= news.durationMillis
}

export function endTool(tool: RunTool, at: number): void {
  if (tool.state === 'ended') return
  tool.turn.openTools.delete(tool)
  tool.requestId = requestOf(tool)
  const status = statusOf(tool)
  const text = plainText(peek(tool.result, 'content'))
  tool.emitEnd(tool.endAt ?? at, {
    args: tool.args,
    result: text === undefined || looksLikeJson(text) ? tool.result : text,
    duration_ms: numberOf(tool.durationMillis),
    status,
    error_message: status === 'error' ? tool.error : undefined,
  })
  // The tool is kept until its run ends; its input and output are freed.
  tool.args = undefined
  tool.result = undefined
}

export function settleTools({ openTools, lastAt }: Run): void {
  for (const tool of openTools) if (tool.endAt !== undefined) endTool(tool, lastAt)
}

/** Cancels the running tools of a stopped run. In other runs their end is unknown: they stay incomplete. */
export function cancelTools({ openTools }: Run, at: number): void {
  for (const tool of openTools) {
    if (tool.state !== 'running') continue
    tool.status = 'cancelled'
    endTool(tool, at)
  }
}

/** The host's only hint for a tool that was blocked by a failing hook. */
const REFUSED = 'Tool call blocked'

function statusOf(tool: RunTool): string {
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

function choiceOf(data: unknown): string {
  const status = idOf(peek(data, 'status'))
  if (status !== 'approved') return status === 'denied' ? 'deny' : (status ?? 'unknown')
  return peek(data, 'scope') === 'session' ? 'session' : 'once'
}

/** Handles the stream `approval`: a request to the user, or a notice that the user cannot be asked. */
export function readApproval(run: Run, { at, data }: Facts): void {
  const callId = idOf(peek(data, 'toolCallId')) ?? idOf(peek(data, 'approvalId'))
  if (callId === undefined) return
  const isAsked = peek(data, 'phase') === 'requested'
  if (isAsked && !run.approvals.has(callId)) {
    const approval = new Approval(run, callId, peek(data, 'kind'), at)
    run.approvals.set(callId, approval)
    const description = peek(data, 'message') ?? peek(data, 'title')
    approval.emitRequest({ command: peek(data, 'command'), description, surface: peek(data, 'host') })
  }
  if (isAsked && peek(data, 'status') !== 'unavailable') return
  run.approvals.get(callId)?.emitResponse(at, choiceOf(data))
  run.approvals.delete(callId)
}

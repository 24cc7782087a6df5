import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { ControlHookName } from '../base/tool.ts'
import type { LoosePayload } from '../host-event.ts'
import type { AnswerToolCall } from './messages.ts'
import { failureOf, type RawSpan, type SpanFailure } from './raw-span.ts'
import { type AgentSpanNode, type AgentTurn, emitToolStart, type Memory, ToolRun } from './state.ts'

const REJECTED = 'was manually rejected by user.'
const TIMEOUT = 'ToolTimeoutError'

/**
 * Starts a function span's tool. The span has no call id; the answer that requested it has.
 *
 * @param mayWait a traced runner will report the call id if no answer did
 */
export function startTool(turn: AgentTurn, node: AgentSpanNode, span: RawSpan, mayWait: boolean): void {
  const name = textOf(peek(span.data, 'name')) ?? 'unknown'
  const input = textOf(peek(span.data, 'input'))
  const call = claimCall(turn, name, input)
  if (call?.from !== undefined) {
    // The interrupted run continues, with the same prompt and model.
    turn.prompt ??= call.from.prompt
    turn.model ??= call.from.model
  }
  const tool = new ToolRun(turn, call?.id ?? span.id, name, span.startAt)
  tool.text = call?.args ?? input
  tool.requestId = turn.requests.lastId
  node.tool = tool
  node.isTool = true
  turn.openTools.add(tool)
  if (call !== undefined || !mayWait) emitToolStart(tool)
}

export function receiveToolCall(memory: Memory, spanId: string | undefined, toolCall: unknown): void {
  const node = spanId === undefined ? undefined : memory.nodes.get(spanId)
  const named = node?.isTool ? node.tool : undefined
  const tool = spanId === undefined ? unstartedTool(memory, textOf(peek(toolCall, 'name'))) : named
  if (tool?.state !== 'asked') return
  tool.id = textOf(peek(toolCall, 'callId')) ?? textOf(peek(toolCall, 'id')) ?? tool.id
  tool.text ??= textOf(peek(toolCall, 'arguments'))
  emitToolStart(tool)
}

export function receiveControlHook({ nodes, records }: Memory, hook: ControlHookName, { at, data }: TimedEvent): void {
  const payload = data as LoosePayload<'post_control_hook'>
  const turn = nodes.get(idOf(peek(payload, 'turn_id')) ?? '')?.turn
  if (turn === undefined || turn.isOver) {
    records.addRecord(hook, at, payload)
    return
  }
  const running = [...turn.openTools].find(({ id, state }) => state !== 'asked' && id === payload.tool_call_id)
  turn.toolHooks.receive(hook, at, { api_request_id: turn.requests.lastId, ...payload }, running)
}

function unstartedTool({ openTurns }: Memory, name: string | undefined): ToolRun | undefined {
  for (const { openTools } of openTurns.values()) {
    for (const tool of openTools) if (tool.state === 'asked' && tool.name === name) return tool
  }
  return undefined
}

export function endTool(tool: ToolRun, span: RawSpan): void {
  emitToolStart(tool)
  tool.turn.openTools.delete(tool)
  const failure = failureOf(span.error)
  const output = peek(span.data, 'output') ?? undefined
  tool.emitEnd(span.endAt, {
    result: output === '' ? undefined : output,
    status: statusOf(tool, span.error, failure),
    error_type: failure?.type,
    error_message: failure?.message,
  })
}

export function emitOpenTools(turn: AgentTurn): void {
  for (const tool of turn.openTools) emitToolStart(tool)
  turn.openTools.clear()
}

export function isRejected(error: unknown): boolean {
  return textOf(peek(peek(error, 'data'), 'error'))?.endsWith(REJECTED) === true
}

interface ClaimedCall extends AnswerToolCall {
  readonly from?: AgentTurn
}

/** Finds the call, of this turn's last answer or of one whose calls needed approval. */
function claimCall(turn: AgentTurn, name: string, input: string | undefined): ClaimedCall | undefined {
  const own = bestMatch(turn.requestedCalls, name, input)
  if (own !== undefined) turn.requestedCalls = turn.requestedCalls.filter(call => call !== own)
  const { pendingApprovals: waiting, decisions: decided } = turn.trace
  if (own !== undefined || waiting.size + decided.length === 0) return own
  const left = [...waiting.values()].filter(({ turn, isAnswered }) => turn.isOver || isAnswered)
  const claimed = left.map(({ call, turn }) => ({ ...call, from: turn }))
  return bestMatch<ClaimedCall>([...claimed, ...decided.map(({ call }) => call)], name, input)
}

/** Matches by name and arguments, else by name, else by arguments (namespaced tools have another name). */
function bestMatch<Call extends AnswerToolCall>(
  calls: readonly Call[],
  name: string,
  input: string | undefined,
): Call | undefined {
  if (calls.length === 0) return undefined
  return (
    calls.find(call => call.name === name && input !== undefined && call.args === input) ??
    calls.find(call => call.name === name && (input === undefined || call.args === undefined)) ??
    calls.find(call => input !== undefined && call.args === input)
  )
}

function statusOf(tool: ToolRun, error: unknown, failure: SpanFailure | undefined): string {
  if (failure === undefined) return tool.isInterrupted ? 'interrupted' : 'ok'
  if (isRejected(error)) return 'blocked'
  return failure.type === TIMEOUT ? 'timeout' : 'error'
}

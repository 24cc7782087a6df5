import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import type { ControlHookName } from '../base/tool-hooks.ts'
import type { LoosePayload } from '../host-event.ts'
import { type Failure, failureOf } from './failure.ts'
import type { AskedCall } from './model-spans.ts'
import { tellTool } from './opening.ts'
import type { RawSpan } from './raw-span.ts'
import { type AgentTurn, type Memory, type SpanNode, ToolRun } from './state.ts'

const REJECTED = 'was manually rejected by user.'
const TIMEOUT = 'ToolTimeoutError'

/**
 * Starts a function span's tool. The span has no call id; the answer that requested it has.
 *
 * @param mayWait a traced runner will report the call id if no answer did
 */
export function startTool(turn: AgentTurn, node: SpanNode, span: RawSpan, mayWait: boolean): void {
  const name = textOf(peek(span.data, 'name')) ?? 'unknown'
  const input = textOf(peek(span.data, 'input'))
  const call = claim(turn, name, input)
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
  if (call !== undefined || !mayWait) tellTool(tool)
}

/** A traced runner reports the call of a tool that has just started. */
export function toolCalled(memory: Memory, spanId: string | undefined, toolCall: unknown): void {
  const node = spanId === undefined ? undefined : memory.nodes.get(spanId)
  const named = node?.isTool ? node.tool : undefined
  const tool = spanId === undefined ? untoldTool(memory, textOf(peek(toolCall, 'name'))) : named
  if (tool?.state !== 'asked') return
  tool.id = textOf(peek(toolCall, 'callId')) ?? textOf(peek(toolCall, 'id')) ?? tool.id
  tool.text ??= textOf(peek(toolCall, 'arguments'))
  tellTool(tool)
}

export function controlHookRan({ nodes, records }: Memory, hook: ControlHookName, { at, data }: TimedEvent): void {
  const payload = data as LoosePayload<'post_control_hook'>
  const turn = nodes.get(idOf(peek(payload, 'turn_id')) ?? '')?.turn
  if (turn === undefined || turn.isOver) {
    records.addRecord(hook, at, payload)
    return
  }
  const running = [...turn.openTools].find(({ id, state }) => state !== 'asked' && id === payload.tool_call_id)
  turn.toolHooks.receive(hook, at, { api_request_id: turn.requests.lastId, ...payload }, running)
}

function untoldTool({ openTurns }: Memory, name: string | undefined): ToolRun | undefined {
  for (const { openTools } of openTurns.values()) {
    for (const tool of openTools) if (tool.state === 'asked' && tool.name === name) return tool
  }
  return undefined
}

export function endTool(tool: ToolRun, span: RawSpan): void {
  tellTool(tool)
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

export function tellOpenTools(turn: AgentTurn): void {
  for (const tool of turn.openTools) tellTool(tool)
  turn.openTools.clear()
}

export function isRejected(error: unknown): boolean {
  return textOf(peek(peek(error, 'data'), 'error'))?.endsWith(REJECTED) === true
}

interface Claimed extends AskedCall {
  /** The turn that ended without making the call; undefined for the current turn. */
  readonly from?: AgentTurn
}

/** Finds the call, of this turn's last answer or of one whose calls needed approval. */
function claim(turn: AgentTurn, name: string, input: string | undefined): Claimed | undefined {
  const own = bestOf(turn.asked, name, input)
  if (own !== undefined) turn.asked = turn.asked.filter(call => call !== own)
  const { waiting, decided } = turn.trace
  if (own !== undefined || waiting.size + decided.length === 0) return own
  const left = [...waiting.values()].filter(({ turn, isAnswered }) => turn.isOver || isAnswered)
  const claimed = left.map(({ call, turn }) => ({ ...call, from: turn }))
  return bestOf<Claimed>([...claimed, ...decided.map(({ call }) => call)], name, input)
}

/** By name and arguments, else by name, else by arguments (namespaced tools have another name). */
function bestOf<Call extends AskedCall>(
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

function statusOf(tool: ToolRun, error: unknown, failure: Failure | undefined): string {
  if (failure === undefined) return tool.isInterrupted ? 'interrupted' : 'ok'
  if (isRejected(error)) return 'blocked'
  return failure.type === TIMEOUT ? 'timeout' : 'error'
}

import { peek, textOf } from '../../contract/foreign.ts'
import { type Failure, failureOf } from './failure.ts'
import type { AskedCall } from './model-spans.ts'
import type { RawSpan } from './raw-span.ts'
import type { Records } from './records.ts'
import type { OpenLoop } from './requests.ts'
import type { SpanNode, ToolRun, Turn } from './state.ts'

/** Longer arguments are shown as they are, and not read: a target or a command stands at no such length. */
const PARSE_LIMIT = 8 * 1024
/** Tools that wait for their call id at once. */
const HELD_LIMIT = 1000
const REJECTED = 'was manually rejected by user.'
const TIMEOUT = 'ToolTimeoutError'

/** Function spans → tools. The span has no call id; the answer that asked for it has. */
export class Tools {
  readonly #records: Records
  readonly #openLoop: OpenLoop
  /** Tools that no answer is known to have asked for, by span: a listener is about to tell their call. */
  readonly #held = new Map<string, ToolRun>()

  constructor(records: Records, openLoop: OpenLoop) {
    this.#records = records
    this.#openLoop = openLoop
  }

  /** @param mayWait listeners are attached that will tell the call id, should the answer not have done it */
  start(turn: Turn, node: SpanNode, span: RawSpan, mayWait: boolean): void {
    const name = textOf(peek(span.data, 'name')) ?? 'unknown'
    const input = textOf(peek(span.data, 'input'))
    const call = claim(turn, name, input)
    if (call?.from !== undefined) goOn(turn, call.from)
    const tool: ToolRun = {
      turn,
      name,
      startAt: span.startAt,
      callId: call?.id ?? span.id,
      args: call?.args ?? input,
      requestId: turn.lastRequest,
      isTold: false,
      isInterrupted: false,
      tokens: undefined,
    }
    node.tool = tool
    node.isTool = true
    turn.openTools.add(tool)
    if (call !== undefined || !mayWait || this.#held.size >= HELD_LIMIT) this.tell(tool)
    else this.#held.set(span.id, tool)
  }

  /** A listener's word of the call behind a tool that has just started. */
  called(spanId: string | undefined, toolCall: unknown): void {
    const name = textOf(peek(toolCall, 'name'))
    const id = textOf(peek(toolCall, 'callId')) ?? textOf(peek(toolCall, 'id'))
    const found = [...this.#held].find(([held, tool]) => (spanId === undefined ? tool.name === name : held === spanId))
    if (found === undefined) return
    const [, tool] = found
    tool.callId = id ?? tool.callId
    tool.args ??= textOf(peek(toolCall, 'arguments'))
    this.tell(tool)
  }

  end(tool: ToolRun, span: RawSpan): void {
    this.tell(tool)
    const { turn } = tool
    const failure = failureOf(span.error)
    turn.openTools.delete(tool)
    this.#records.add('post_tool_call', span.endAt, {
      session_id: turn.sessionId,
      turn_id: turn.id,
      tool_call_id: tool.callId,
      api_request_id: tool.requestId,
      tool_name: tool.name,
      result: resultOf(span.data),
      status: statusOf(tool, span.error, failure),
      error_type: failure?.type,
      error_message: failure?.message,
    })
  }

  tellOpen(turn: Turn): void {
    for (const tool of turn.openTools) this.tell(tool)
    turn.openTools.clear()
  }

  tell(tool: ToolRun): void {
    if (tool.isTold) return
    tool.isTold = true
    for (const [spanId, held] of this.#held) if (held === tool) this.#held.delete(spanId)
    this.#openLoop(tool.turn)
    this.#records.add('pre_tool_call', tool.startAt, {
      session_id: tool.turn.sessionId,
      turn_id: tool.turn.id,
      tool_call_id: tool.callId,
      api_request_id: tool.requestId,
      tool_name: tool.name,
      args: argsOf(tool.args),
    })
  }
}

export function isRejected(error: unknown): boolean {
  return textOf(peek(peek(error, 'data'), 'error'))?.endsWith(REJECTED) === true
}

interface Claimed extends AskedCall {
  /** The turn that ended without having made the call; undefined for the turn's own. */
  readonly from?: Turn
}

/** The run that was interrupted goes on: it is about the same thing, and the same model was asked. */
function goOn(turn: Turn, from: Turn): void {
  turn.prompt ??= from.prompt
  turn.model ??= from.model
}

/** A call that was asked for, by this turn's last answer or by one whose calls had to wait. */
function claim(turn: Turn, name: string, input: string | undefined): Claimed | undefined {
  const own = bestOf(turn.asked, name, input)
  if (own !== undefined) turn.asked = turn.asked.filter(call => call !== own)
  const { waiting, decided } = turn.trace
  if (own !== undefined || waiting.size + decided.length === 0) return own
  const left = [...waiting.values()].filter(({ turn, isAnswered }) => turn.isOver || isAnswered)
  const claimed = left.map(({ call, turn }) => ({ ...call, from: turn }))
  return bestOf<Claimed>([...claimed, ...decided.map(({ call }) => call)], name, input)
}

/** By name and arguments, else by name alone, else by arguments (a tool of a namespace is called otherwise). */
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

/** What an agent that runs as a tool is to do: the SDK's own schema for that has one field. */
export function goalOf({ args }: ToolRun): unknown {
  return textOf(peek(argsOf(args), 'input')) ?? args
}

/** Text of a JSON object as the object: what a tool works on is read from its fields. */
function argsOf(args: unknown): unknown {
  if (typeof args !== 'string' || args.length > PARSE_LIMIT || args[0] !== '{') return args
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}

function resultOf(data: unknown): unknown {
  const output = peek(data, 'output') ?? undefined
  return output === '' ? undefined : output
}

function statusOf(tool: ToolRun, error: unknown, failure: Failure | undefined): string {
  if (failure === undefined) return tool.isInterrupted ? 'interrupted' : 'ok'
  if (isRejected(error)) return 'blocked'
  return failure.type === TIMEOUT ? 'timeout' : 'error'
}

import { peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { HostTurn, type Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Approval, Tool, ToolHooks } from '../base/tool.ts'
import type { UsageCounts } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { AnswerToolCall, ModelAnswer } from './messages.ts'

const OPEN_SPANS_LIMIT = 20_000
const ENDED_SPANS_LIMIT = 2500
const OPEN_TURNS_LIMIT = 1000
const PENDING_LIMIT = 200

/** One model span. Its start is emitted once the model is known: for the Responses API, at its end. */
export interface OpenModelRequest {
  readonly request: ModelRequest
  readonly turn: AgentTurn
  readonly type: string
  readonly data: unknown
}

/** One run of a tool. Its id is the model's call id, or else the span's. */
export class ToolRun extends Tool<AgentTurn> {
  text: string | undefined
  /** An agent that ran as this tool needs an approval: the tool has not really ended. */
  isInterrupted = false
  tokens: UsageCounts | undefined
}

export class PendingApproval extends Approval<AgentTurn> {
  readonly call: AnswerToolCall

  constructor(turn: AgentTurn, call: AnswerToolCall) {
    super(turn, call.id, call.name, 0)
    this.call = call
  }
}

export type Choice = 'once' | 'always' | 'deny'

export interface CallDecision {
  readonly call: AnswerToolCall
  readonly choice: Choice
}

export interface TurnParent {
  readonly turn: AgentTurn
  readonly tool: ToolRun | undefined
}

export class AgentTurn extends HostTurn {
  readonly trace: Trace
  readonly startAt: number
  readonly parent: TurnParent | undefined
  /** The span that ends the turn; undefined if its start was missed. */
  owner: AgentSpanNode | undefined
  agentName: string | undefined
  model: string | undefined
  prompt: unknown
  history: readonly unknown[] | undefined
  answer: unknown
  isOpen = false
  isLoopOpen = false
  isOver = false
  isInterrupted = false
  guardrail: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  requestedCalls: readonly AnswerToolCall[] = []
  readonly openRequests: Set<OpenModelRequest> = new Set()
  readonly openTools: Set<ToolRun> = new Set()
  readonly toolHooks: ToolHooks = new ToolHooks(this)
  /** An answer whose tokens only the loop's span reports. */
  uncounted: { readonly request: ModelRequest; readonly at: number; readonly answer: ModelAnswer } | undefined
  tokens: UsageCounts | undefined
  handoffAt: number | undefined
  task: DelegatedTask | undefined
  delegate: { readonly id: string; readonly task: DelegatedTask } | undefined
  lastAt: number

  constructor(
    records: Records,
    ids: { sessionId: string; turnId: string },
    trace: Trace,
    at: number,
    parent?: TurnParent,
  ) {
    super(records, ids.sessionId, ids.turnId)
    this.trace = trace
    this.startAt = at
    this.parent = parent
    this.lastAt = at
  }
}

export class AgentSpanNode {
  readonly id: string
  /** `unknown`: known only as a parent; its start was not received. */
  kind = 'unknown'
  turn: AgentTurn | undefined
  request: OpenModelRequest | undefined
  tool: ToolRun | undefined
  isTool = false
  /** Tokens of agents inside the tools of this loop. */
  nestedTokens: UsageCounts | undefined

  constructor(id: string) {
    this.id = id
  }
}

/** A trace of the host. A resumed run continues in it without a new start. */
export class Trace {
  readonly id: string
  groupId: string | undefined
  /** True if its runner is traced, which reports approvals reliably. */
  isRunnerTraced = false
  /** A turn whose start was missed. */
  stray: AgentTurn | undefined
  lastTurn: AgentTurn | undefined
  turns = 0
  readonly pendingApprovals: Map<string, PendingApproval> = new LimitedMap(PENDING_LIMIT)
  decisions: readonly CallDecision[] = []
  resumedRun: { readonly prompt: unknown; readonly model: string | undefined } | undefined

  constructor(id: string) {
    this.id = id
  }
}

export class Memory {
  readonly records: Records
  readonly traces: SessionStates<Trace> = new SessionStates(id => new Trace(id))
  readonly nodes: Map<string, AgentSpanNode> = new LimitedMap(OPEN_SPANS_LIMIT)
  /** Keyed by session. Two turns of one session are never open at once. */
  readonly openTurns: Map<string | undefined, AgentTurn> = new LimitedMap(OPEN_TURNS_LIMIT)
  /** A runner is traced that does not report the trace. */
  isSomeRunnerTraced = false
  /** Two generations: finding the oldest entry of a map with many deletions is slow. */
  #ended = new Map<string, AgentTurn | undefined>()
  #endedBefore = new Map<string, AgentTurn | undefined>()

  constructor(records: Records) {
    this.records = records
  }

  /** True if this span has ended, so that a repeated or late start adds nothing. */
  hasEnded(spanId: string): boolean {
    return this.#ended.has(spanId) || this.#endedBefore.has(spanId)
  }

  endedTurn(spanId: string): AgentTurn | undefined {
    return this.#ended.get(spanId) ?? this.#endedBefore.get(spanId)
  }

  node(spanId: string): AgentSpanNode {
    const known = this.nodes.get(spanId)
    if (known !== undefined) return known
    const node = new AgentSpanNode(spanId)
    this.nodes.set(spanId, node)
    return node
  }

  markEnded(spanId: string, turn: AgentTurn | undefined): void {
    this.nodes.delete(spanId)
    this.#ended.set(spanId, turn)
    if (this.#ended.size < ENDED_SPANS_LIMIT) return
    this.#endedBefore = this.#ended
    this.#ended = new Map()
  }
}

/**
 * Remembers a call that needs the user's approval. The host ends the run, and another run in the same trace continues it after
 * the decision. The wait lies in between, as a child of the turn that requested it.
 */
export function addPendingApproval(turn: AgentTurn, call: AnswerToolCall): PendingApproval {
  const { pendingApprovals: waiting } = turn.trace
  const known = waiting.get(call.id)
  if (known?.turn === turn) return known
  const added = new PendingApproval(turn, call)
  waiting.set(call.id, added)
  return added
}

export function emitApprovalRequest(waiting: PendingApproval, at: number, correlation?: Correlation): void {
  if (!waiting.isAsked) waiting.askedAt = at
  waiting.emitRequest({ command: waiting.call.args, surface: 'interruption' }, correlation)
}

/** The decision came before this process knew of the request: both are emitted now. */
function emitDecision(turn: AgentTurn, { call, choice }: CallDecision, at: number): void {
  const waiting = addPendingApproval(turn, call)
  emitApprovalRequest(waiting, at, 'inferred')
  waiting.emitResponse(at, choice)
}

export function settleApproval(trace: Trace, callId: string, at: number, choice: Choice): void {
  const waiting = trace.pendingApprovals.get(callId)
  if (waiting === undefined) return
  trace.pendingApprovals.delete(callId)
  if (waiting.isAsked) waiting.emitResponse(at, choice, 'inferred')
}

/** The call is made again when the run continues, without an approval of its own. */
export function expectRepeatedCall(turn: AgentTurn, call: AnswerToolCall): void {
  const waiting = addPendingApproval(turn, call)
  waiting.isAsked = true
  waiting.isAnswered = true
}

/** Longer arguments are not parsed: no target or command is that long. Characters. */
const PARSE_LIMIT = 8 * 1024

/** Begins a turn, once the agent's name is known: the host reports it next. */
export function openTurn(turn: AgentTurn): void {
  if (turn.isOpen || turn.isOver) return
  turn.isOpen = true
  const { parent, agentName } = turn
  if (parent !== undefined) {
    openTurn(parent.turn)
    if (parent.tool !== undefined) emitToolStart(parent.tool)
    turn.task = new DelegatedTask(parent.turn, turn.startAt, {
      child_session_id: turn.sessionId,
      child_role: agentName,
      tool_call_id: parent.tool?.id,
    })
    turn.task.emitStart(parent.tool === undefined ? turn.prompt : goalOf(parent.tool))
  }
  turn.emit('on_session_start', turn.startAt, { agent_name: agentName })
}

/** Begins the loop of requests and tools, once the prompt is known. */
export function openLoop(turn: AgentTurn): void {
  if (turn.isLoopOpen || turn.isOver) return
  turn.isLoopOpen = true
  openTurn(turn)
  const { trace, startAt } = turn
  if (turn.parent === undefined) {
    // A run begun in another process continues its prompt.
    turn.prompt ??= trace.resumedRun?.prompt
    turn.model ??= trace.resumedRun?.model
    trace.resumedRun = undefined
  }
  const { prompt: user_message, history: conversation_history, model } = turn
  turn.emit('pre_llm_call', startAt, { user_message, conversation_history, model })
  if (turn.parent !== undefined || trace.decisions.length === 0) return
  const { decisions: decided } = trace
  trace.decisions = []
  for (const decision of decided) emitDecision(turn, decision, startAt)
}

export function emitToolStart(tool: ToolRun): void {
  if (tool.state !== 'asked') return
  tool.args = parseArguments(tool.text)
  openLoop(tool.turn)
  tool.turn.toolHooks.startTool(tool)
}

export function flushToolHooks(turn: AgentTurn): void {
  if (turn.toolHooks.isEmpty) return
  openLoop(turn)
  turn.toolHooks.flush()
}

/** The task of an agent that runs as a tool: the SDK's schema for it has one field. */
function goalOf({ text }: ToolRun): unknown {
  return textOf(peek(parseArguments(text), 'input')) ?? text
}

function parseArguments(text: string | undefined): unknown {
  if (text === undefined || text.length > PARSE_LIMIT || text[0] !== '{') return text
  return jsonIn(text, text)
}

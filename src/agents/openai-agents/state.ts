import { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { ToolHooks } from '../base/tool-hooks.ts'
import { RecordedTurn } from '../base/turn.ts'
import type { TokenUsage } from '../base/usage.ts'
import { SessionStates } from '../session-states.ts'
import type { AnswerToolCall, ModelAnswer } from './model-spans.ts'

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
  tokens: TokenUsage | undefined
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

/** An answer whose tokens only the loop's span reports. */
export interface UncountedAnswer {
  readonly request: ModelRequest
  readonly at: number
  readonly answer: ModelAnswer
}

/** The parent of an agent that runs as a tool, or in a guardrail. */
export interface TurnParent {
  readonly turn: AgentTurn
  readonly tool: ToolRun | undefined
}

export class AgentTurn extends RecordedTurn {
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
  uncounted: UncountedAnswer | undefined
  /** Tokens of its requests, including agents inside its tools. */
  tokens: TokenUsage | undefined
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
  nestedTokens: TokenUsage | undefined

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
  /** Decisions on calls of a run that began in another process. */
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
  /** By session. Two turns of one session are never open at once. */
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

import { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { ToolHooks } from '../base/tool-hooks.ts'
import { HostTurn } from '../base/turn.ts'
import type { TokenUsage } from '../base/usage.ts'
import { SessionStates } from '../session-states.ts'
import type { Answer, AskedCall } from './model-spans.ts'

/** Spans that are remembered while they are open, and for a while as ended ones. */
const OPEN_SPANS_LIMIT = 20_000
const ENDED_SPANS_LIMIT = 2500
const OPEN_TURNS_LIMIT = 1000
/** Calls of one trace that wait at once. */
const WAITING_LIMIT = 200

/** One model span: told when its model is known, which for the Responses API is at its end. */
export interface SpanRequest {
  readonly request: ModelRequest
  readonly turn: AgentTurn
  readonly type: string
  /** The host's own object, in a live run; it is filled until the span ends. */
  readonly data: unknown
}

/** One run of a tool. Its id is the call id of the model, or what we know it by. */
export class ToolRun extends Tool<AgentTurn> {
  /** Arguments as the model wrote them. */
  text: string | undefined
  /** An agent that ran as this tool waits for an approval: the tool has not really ended. */
  isInterrupted = false
  /** Tokens of the agents that ran inside. */
  tokens: TokenUsage | undefined
}

/** A tool call that waits for a person. */
export class Waiting extends Approval<AgentTurn> {
  readonly call: AskedCall

  constructor(turn: AgentTurn, call: AskedCall) {
    super(turn, call.id, call.name, 0)
    this.call = call
  }
}

/** A person's word on a call, in the words of the contract. */
export type Choice = 'once' | 'always' | 'deny'

export interface Decision {
  readonly call: AskedCall
  readonly choice: Choice
}

/** An answer of the model whose tokens only the loop's own span tells. */
export interface HeldAnswer {
  readonly request: ModelRequest
  readonly at: number
  readonly answer: Answer
}

/** Whose work a turn is part of: an agent that runs as a tool, or in a guardrail. */
export interface TurnParent {
  readonly turn: AgentTurn
  readonly tool: ToolRun | undefined
}

/** One user turn: one run of the host, or one run of an agent inside a tool. */
export class AgentTurn extends HostTurn {
  readonly trace: Trace
  readonly startAt: number
  readonly parent: TurnParent | undefined
  /** The span whose end is the turn's; none where its start was missed. */
  owner: SpanNode | undefined
  agentName: string | undefined
  model: string | undefined
  prompt: unknown
  history: readonly unknown[] | undefined
  answer: unknown
  isOpen = false
  isLoopOpen = false
  isOver = false
  isInterrupted = false
  /** Name of the guardrail that has stopped it. */
  guardrail: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  asked: readonly AskedCall[] = []
  readonly openRequests: Set<SpanRequest> = new Set()
  readonly openTools: Set<ToolRun> = new Set()
  readonly toolHooks: ToolHooks = new ToolHooks(this)
  held: HeldAnswer | undefined
  /** Tokens of its requests, those of agents inside its tools included. */
  tokens: TokenUsage | undefined
  handoffAt: number | undefined
  /** The task that it is, for its parent. */
  task: DelegatedTask | undefined
  /** The agent that it was handed over to, by its span. */
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

export class SpanNode {
  readonly id: string
  /** `unknown`: named as a parent, its start has not been seen. */
  kind = 'unknown'
  turn: AgentTurn | undefined
  request: SpanRequest | undefined
  /** The tool that this span is, or is inside of. */
  tool: ToolRun | undefined
  isTool = false
  /** Tokens of agents inside the tools of this loop. */
  nestedTokens: TokenUsage | undefined

  constructor(id: string) {
    this.id = id
  }
}

/** What a trace of the host is remembered by: a run that is resumed goes on in it, and is not announced again. */
export class Trace {
  readonly id: string
  groupId: string | undefined
  /** Our listeners are at its runner, which tells approvals for certain. */
  isHeard = false
  /** A turn whose beginning was missed. */
  stray: AgentTurn | undefined
  lastTurn: AgentTurn | undefined
  turns = 0
  /** Calls that a run ended without having made. */
  readonly waiting: Map<string, Waiting> = new LimitedMap(WAITING_LIMIT)
  /** Decisions on calls that we have not seen asked: the run was begun in another process. */
  decided: readonly Decision[] = []
  /** What the run is about that is about to go on. */
  resumed: { readonly prompt: unknown; readonly model: string | undefined } | undefined

  constructor(id: string) {
    this.id = id
  }
}

/** Everything that is remembered, each with a limit. */
export class Memory {
  readonly records: Records
  readonly traces: SessionStates<Trace> = new SessionStates(id => new Trace(id))
  readonly nodes: Map<string, SpanNode> = new LimitedMap(OPEN_SPANS_LIMIT)
  /** By session: two turns of one session are never open at once. */
  readonly openTurns: Map<string | undefined, AgentTurn> = new LimitedMap(OPEN_TURNS_LIMIT)
  /** Listeners are attached that do not say in which trace they hear. */
  hears = false
  /** Two generations: to find the oldest entry of a map from which many were deleted takes long. */
  #ended = new Map<string, AgentTurn | undefined>()
  #endedBefore = new Map<string, AgentTurn | undefined>()

  constructor(records: Records) {
    this.records = records
  }

  /** Whether this span has ended before, so that a repeat of it, or its late start, says nothing new. */
  hasEnded(spanId: string): boolean {
    return this.#ended.has(spanId) || this.#endedBefore.has(spanId)
  }

  /** The turn of a span that has ended: what comes late below it belongs there. */
  endedTurn(spanId: string): AgentTurn | undefined {
    return this.#ended.get(spanId) ?? this.#endedBefore.get(spanId)
  }

  /** What is known of this span; from now on something is. */
  node(spanId: string): SpanNode {
    const known = this.nodes.get(spanId)
    if (known !== undefined) return known
    const node = new SpanNode(spanId)
    this.nodes.set(spanId, node)
    return node
  }

  ended(spanId: string, turn: AgentTurn | undefined): void {
    this.nodes.delete(spanId)
    this.#ended.set(spanId, turn)
    if (this.#ended.size < ENDED_SPANS_LIMIT) return
    this.#endedBefore = this.#ended
    this.#ended = new Map()
  }
}

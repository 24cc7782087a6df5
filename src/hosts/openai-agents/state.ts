import { SessionStates } from '../session-states.ts'
import type { Answer, AskedCall } from './model-spans.ts'
import type { Tokens } from './usage.ts'

/** Spans that are remembered while they are open, and for a while as ended ones. */
const OPEN_SPANS_LIMIT = 20_000
const ENDED_SPANS_LIMIT = 2500
const OPEN_TURNS_LIMIT = 1000

/** One model request: told when its model is known, which for the Responses API is at its end. */
export interface Request {
  readonly id: string
  readonly turn: Turn
  readonly ordinal: number
  readonly attempt: number
  readonly type: string
  /** The host's own object, in a live run; it is filled until the span ends. */
  readonly data: unknown
  readonly startAt: number
  isTold: boolean
}

/** One run of a tool. */
export interface ToolRun {
  readonly turn: Turn
  readonly name: string
  readonly startAt: number
  /** The call id of the model, or what we know it by. */
  callId: string
  args: unknown
  readonly requestId: string | undefined
  isTold: boolean
  /** An agent that ran as this tool waits for an approval: the tool has not really ended. */
  isInterrupted: boolean
  /** Tokens of the agents that ran inside. */
  tokens: Tokens | undefined
}

/** A tool call that waits for a person. */
export interface Waiting {
  readonly call: AskedCall
  readonly turn: Turn
  isAsked: boolean
  isAnswered: boolean
}

/** A person's word on a call, in the words of the contract. */
export type Choice = 'once' | 'always' | 'deny'

export interface Decision {
  readonly call: AskedCall
  readonly choice: Choice
}

/** An answer of the model whose tokens only the loop's own span tells. */
export interface HeldAnswer {
  readonly request: Request
  readonly at: number
  readonly answer: Answer
}

export interface TurnParent {
  readonly turn: Turn
  readonly tool: ToolRun | undefined
}

/** One user turn: one run of the host, or one run of an agent inside a tool. */
export interface Turn {
  readonly id: string
  readonly sessionId: string
  readonly trace: Trace
  readonly startAt: number
  /** Whose work it is part of: an agent that runs as a tool, or in a guardrail. */
  readonly parent: TurnParent | undefined
  /** The span whose end is the turn's; none where its start was missed. */
  owner: SpanNode | undefined
  agentName: string | undefined
  model: string | undefined
  prompt: unknown
  history: readonly unknown[] | undefined
  answer: unknown
  isOpen: boolean
  isLoopOpen: boolean
  isOver: boolean
  isInterrupted: boolean
  /** Name of the guardrail that has stopped it. */
  guardrail: string | undefined
  requests: number
  lastRequest: string | undefined
  /** Requests that failed one after the other. */
  failures: number
  asked: readonly AskedCall[]
  readonly openRequests: Set<Request>
  readonly openTools: Set<ToolRun>
  held: HeldAnswer | undefined
  /** Tokens of its requests, those of agents inside its tools included. */
  tokens: Tokens | undefined
  handoffAt: number | undefined
  /** The span of the agent that the turn was handed over to. */
  delegate: { readonly id: string; readonly name: string | undefined; readonly startAt: number } | undefined
  lastAt: number
}

export interface SpanNode {
  readonly id: string
  /** `unknown`: named as a parent, its start has not been seen. */
  kind: string
  turn: Turn | undefined
  request: Request | undefined
  /** The tool that this span is, or is inside of. */
  tool: ToolRun | undefined
  isTool: boolean
  /** Tokens of agents inside the tools of this loop. */
  nestedTokens: Tokens | undefined
}

/** What a trace of the host is remembered by: a run that is resumed goes on in it, and is not announced again. */
export interface Trace {
  readonly id: string
  groupId: string | undefined
  /** Our listeners are at its runner, which tells approvals for certain. */
  isHeard: boolean
  /** A turn whose beginning was missed. */
  stray: Turn | undefined
  lastTurn: Turn | undefined
  turns: number
  /** Calls that a run ended without having made. */
  readonly waiting: Map<string, Waiting>
  /** Decisions on calls that we have not seen asked: the run was begun in another process. */
  decided: readonly Decision[]
  /** What the run is about that is about to go on. */
  resumed: { readonly prompt: unknown; readonly model: string | undefined } | undefined
}

function newTrace(id: string): Trace {
  return {
    id,
    groupId: undefined,
    isHeard: false,
    stray: undefined,
    lastTurn: undefined,
    turns: 0,
    waiting: new Map(),
    decided: [],
    resumed: undefined,
  }
}

type TurnIdentity = Pick<Turn, 'id' | 'sessionId' | 'trace' | 'startAt' | 'parent' | 'owner'>

/** Field by field: spreading into an object of this size is slow. */
export function newTurn({ id, sessionId, trace, startAt, parent, owner }: TurnIdentity): Turn {
  return {
    id,
    sessionId,
    trace,
    startAt,
    parent,
    owner,
    agentName: undefined,
    model: undefined,
    prompt: undefined,
    history: undefined,
    answer: undefined,
    isOpen: false,
    isLoopOpen: false,
    isOver: false,
    isInterrupted: false,
    guardrail: undefined,
    requests: 0,
    lastRequest: undefined,
    failures: 0,
    asked: [],
    openRequests: new Set(),
    openTools: new Set(),
    held: undefined,
    tokens: undefined,
    handoffAt: undefined,
    delegate: undefined,
    lastAt: startAt,
  }
}

function newNode(id: string): SpanNode {
  return {
    id,
    kind: 'unknown',
    turn: undefined,
    request: undefined,
    tool: undefined,
    isTool: false,
    nestedTokens: undefined,
  }
}

/** Everything that is remembered, each with a limit. */
export class Memory {
  readonly traces: SessionStates<Trace> = new SessionStates(newTrace)
  readonly nodes: Map<string, SpanNode> = new Map()
  /** By session: two turns of one session are never open at once. */
  readonly openTurns: Map<string, Turn> = new Map()
  /** Listeners are attached that do not say in which trace they hear. */
  hears = false
  /** Two generations: to find the oldest entry of a map from which many were deleted takes long. */
  #ended = new Map<string, Turn | undefined>()
  #endedBefore = new Map<string, Turn | undefined>()

  /** Whether this span has ended before, so that a repeat of it, or its late start, says nothing new. */
  hasEnded(spanId: string): boolean {
    return this.#ended.has(spanId) || this.#endedBefore.has(spanId)
  }

  /** The turn of a span that has ended: what comes late below it belongs there. */
  endedTurn(spanId: string): Turn | undefined {
    return this.#ended.get(spanId) ?? this.#endedBefore.get(spanId)
  }

  /** What is known of this span; from now on something is. */
  node(spanId: string): SpanNode {
    const known = this.nodes.get(spanId)
    if (known !== undefined) return known
    const node = newNode(spanId)
    this.nodes.set(spanId, node)
    if (this.nodes.size <= OPEN_SPANS_LIMIT) return node
    const [oldest] = this.nodes.keys()
    if (oldest !== undefined) this.nodes.delete(oldest)
    return node
  }

  opened(turn: Turn): void {
    this.openTurns.set(turn.sessionId, turn)
    if (this.openTurns.size <= OPEN_TURNS_LIMIT) return
    const [oldest] = this.openTurns.keys()
    if (oldest !== undefined) this.openTurns.delete(oldest)
  }

  closed(turn: Turn): void {
    if (this.openTurns.get(turn.sessionId) === turn) this.openTurns.delete(turn.sessionId)
  }

  ended(spanId: string, turn: Turn | undefined): void {
    this.nodes.delete(spanId)
    this.#ended.set(spanId, turn)
    if (this.#ended.size < ENDED_SPANS_LIMIT) return
    this.#endedBefore = this.#ended
    this.#ended = new Map()
  }
}

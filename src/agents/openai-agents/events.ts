import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Correlation } from '../../contract/index.ts'
import type { EventHandler, EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { HostTurn, type HostTurnEnd, type Records } from '../base/records.ts'
import { type ModelRequest, RequestCounter } from '../base/requests.ts'
import { Approval, type ControlHookName, DelegatedTask, Tool, ToolHooks } from '../base/tool.ts'
import { addUsage, type UsageCounts } from '../base/usage.ts'
import { jsonIn } from '../event-json.ts'
import type { LoosePayload } from '../host-event.ts'
import type { AnswerToolCall, ModelAnswer } from './messages.ts'
import {
  answerMessage,
  answerOf,
  countOf,
  historyOf,
  ItemConversation,
  isModelKnown,
  isModelSpan,
  promptOf,
  requestOf,
  tokensOf,
  withoutUsage,
} from './messages.ts'

const OPEN_SPANS_LIMIT = 20_000
const ENDED_SPANS_LIMIT = 2500
const OPEN_TURNS_LIMIT = 1000
const PENDING_LIMIT = 200

interface OpenModelRequest {
  readonly request: ModelRequest
  readonly turn: AgentTurn
  readonly type: string
  readonly data: unknown
}

/** One run of a tool. Its id is the model's call id, or else the span's. */
class ToolRun extends Tool<AgentTurn> {
  text: string | undefined
  /** An agent that ran as this tool needs an approval: the tool has not really ended. */
  isInterrupted = false
  tokens: UsageCounts | undefined
}

class PendingApproval extends Approval<AgentTurn> {
  readonly call: AnswerToolCall

  constructor(turn: AgentTurn, call: AnswerToolCall) {
    super(turn, call.id, call.name, 0)
    this.call = call
  }
}

type Choice = 'once' | 'always' | 'deny'

interface CallDecision {
  readonly call: AnswerToolCall
  readonly choice: Choice
}

interface TurnParent {
  readonly turn: AgentTurn
  readonly tool: ToolRun | undefined
}

class AgentTurn extends HostTurn {
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

class AgentSpanNode {
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

/** A trace of the host. A resumed run continues in it without a new start. `stray`: a turn whose start was missed. */
class Trace {
  readonly id: string
  groupId: string | undefined
  /** True if its runner is traced, which reports approvals reliably. */
  isRunnerTraced = false
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

class Memory {
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
function addPendingApproval(turn: AgentTurn, call: AnswerToolCall): PendingApproval {
  const { pendingApprovals: waiting } = turn.trace
  const known = waiting.get(call.id)
  if (known?.turn === turn) return known
  const added = new PendingApproval(turn, call)
  waiting.set(call.id, added)
  return added
}

function emitApprovalRequest(waiting: PendingApproval, at: number, correlation?: Correlation): void {
  if (!waiting.isAsked) waiting.askedAt = at
  waiting.emitRequest({ command: waiting.call.args, surface: 'interruption' }, correlation)
}

/** The decision came before this process knew of the request: both are emitted now. */
function emitDecision(turn: AgentTurn, { call, choice }: CallDecision, at: number): void {
  const waiting = addPendingApproval(turn, call)
  emitApprovalRequest(waiting, at, 'inferred')
  waiting.emitResponse(at, choice)
}

function settleApproval(trace: Trace, callId: string, at: number, choice: Choice): void {
  const waiting = trace.pendingApprovals.get(callId)
  if (waiting === undefined) return
  trace.pendingApprovals.delete(callId)
  if (waiting.isAsked) waiting.emitResponse(at, choice, 'inferred')
}

/** The call is made again when the run continues, without an approval of its own. */
function expectRepeatedCall(turn: AgentTurn, call: AnswerToolCall): void {
  const waiting = addPendingApproval(turn, call)
  waiting.isAsked = true
  waiting.isAnswered = true
}

/** Longer arguments are not parsed: no target or command is that long. Characters. */
const PARSE_LIMIT = 8 * 1024

/** Begins a turn, once the agent's name is known: the host reports it next. */
function openTurn(turn: AgentTurn): void {
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
function openLoop(turn: AgentTurn): void {
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

function emitToolStart(tool: ToolRun): void {
  if (tool.state !== 'asked') return
  tool.args = parseArguments(tool.text)
  openLoop(tool.turn)
  tool.turn.toolHooks.startTool(tool)
}

function flushToolHooks(turn: AgentTurn): void {
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

const CALLS_LIMIT = 100
const CHOICES: ReadonlySet<unknown> = new Set<Choice>(['once', 'always', 'deny'])

/** Extra lines of captures, and events that add nothing to others. */
const QUIET = [
  ...['agent.agent_start', 'agent.agent_end', 'agent.agent_handoff', 'agent.agent_tool_start', 'agent.agent_tool_end'],
  ...['runner.agent_handoff', 'runner.agent_tool_end', 'proc_start', 'proc_shutdown', 'proc_flush', 'stream'],
  ...['RESULT', 'THROWN'],
]

/** Places the SDK's spans in turns, in whatever order they arrive, and reads the events of traced runners. */
export class OpenAiAgentsMachine extends EventMachine {
  readonly #memory = new Memory(this.records)
  protected readonly events: EventHandlers = eventHandlers(
    {
      trace_start: ({ data }) => this.#startTrace(data),
      trace_end: moment => this.#endTrace(moment),
      span_start: withSpan(span => this.#startSpan(span)),
      span_end: withSpan(span => this.#endSpan(span)),
      pre_control_hook: moment => receiveControlHook(this.#memory, 'pre_control_hook', moment),
      post_control_hook: moment => receiveControlHook(this.#memory, 'post_control_hook', moment),
      'runner.agent_start': moment => this.#handleAgentStart(moment),
      'runner.agent_end': moment => this.#handleAgentEnd(moment),
      'runner.agent_tool_start': moment => this.#handleToolStart(moment),
      'runner.interrupted': moment => this.#handleInterruption(moment),
      'runner.resumed': moment => this.#handleResumption(moment),
    },
    QUIET,
  )

  protected endSessions(at: number): void {
    // Nested agents end first: the newest is the deepest.
    const open = [...this.#memory.openTurns.values()].reverse()
    for (const turn of open) endTurn(this.#memory, turn, { at: Math.max(at, turn.startAt), isCutOff: true })
    // Turns with work that began after their end and has not ended.
    const late = [...this.#memory.nodes.values()].filter(({ request, isTool }) => request !== undefined || isTool)
    for (const turn of new Set(late.flatMap(node => node.turn ?? []))) endLate(turn, at)
  }

  /** A run resumed inside a tool starts its trace again. */
  #startTrace(data: unknown): void {
    const id = idOf(peek(data, 'id'))
    if (id !== undefined) this.#memory.traces.get(id).groupId ??= idOf(peek(data, 'group_id'))
  }

  /**
   * Ends the runs whose own end was not received, except those with a running tool: the trace may be that of a run
   * inside it.
   */
  #endTrace({ data, at }: TimedEvent): void {
    const id = idOf(peek(data, 'id'))
    const trace = id === undefined ? undefined : this.#memory.traces.find(id)
    if (trace === undefined) return
    for (const turn of [...this.#memory.openTurns.values()]) {
      const isOfTrace = turn.trace === trace && turn.parent === undefined && turn.openTools.size === 0
      if (isOfTrace) endTurn(this.#memory, turn, { at: Math.max(at, turn.lastAt) })
    }
  }

  #handleAgentStart(event: TimedEvent): void {
    this.#markAsTraced(event)
    const turn = this.#turnOf(event)
    if (turn === undefined) return
    const input = peek(event.data, 'turnInput')
    turn.prompt ??= promptOf(input)
    turn.history ??= historyOf(input)
    turn.model ??= textOf(peek(event.data, 'model'))
    if (turn.prompt !== undefined) openLoop(turn)
  }

  #handleAgentEnd(event: TimedEvent): void {
    const turn = this.#turnOf(event)
    const output = textOf(peek(event.data, 'output'))
    if (turn !== undefined && output !== undefined) turn.answer = output
  }

  #handleToolStart({ data }: TimedEvent): void {
    receiveToolCall(this.#memory, idOf(peek(data, 'span_id')), peek(peek(data, 'details'), 'toolCall'))
  }

  #handleInterruption(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) return
    for (const said of elementsOf(peek(event.data, 'calls'), CALLS_LIMIT)) {
      const call = callOf(said)
      const turn = trace.lastTurn
      if (call === undefined || turn === undefined) continue
      if (!turn.isOver) {
        // Received before the end of the run: the calls left over at the end need approval.
        trace.isRunnerTraced = false
        return
      }
      const waiting = trace.pendingApprovals.get(call.id) ?? addPendingApproval(turn, call)
      emitApprovalRequest(waiting, event.at)
    }
  }

  #handleResumption(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) return
    trace.isRunnerTraced = true
    trace.groupId ??= idOf(peek(event.data, 'group_id'))
    trace.resumedRun = { prompt: promptOf(peek(event.data, 'input')), model: textOf(peek(event.data, 'model')) }
    for (const said of elementsOf(peek(event.data, 'calls'), CALLS_LIMIT)) {
      const call = callOf(said)
      const choice = peek(said, 'choice')
      if (call === undefined || !CHOICES.has(choice)) continue
      const waiting = trace.pendingApprovals.get(call.id)
      if (waiting?.isAsked) waiting.emitResponse(event.at, choice)
      else trace.decisions = [...trace.decisions, { call, choice: choice as Choice }].slice(-CALLS_LIMIT)
    }
  }

  #markAsTraced(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) this.#memory.isSomeRunnerTraced = true
    else trace.isRunnerTraced = true
  }

  #traceOf({ data }: TimedEvent): Trace | undefined {
    const id = idOf(peek(data, 'trace_id'))
    return id === undefined ? undefined : this.#memory.traces.get(id)
  }

  #turnOf({ data }: TimedEvent): AgentTurn | undefined {
    const span = idOf(peek(data, 'span_id'))
    if (span !== undefined) return this.#memory.nodes.get(span)?.turn
    const [only, ...others] = this.#memory.openTurns.values()
    return others.length === 0 ? only : undefined
  }

  #startSpan(span: RawSpan): void {
    const known = this.#memory.nodes.get(span.id)
    const isRepeat = known === undefined ? this.#memory.hasEnded(span.id) : known.kind !== 'unknown'
    if (!isRepeat) this.#placeSpan(span)
  }

  #endSpan(span: RawSpan): void {
    const known = this.#memory.nodes.get(span.id)
    if (known === undefined && this.#memory.hasEnded(span.id)) return
    // The start was missed; the end repeats its fields.
    const node = known === undefined || known.kind === 'unknown' ? this.#placeSpan(span) : known
    this.#endNode(node, span)
    this.#memory.markEnded(span.id, node.turn)
  }

  #placeSpan(span: RawSpan): AgentSpanNode {
    const trace = this.#traceOfSpan(span)
    const node = this.#memory.node(span.id)
    const parent = this.#parentOf(span)
    node.kind = span.type
    node.turn ??= parent?.turn ?? (span.parentId === undefined ? undefined : this.#memory.endedTurn(span.parentId))
    node.tool = parent?.tool
    this.#beginNode(node, span, trace, parent)
    if (node.turn !== undefined) node.turn.lastAt = span.startAt
    return node
  }

  /** Only runs refresh a trace: the least recently active one is dropped first. */
  #traceOfSpan({ traceId, type }: RawSpan): Trace {
    const known = type === 'task' || type === 'agent' ? undefined : this.#memory.traces.find(traceId)
    return known ?? this.#memory.traces.get(traceId)
  }

  /** A parent without a received start is remembered, in case it is still to come. */
  #parentOf({ parentId }: RawSpan): AgentSpanNode | undefined {
    if (parentId === undefined) return undefined
    const known = this.#memory.nodes.get(parentId)
    if (known !== undefined || this.#memory.hasEnded(parentId)) return known
    return this.#memory.node(parentId)
  }

  #beginNode(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): void {
    if (span.type === 'task') this.#beginTask(node, span, trace)
    else if (span.type === 'agent') this.#beginAgent(node, span, trace, parent)
    else if (isModelSpan(span.type)) startRequest(this.#turnOfSpan(node, span, trace, parent), node, span)
    else if (span.type === 'function') {
      const turn = this.#turnOfSpan(node, span, trace, parent)
      startTool(turn, node, span, trace.isRunnerTraced || this.#memory.isSomeRunnerTraced)
    } else if (span.type === 'handoff' && node.turn !== undefined) {
      node.turn.handoffAt = span.startAt
      // The handoff answers these calls; no tool runs for them.
      node.turn.requestedCalls = []
    }
  }

  #beginTask(node: AgentSpanNode, span: RawSpan, trace: Trace): void {
    const { stray } = trace
    if (node.turn !== undefined && !node.turn.isOver && node.turn !== stray) this.#beginChild(node, span, trace)
    else if (stray !== undefined && stray.owner === undefined) {
      stray.owner = node
      node.turn = stray
    } else node.turn = beginTurn(this.#memory, trace, node, span.startAt)
  }

  #beginChild(node: AgentSpanNode, span: RawSpan, trace: Trace): void {
    const parent = node.turn === undefined ? undefined : { turn: node.turn, tool: node.tool }
    node.turn = beginTurn(this.#memory, trace, node, span.startAt, parent)
    node.tool = undefined
  }

  #beginAgent(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): void {
    const name = textOf(peek(span.data, 'name'))
    const isOfTask = parent === undefined || parent.kind === 'task' || parent.kind === 'unknown'
    if (node.turn !== undefined && !isOfTask) this.#beginChild(node, span, trace)
    node.turn ??= turnHandingOver(trace) ?? trace.stray ?? beginTurn(this.#memory, trace, node, span.startAt)
    const { turn } = node
    if (turn.agentName === undefined) {
      turn.agentName = name
      openTurn(turn)
    } else handOver(turn, node.id, name, span.startAt)
  }

  /** The span's turn. A new one if the host continues below the agent of an ended turn. */
  #turnOfSpan(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): AgentTurn {
    const known = node.turn
    const goesOn = known?.isOver === true && parent !== undefined && known.owner === parent
    if (known !== undefined && !goesOn) return known
    if (known === undefined) trace.stray ??= beginTurn(this.#memory, trace, undefined, span.startAt)
    const turn = goesOn ? beginTurn(this.#memory, trace, parent, span.startAt) : (trace.stray as AgentTurn)
    if (goesOn) turn.agentName = known.agentName
    node.turn = turn
    if (parent !== undefined) parent.turn = turn
    return turn
  }

  #endNode(node: AgentSpanNode, span: RawSpan): void {
    const { turn, request, tool } = node
    if (turn === undefined) return
    if (node.kind === 'task') endTurn(this.#memory, turn, { at: span.endAt, error: span.error })
    else if (node.kind === 'agent') this.#endAgent(node, turn, span)
    else if (request !== undefined) endRequest(request, span, this.#parentOf(span))
    else if (tool !== undefined && node.isTool) this.#endTool(tool, span)
    else if (node.kind === 'turn')
      emitUncountedAnswer(turn, withoutUsage(tokensOf(peek(span.data, 'usage')), node.nestedTokens))
    else if (node.kind === 'guardrail' && peek(span.data, 'triggered') === true)
      turn.guardrail = textOf(peek(span.data, 'name')) ?? 'guardrail'
  }

  /** Without task spans, a turn ends with its agent, unless it has handed over to another. */
  #endAgent(node: AgentSpanNode, turn: AgentTurn, span: RawSpan): void {
    const isDelegate = turn.delegate?.id === node.id
    if (isDelegate) endDelegation(turn, span.endAt, span.error)
    const isRun = turn.owner?.kind === 'agent' && (turn.owner === node || isDelegate)
    if (isRun && (turn.handoffAt === undefined || span.error !== undefined))
      endTurn(this.#memory, turn, { at: span.endAt, error: span.error })
  }

  #endTool(tool: ToolRun, span: RawSpan): void {
    const { turn } = tool
    settleApproval(turn.trace, tool.id, turn.startAt, isRejected(span.error) ? 'deny' : 'once')
    endTool(tool, span)
    turn.tokens = addUsage(turn.tokens, tool.tokens)
    const loop = this.#parentOf(span)
    if (loop !== undefined) loop.nestedTokens = addUsage(loop.nestedTokens, tool.tokens)
    if (tool.isInterrupted) expectRepeatedCall(turn, { id: tool.id, name: textOf(tool.name) ?? '', args: tool.text })
  }
}

function withSpan(take: (span: RawSpan) => void): EventHandler {
  return moment => {
    const span = readSpan(moment)
    if (span !== undefined) take(span)
  }
}

function callOf(said: unknown): AnswerToolCall | undefined {
  const id = idOf(peek(said, 'call_id'))
  const name = textOf(peek(said, 'name'))
  return id === undefined || name === undefined ? undefined : { id, name, args: textOf(peek(said, 'arguments')) }
}

function turnHandingOver({ lastTurn }: Trace): AgentTurn | undefined {
  return lastTurn !== undefined && !lastTurn.isOver && lastTurn.handoffAt !== undefined ? lastTurn : undefined
}

/** After this time without an event, a turn is over: its end was lost. */
const STALE_MILLIS = 600_000
const APPROVAL = 'approval'

interface AgentTurnEnd {
  readonly at: number
  readonly error?: unknown
  readonly isCutOff?: boolean
}

function beginTurn(
  memory: Memory,
  trace: Trace,
  owner: AgentSpanNode | undefined,
  startAt: number,
  parent?: TurnParent,
): AgentTurn {
  trace.turns += 1
  const said = owner?.id ?? trace.id
  const turnId = owner?.turn?.owner === owner || owner === undefined ? `${said}:${trace.turns}` : said
  const sessionId = parent === undefined ? sessionOf(memory, trace, turnId, startAt) : turnId
  const turn = new AgentTurn(memory.records, { sessionId, turnId }, trace, startAt, parent)
  turn.owner = owner
  if (parent === undefined) trace.lastTurn = turn
  memory.openTurns.set(sessionId, turn)
  return turn
}

/** Concurrent runs in one conversation do not interrupt each other: all but the first get a session of their own. */
function sessionOf({ openTurns }: Memory, trace: Trace, turnId: string, at: number): string {
  const session = trace.groupId ?? trace.id
  const running = openTurns.get(session)
  return running === undefined || at - running.lastAt > STALE_MILLIS ? session : `${session}:${turnId}`
}

function endTurn(memory: Memory, turn: AgentTurn, over: AgentTurnEnd): void {
  if (turn.isOver) return
  const { at, error, isCutOff } = over
  emitUncountedAnswer(turn, undefined)
  emitOpenRequests(turn)
  emitOpenTools(turn)
  flushToolHooks(turn)
  openTurn(turn)
  endDelegation(turn, at, error)
  const hasFailed = failureOf(error) !== undefined
  const isWaiting = !hasFailed && isCutOff !== true && (turn.requestedCalls.length > 0 || turn.isInterrupted)
  const end = endOf(turn, over, isWaiting)
  if (turn.isLoopOpen) turn.emitAnswer(at, end.outcome === 'completed' ? turn.answer : undefined, turn.model)
  turn.emitEnd(at, end)
  turn.isOver = true
  endTask(turn, at, end)
  if (isWaiting) addPendingApprovals(turn, at)
  if (memory.openTurns.get(turn.sessionId) === turn) memory.openTurns.delete(turn.sessionId)
  forgetContent(turn, isWaiting)
}

function endLate(turn: AgentTurn, at: number): void {
  if (turn.openRequests.size + turn.openTools.size === 0) return
  emitOpenRequests(turn)
  emitOpenTools(turn)
  turn.emitEnd(Math.max(at, turn.lastAt), { outcome: 'interrupted' })
}

function endDelegation(turn: AgentTurn, at: number, error: unknown): void {
  const { delegate } = turn
  turn.delegate = undefined
  delegate?.task.emitEnd(at, { status: failureOf(error) === undefined ? 'completed' : 'failed' })
}

/** Another agent continues the turn: a delegation until that agent ends. */
function handOver(turn: AgentTurn, id: string, name: string | undefined, at: number): void {
  if (turn.isOver) return
  openLoop(turn)
  endDelegation(turn, at, undefined)
  const ids = { child_subagent_id: id, child_role: name }
  turn.delegate = { id, task: new DelegatedTask(turn, turn.handoffAt ?? at, ids) }
  turn.handoffAt = undefined
  turn.delegate.task.emitStart(undefined)
}

function endTask(turn: AgentTurn, at: number, { outcome, reason }: HostTurnEnd): void {
  const { parent } = turn
  if (parent?.tool !== undefined) {
    parent.tool.tokens = addUsage(parent.tool.tokens, turn.tokens)
    parent.tool.isInterrupted ||= reason === APPROVAL
    parent.turn.isInterrupted ||= reason === APPROVAL
  }
  turn.task?.emitEnd(at, { status: outcome, summary: turn.answer })
}

/** A traced runner reports which calls need approval. Without one, all calls left over do. */
function addPendingApprovals(turn: AgentTurn, at: number): void {
  for (const call of turn.requestedCalls) {
    const waiting = addPendingApproval(turn, call)
    if (!turn.trace.isRunnerTraced) emitApprovalRequest(waiting, at, 'inferred')
  }
}

/** The core keeps what late records need; content must not stay in memory with the turn. */
function forgetContent(turn: AgentTurn, isWaiting: boolean): void {
  if (turn.trace.stray === turn) turn.trace.stray = undefined
  turn.requestedCalls = []
  turn.history = undefined
  turn.answer = undefined
  if (!isWaiting) turn.prompt = undefined
}

function endOf(turn: AgentTurn, { error, isCutOff }: AgentTurnEnd, isWaiting: boolean): HostTurnEnd {
  const { model } = turn
  if (isCutOff === true) return { outcome: 'interrupted', reason: 'cut_off', model }
  if (isWaiting) return { outcome: 'interrupted', reason: APPROVAL, model }
  const failure = failureOf(error)
  if (failure === undefined) return { outcome: 'completed', reason: undefined, model }
  if (turn.guardrail !== undefined) return { outcome: 'interrupted', reason: 'guardrail', model }
  const { isStopped, reason } = exitOf(failure, turn.requests.failures > 0)
  return { outcome: isStopped ? 'interrupted' : 'failed', reason, model }
}

const REJECTED = 'was manually rejected by user.'
const TIMEOUT = 'ToolTimeoutError'

/**
 * Starts a function span's tool. The span has no call id; the answer that requested it has.
 *
 * @param mayWait a traced runner will report the call id if no answer did
 */
function startTool(turn: AgentTurn, node: AgentSpanNode, span: RawSpan, mayWait: boolean): void {
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

function receiveToolCall(memory: Memory, spanId: string | undefined, toolCall: unknown): void {
  const node = spanId === undefined ? undefined : memory.nodes.get(spanId)
  const named = node?.isTool ? node.tool : undefined
  const tool = spanId === undefined ? unstartedTool(memory, textOf(peek(toolCall, 'name'))) : named
  if (tool?.state !== 'asked') return
  tool.id = textOf(peek(toolCall, 'callId')) ?? textOf(peek(toolCall, 'id')) ?? tool.id
  tool.text ??= textOf(peek(toolCall, 'arguments'))
  emitToolStart(tool)
}

function receiveControlHook({ nodes, records }: Memory, hook: ControlHookName, { at, data }: TimedEvent): void {
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

function endTool(tool: ToolRun, span: RawSpan): void {
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

function emitOpenTools(turn: AgentTurn): void {
  for (const tool of turn.openTools) emitToolStart(tool)
  turn.openTools.clear()
}

function isRejected(error: unknown): boolean {
  return textOf(peek(peek(error, 'data'), 'error'))?.endsWith(REJECTED) === true
}

interface ClaimedCall extends AnswerToolCall {
  readonly from?: AgentTurn
}

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

/**
 * A span of the Responses API names its model only at its end, and a span cannot be renamed. Its start is emitted then,
 * with its own time.
 */
function startRequest(turn: AgentTurn, node: AgentSpanNode, { type, data, startAt }: RawSpan): void {
  emitUncountedAnswer(turn, undefined)
  flushToolHooks(turn)
  const asked = { request: turn.requests.nextRequest(startAt, { keepsId: false }), turn, type, data }
  node.request = asked
  turn.openRequests.add(asked)
  if (isModelKnown(type, data)) emitRequestStart(asked, data)
}

function endRequest(asked: OpenModelRequest, span: RawSpan, loop: AgentSpanNode | undefined): void {
  const { turn, request } = asked
  emitRequestStart(asked, span.data)
  turn.openRequests.delete(asked)
  const failure = failureOf(span.error)
  if (failure !== undefined) {
    turn.requests.failures += 1
    const { type, message, statusCode } = failure
    request.emitFailure(span.endAt, { status_code: statusCode, error: { type, message } })
    return
  }
  turn.requests.failures = 0
  const answer = answerOf(asked.type, span.data)
  turn.requestedCalls = answer.calls
  turn.answer = answer.calls.length > 0 ? undefined : answer.text
  turn.tokens = addUsage(turn.tokens, answer.tokens)
  if (answer.tokens === undefined && loop?.kind === 'turn' && !turn.isOver) {
    turn.uncounted = { request, at: span.endAt, answer }
  } else emitAnswer(request, span.endAt, answer, answer.tokens)
}

/**
 * Without traced content, the host reports tokens only for the loop around a request. The loop has one request, and
 * agents in its tools, whose share is known.
 */
function emitUncountedAnswer(turn: AgentTurn, tokens: UsageCounts | undefined): void {
  const { uncounted: held } = turn
  if (held === undefined) return
  turn.uncounted = undefined
  turn.tokens = addUsage(turn.tokens, tokens)
  emitAnswer(held.request, held.at, held.answer, tokens)
}

function emitOpenRequests(turn: AgentTurn): void {
  for (const asked of turn.openRequests) emitRequestStart(asked, asked.data)
  turn.openRequests.clear()
}

function emitRequestStart({ request, turn, type }: OpenModelRequest, data: unknown): void {
  if (request.isStartEmitted) return
  const asked = requestOf(type, data)
  turn.model = asked.model ?? turn.model
  turn.prompt ??= promptOf(asked.input)
  turn.history ??= historyOf(asked.input)
  openLoop(turn)
  request.emitStart({
    model: turn.model,
    provider: asked.provider,
    base_url: asked.baseUrl,
    api_mode: asked.apiMode,
    message_count: countOf(asked.input),
    tool_count: asked.toolCount,
    temperature: peek(asked.parameters, 'temperature') ?? undefined,
    top_p: peek(asked.parameters, 'top_p') ?? undefined,
    frequency_penalty: peek(asked.parameters, 'frequency_penalty') ?? undefined,
    presence_penalty: peek(asked.parameters, 'presence_penalty') ?? undefined,
    max_tokens: asked.maxTokens,
    reasoning_effort: asked.reasoningEffort,
    system_prompt: asked.instructions,
    request: asked.input === undefined ? undefined : new ItemConversation(asked.input),
  })
}

function emitAnswer(request: ModelRequest, at: number, answer: ModelAnswer, usage: UsageCounts | undefined): void {
  const message = answerMessage(answer)
  request.emitAnswer(at, {
    finish_reason: answer.finishReason,
    response_model: answer.model,
    response_id: answer.id,
    assistant_tool_call_count: answer.calls.length,
    response: message === undefined ? undefined : { assistant_message: message },
    usage,
  })
}

/** Spans of the SDK's run loop are `task` and `turn` on the live object, and `custom` in its JSON. */
function ownTypeOf(data: unknown): { type: string; data: unknown } {
  const type = textOf(peek(data, 'type')) ?? 'unknown'
  const inner = type === 'custom' ? peek(data, 'data') : undefined
  const own = textOf(peek(inner, 'sdk_span_type'))
  return own === undefined ? { type, data } : { type: own, data: inner }
}

function epochMillis(iso: unknown): number | undefined {
  const millis = typeof iso === 'string' ? Date.parse(iso) : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}

/** Parses times lazily and once: it costs as much as everything else, and an end needs only one of them. */
class RawSpan {
  readonly id: string
  readonly traceId: string
  /**
   * `task`, `agent`, `turn`, `response`, `generation`, `function`, `handoff`, `guardrail`, `custom`, … The host fills `data`,
   * its own object, until the span ends.
   */
  readonly type: string
  readonly data: unknown
  readonly #event: TimedEvent
  #startAt: number | undefined

  constructor(id: string, traceId: string, event: TimedEvent) {
    const { type, data } = ownTypeOf(peek(event.data, 'span_data'))
    this.id = id
    this.traceId = traceId
    this.type = type
    this.data = data
    this.#event = event
  }

  get parentId(): string | undefined {
    return idOf(peek(this.#event.data, 'parent_id'))
  }

  get startAt(): number {
    this.#startAt ??= epochMillis(peek(this.#event.data, 'started_at')) ?? this.#event.at
    return this.#startAt
  }

  get endAt(): number {
    return epochMillis(peek(this.#event.data, 'ended_at')) ?? this.#event.at
  }

  get error(): unknown {
    return peek(this.#event.data, 'error') ?? undefined
  }
}

function readSpan(event: TimedEvent): RawSpan | undefined {
  const id = idOf(peek(event.data, 'id'))
  const traceId = idOf(peek(event.data, 'trace_id'))
  return id === undefined || traceId === undefined ? undefined : new RawSpan(id, traceId, event)
}

interface SpanFailure {
  readonly type: string | undefined
  readonly message: string
  readonly statusCode: number | undefined
}

const CLASS_NAME_LIMIT = 80

/** The OpenAI client's classes by HTTP status: the host reports only the message, which begins with the status. */
const CLASS_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequestError'],
  [401, 'AuthenticationError'],
  [403, 'PermissionDeniedError'],
  [404, 'NotFoundError'],
  [409, 'ConflictError'],
  [422, 'UnprocessableEntityError'],
  [429, 'RateLimitError'],
])

const CLASS_OF_MESSAGE: ReadonlyMap<string, string> = new Map([
  ['Connection error.', 'APIConnectionError'],
  ['Request timed out.', 'APIConnectionTimeoutError'],
  ['Request was aborted.', 'APIUserAbortError'],
])

/** `TypeError: x` -> `TypeError` and `x`. Text without a class name is all message. */
function split(text: string): { type: string | undefined; message: string } {
  const colon = text.indexOf(': ')
  const name = colon > 0 && colon <= CLASS_NAME_LIMIT ? text.slice(0, colon) : ''
  const isClass = name !== '' && !name.includes(' ')
  return isClass ? { type: name, message: text.slice(colon + 2) } : { type: undefined, message: text }
}

function leadingStatus(message: string): number | undefined {
  if (message.length > 3 && message[3] !== ' ') return undefined
  const status = Number(message.slice(0, 3))
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

function classOfStatus(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  return CLASS_OF_STATUS.get(status) ?? (status >= 500 ? 'InternalServerError' : undefined)
}

/** The message is often a generic heading, with the exception in the span's data. */
function failureOf(error: unknown): SpanFailure | undefined {
  if (error === undefined || error === null) return undefined
  const heading = textOf(peek(error, 'message')) ?? textOf(error) ?? 'failed'
  const { type, message } = split(textOf(peek(peek(error, 'data'), 'error')) ?? heading)
  const statusCode = leadingStatus(message)
  const known = CLASS_OF_MESSAGE.get(message) ?? classOfStatus(statusCode)
  return { type: type === undefined || type === 'Error' ? (known ?? type) : type, message, statusCode }
}

const GUARDRAIL = 'GuardrailTripwireTriggered'

function exitOf(failure: SpanFailure, modelFailed: boolean): { isStopped: boolean; reason: string } {
  const { type = '' } = failure
  if (type.endsWith(GUARDRAIL)) return { isStopped: true, reason: 'guardrail' }
  if (type === 'AbortError' || type === 'APIUserAbortError') return { isStopped: true, reason: 'aborted' }
  if (type === 'MaxTurnsExceededError') return { isStopped: false, reason: 'max_turns' }
  if (modelFailed) return { isStopped: false, reason: 'model_error' }
  if (type === 'ToolCallError') return { isStopped: false, reason: 'tool_error' }
  return { isStopped: false, reason: type === '' || type === 'Error' ? 'error' : type }
}

import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import { addUsage } from '../base/usage.ts'
import { type AnswerToolCall, historyOf, isModelSpan, promptOf, tokensOf, withoutUsage } from './messages.ts'
import { type RawSpan, readSpan } from './raw-span.ts'
import { emitUncountedAnswer, endRequest, startRequest } from './requests.ts'
import {
  type AgentSpanNode,
  type AgentTurn,
  addPendingApproval,
  type Choice,
  emitApprovalRequest,
  expectRepeatedCall,
  Memory,
  openLoop,
  openTurn,
  settleApproval,
  type ToolRun,
  type Trace,
} from './state.ts'
import { endTool, isRejected, receiveControlHook, receiveToolCall, startTool } from './tools.ts'
import { beginTurn, endDelegation, endLate, endTurn, handOver } from './turns.ts'

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

import { peek, textOf } from '../../contract/foreign.ts'
import { addUsage } from '../base/usage.ts'
import { isModelSpan, tokensOf, withoutUsage } from './messages.ts'
import type { RawSpan } from './raw-span.ts'
import { emitUncountedAnswer, endRequest, startRequest } from './requests.ts'
import {
  type AgentSpanNode,
  type AgentTurn,
  expectRepeatedCall,
  type Memory,
  openTurn,
  settleApproval,
  type ToolRun,
  type Trace,
} from './state.ts'
import { endTool, isRejected, startTool } from './tools.ts'
import { beginTurn, endDelegation, endTurn, handOver } from './turns.ts'

/** Places the host's spans in turns, in whatever order they arrive. */
export class Spans {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  startSpan(span: RawSpan): void {
    const known = this.#memory.nodes.get(span.id)
    const isRepeat = known === undefined ? this.#memory.hasEnded(span.id) : known.kind !== 'unknown'
    if (!isRepeat) this.#placeSpan(span)
  }

  endSpan(span: RawSpan): void {
    const known = this.#memory.nodes.get(span.id)
    if (known === undefined && this.#memory.hasEnded(span.id)) return
    // The start was missed; the end repeats its fields.
    const node = known === undefined || known.kind === 'unknown' ? this.#placeSpan(span) : known
    this.#endNode(node, span)
    this.#memory.markEnded(span.id, node.turn)
  }

  #placeSpan(span: RawSpan): AgentSpanNode {
    const trace = this.#traceOf(span)
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
  #traceOf({ traceId, type }: RawSpan): Trace {
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
    else if (isModelSpan(span.type)) startRequest(this.#turnOf(node, span, trace, parent), node, span)
    else if (span.type === 'function') {
      const turn = this.#turnOf(node, span, trace, parent)
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
  #turnOf(node: AgentSpanNode, span: RawSpan, trace: Trace, parent: AgentSpanNode | undefined): AgentTurn {
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

function turnHandingOver({ lastTurn }: Trace): AgentTurn | undefined {
  return lastTurn !== undefined && !lastTurn.isOver && lastTurn.handoffAt !== undefined ? lastTurn : undefined
}

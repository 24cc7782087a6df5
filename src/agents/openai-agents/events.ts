import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import { type AnswerToolCall, historyOf, promptOf } from './messages.ts'
import { type RawSpan, readSpan } from './raw-span.ts'
import { Spans } from './spans.ts'
import {
  type AgentTurn,
  addPendingApproval,
  type Choice,
  emitApprovalRequest,
  Memory,
  openLoop,
  type Trace,
} from './state.ts'
import { receiveControlHook, receiveToolCall } from './tools.ts'
import { endLate, endTurn } from './turns.ts'

/** Extra lines of captures, and events that add nothing to others. */
const QUIET = [
  ...['agent.agent_start', 'agent.agent_end', 'agent.agent_handoff', 'agent.agent_tool_start', 'agent.agent_tool_end'],
  ...['runner.agent_handoff', 'runner.agent_tool_end', 'proc_start', 'proc_shutdown', 'proc_flush', 'stream'],
  ...['RESULT', 'THROWN'],
]

export class OpenAiAgentsMachine extends EventMachine {
  readonly #memory = new Memory(this.records)
  readonly #spans = new Spans(this.#memory)
  readonly #listeners = new RunnerEvents(this.#memory)
  protected readonly events: EventHandlers = eventHandlers(
    {
      trace_start: ({ data }) => this.#startTrace(data),
      trace_end: moment => this.#endTrace(moment),
      span_start: withSpan(span => this.#spans.startSpan(span)),
      span_end: withSpan(span => this.#spans.endSpan(span)),
      pre_control_hook: moment => receiveControlHook(this.#memory, 'pre_control_hook', moment),
      post_control_hook: moment => receiveControlHook(this.#memory, 'post_control_hook', moment),
      'runner.agent_start': moment => this.#listeners.handleAgentStart(moment),
      'runner.agent_end': moment => this.#listeners.handleAgentEnd(moment),
      'runner.agent_tool_start': moment => this.#listeners.handleToolStart(moment),
      'runner.interrupted': moment => this.#listeners.handleInterruption(moment),
      'runner.resumed': moment => this.#listeners.handleResumption(moment),
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
}

function withSpan(take: (span: RawSpan) => void): EventHandler {
  return moment => {
    const span = readSpan(moment)
    if (span !== undefined) take(span)
  }
}

const CALLS_LIMIT = 100
const CHOICES: ReadonlySet<unknown> = new Set<Choice>(['once', 'always', 'deny'])

class RunnerEvents {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  handleAgentStart(event: TimedEvent): void {
    this.#markAsTraced(event)
    const turn = this.#turnOf(event)
    if (turn === undefined) return
    const input = peek(event.data, 'turnInput')
    turn.prompt ??= promptOf(input)
    turn.history ??= historyOf(input)
    turn.model ??= textOf(peek(event.data, 'model'))
    if (turn.prompt !== undefined) openLoop(turn)
  }

  handleAgentEnd(event: TimedEvent): void {
    const turn = this.#turnOf(event)
    const output = textOf(peek(event.data, 'output'))
    if (turn !== undefined && output !== undefined) turn.answer = output
  }

  handleToolStart({ data }: TimedEvent): void {
    receiveToolCall(this.#memory, idOf(peek(data, 'span_id')), peek(peek(data, 'details'), 'toolCall'))
  }

  handleInterruption(event: TimedEvent): void {
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

  handleResumption(event: TimedEvent): void {
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

  /** The turn of the span that was current. Without one, the only open turn. */
  #turnOf({ data }: TimedEvent): AgentTurn | undefined {
    const span = idOf(peek(data, 'span_id'))
    if (span !== undefined) return this.#memory.nodes.get(span)?.turn
    const [only, ...others] = this.#memory.openTurns.values()
    return others.length === 0 ? only : undefined
  }
}

function callOf(said: unknown): AnswerToolCall | undefined {
  const id = idOf(peek(said, 'call_id'))
  const name = textOf(peek(said, 'name'))
  return id === undefined || name === undefined ? undefined : { id, name, args: textOf(peek(said, 'arguments')) }
}

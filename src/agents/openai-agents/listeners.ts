import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { addPendingApproval, emitApprovalRequest } from './approvals.ts'
import { historyOf, promptOf } from './messages.ts'
import type { AnswerToolCall } from './model-spans.ts'
import { openLoop } from './opening.ts'
import type { AgentTurn, Choice, Memory, Trace } from './state.ts'
import { receiveToolCall } from './tools.ts'

const CALLS_LIMIT = 100
const CHOICES: ReadonlySet<unknown> = new Set<Choice>(['once', 'always', 'deny'])

/** Handles the events of `traceRunner`: those of the runner, and the results and restarts of its runs. */
export class RunnerEvents {
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

  /** By the span that was current. Without one, the only open turn. */
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

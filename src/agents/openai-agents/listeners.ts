import { elementsOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { ask, wait } from './approvals.ts'
import { historyOf, promptOf } from './messages.ts'
import type { AskedCall } from './model-spans.ts'
import { openLoop } from './opening.ts'
import type { AgentTurn, Choice, Memory, Trace } from './state.ts'
import { toolCalled } from './tools.ts'

const CALLS_LIMIT = 100
const CHOICES: ReadonlySet<unknown> = new Set<Choice>(['once', 'always', 'deny'])

/** Handles the events of `traceRunner`: those of the runner, and the results and restarts of its runs. */
export class Listeners {
  readonly #memory: Memory

  constructor(memory: Memory) {
    this.#memory = memory
  }

  agentStarted(event: TimedEvent): void {
    this.#hear(event)
    const turn = this.#turnOf(event)
    if (turn === undefined) return
    const input = peek(event.data, 'turnInput')
    turn.prompt ??= promptOf(input)
    turn.history ??= historyOf(input)
    turn.model ??= textOf(peek(event.data, 'model'))
    if (turn.prompt !== undefined) openLoop(turn)
  }

  agentEnded(event: TimedEvent): void {
    const turn = this.#turnOf(event)
    const output = textOf(peek(event.data, 'output'))
    if (turn !== undefined && output !== undefined) turn.answer = output
  }

  toolStarted({ data }: TimedEvent): void {
    toolCalled(this.#memory, idOf(peek(data, 'span_id')), peek(peek(data, 'details'), 'toolCall'))
  }

  /** A run ended with calls that need approval. */
  interrupted(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) return
    for (const said of elementsOf(peek(event.data, 'calls'), CALLS_LIMIT)) {
      const call = callOf(said)
      const turn = trace.lastTurn
      if (call === undefined || turn === undefined) continue
      if (!turn.isOver) {
        // Received before the end of the run: the calls left over at the end need approval.
        trace.isHeard = false
        return
      }
      const waiting = trace.waiting.get(call.id) ?? wait(turn, call)
      ask(waiting, event.at)
    }
  }

  /** An interrupted run continues, with decisions. */
  resumed(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) return
    trace.isHeard = true
    trace.groupId ??= idOf(peek(event.data, 'group_id'))
    trace.resumed = { prompt: promptOf(peek(event.data, 'input')), model: textOf(peek(event.data, 'model')) }
    for (const said of elementsOf(peek(event.data, 'calls'), CALLS_LIMIT)) {
      const call = callOf(said)
      const choice = peek(said, 'choice')
      if (call === undefined || !CHOICES.has(choice)) continue
      const waiting = trace.waiting.get(call.id)
      if (waiting?.isAsked) waiting.emitResponse(event.at, choice)
      else trace.decided = [...trace.decided, { call, choice: choice as Choice }].slice(-CALLS_LIMIT)
    }
  }

  #hear(event: TimedEvent): void {
    const trace = this.#traceOf(event)
    if (trace === undefined) this.#memory.hears = true
    else trace.isHeard = true
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

function callOf(said: unknown): AskedCall | undefined {
  const id = idOf(peek(said, 'call_id'))
  const name = textOf(peek(said, 'name'))
  return id === undefined || name === undefined ? undefined : { id, name, args: textOf(peek(said, 'arguments')) }
}

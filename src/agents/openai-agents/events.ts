import { idOf, peek } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import type { HostMachine } from '../host-event.ts'
import { RunnerEvents } from './listeners.ts'
import { type RawSpan, readSpan } from './raw-span.ts'
import { Spans } from './spans.ts'
import { Memory } from './state.ts'
import { receiveControlHook } from './tools.ts'
import { endLate, endTurn } from './turns.ts'

/** Extra lines of captures, and events that add nothing to others. */
const QUIET = [
  ...['agent.agent_start', 'agent.agent_end', 'agent.agent_handoff', 'agent.agent_tool_start', 'agent.agent_tool_end'],
  ...['runner.agent_handoff', 'runner.agent_tool_end', 'proc_start', 'proc_shutdown', 'proc_flush', 'stream'],
  ...['RESULT', 'THROWN'],
]

class OpenAiAgentsMachine extends EventMachine {
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

export function createOpenAiAgentsMachine(): HostMachine {
  return new OpenAiAgentsMachine()
}

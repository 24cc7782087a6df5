import { idOf, peek } from '../../contract/foreign.ts'
import type { HostEvent, HostMachine } from '../host-event.ts'
import { Listeners } from './listeners.ts'
import { readSpan } from './raw-span.ts'
import { Records } from './records.ts'
import { Spans } from './spans.ts'
import { Memory, type Turn } from './state.ts'
import { Turns } from './turns.ts'

/** What our captures hold beside the host's events, and events of it that say nothing new. */
const SILENT: ReadonlySet<string> = new Set([
  'agent.agent_start',
  'agent.agent_end',
  'agent.agent_handoff',
  'agent.agent_tool_start',
  'agent.agent_tool_end',
  'runner.agent_handoff',
  'runner.agent_tool_end',
  'proc_start',
  'proc_shutdown',
  'proc_flush',
  'stream',
  'RESULT',
  'THROWN',
])

type Handler = (event: HostEvent) => void

class OpenAiAgentsMachine implements HostMachine {
  readonly #memory = new Memory()
  readonly #records = new Records()
  readonly #turns = new Turns(this.#memory, this.#records)
  readonly #handlers: ReadonlyMap<string, Handler>

  constructor() {
    const spans = new Spans(this.#memory, this.#turns)
    const listeners = new Listeners(this.#memory, this.#turns)
    this.#handlers = new Map<string, Handler>([
      ['trace_start', event => this.#startTrace(event)],
      ['trace_end', event => this.#endTrace(event)],
      ['span_start', event => withSpan(event, span => spans.start(span))],
      ['span_end', event => withSpan(event, span => spans.end(span))],
      ['runner.agent_start', event => listeners.agentStarted(event)],
      ['runner.agent_end', event => listeners.agentEnded(event)],
      ['runner.agent_tool_start', event => listeners.toolStarted(event)],
      ['runner.interrupted', event => listeners.interrupted(event)],
      ['runner.resumed', event => listeners.resumed(event)],
    ])
  }

  accept(event: HostEvent): ReturnType<HostMachine['accept']> {
    const handle = this.#handlers.get(event.event)
    if (handle === undefined) return SILENT.has(event.event) ? [] : undefined
    handle(event)
    return this.#records.take()
  }

  end(at: number): ReturnType<HostMachine['end']> {
    // Agents inside of others first: who was begun last is deepest.
    const open = [...this.#memory.openTurns.values()].reverse()
    for (const turn of open) this.#turns.end(turn, { at: Math.max(at, turn.startAt), isCutOff: true })
    for (const turn of this.#late()) this.#turns.endLate(turn, at)
    return this.#records.take()
  }

  /** Turns below which something came after their end, and has not ended itself. */
  #late(): Set<Turn> {
    const open = [...this.#memory.nodes.values()].filter(({ request, isTool }) => request !== undefined || isTool)
    return new Set(open.flatMap(({ turn }) => turn ?? []))
  }

  /** A run that is resumed in a tool says the same again. */
  #startTrace({ data }: HostEvent): void {
    const id = idOf(peek(data, 'id'))
    if (id === undefined) return
    const trace = this.#memory.traces.get(id)
    trace.groupId ??= idOf(peek(data, 'group_id'))
  }

  /** The end of a trace ends the runs whose own end was not told, unless it is that of a run inside of their tools. */
  #endTrace({ data, at = 0 }: HostEvent): void {
    const id = idOf(peek(data, 'id'))
    const trace = id === undefined ? undefined : this.#memory.traces.look(id)
    if (trace === undefined) return
    for (const turn of [...this.#memory.openTurns.values()]) {
      const isOfTrace = turn.trace === trace && turn.parent === undefined && turn.openTools.size === 0
      if (isOfTrace) this.#turns.end(turn, { at: Math.max(at, turn.lastAt) })
    }
  }
}

function withSpan(event: HostEvent, take: (span: NonNullable<ReturnType<typeof readSpan>>) => void): void {
  const span = readSpan(event)
  if (span !== undefined) take(span)
}

/** The OpenAI Agents SDK for JavaScript, version 0.20.0 (`@openai/agents`). */
export function createOpenAiAgentsMachine(): HostMachine {
  return new OpenAiAgentsMachine()
}

import type { HostEvent } from '../../../src/agents/host-event.ts'

const START = Date.parse('2026-11-21T20:00:00.000Z')
const STEP = 10

type Data = Readonly<Record<string, unknown>>

export interface Call {
  readonly id: string
  readonly name: string
  readonly args?: Data
}

interface Open {
  readonly id: string
  readonly trace: string
  readonly parent: string | null
  readonly startedAt: string
  readonly data: Data
}

/** Raw events of made-up runs of the SDK, in the order and the shapes of the real ones. Each takes ten milliseconds. */
export class Scene {
  readonly events: HostEvent[] = []
  readonly #open = new Map<string, Open>()
  #at = START
  #spans = 0

  tell(event: string, data: Data): this {
    this.#at += STEP
    this.events.push({ event, at: this.#at, data })
    return this
  }

  wait(millis: number): this {
    this.#at += millis
    return this
  }

  trace(id: string, group: string | null = null): this {
    return this.tell('trace_start', { object: 'trace', id, workflow_name: 'wf', group_id: group })
  }

  endTrace(id: string, group: string | null = null): this {
    return this.tell('trace_end', { object: 'trace', id, workflow_name: 'wf', group_id: group })
  }

  /** @returns the id of the span */
  start(trace: string, parent: string | null, data: Data, name?: string): string {
    const id = name ?? `span_${trace}_${++this.#spans}`
    const startedAt = new Date(this.#at + STEP).toISOString()
    const span = { id, trace, parent, startedAt, data }
    this.#open.set(id, span)
    this.tell('span_start', json(span, null, data, null))
    return id
  }

  end(id: string, more: Data = {}, error: unknown = null): this {
    const span = this.#open.get(id)
    if (span === undefined) throw new Error(`${id} is not open`)
    this.#open.delete(id)
    return this.tell('span_end', json(span, new Date(this.#at + STEP).toISOString(), { ...span.data, ...more }, error))
  }

  /** A run and its first agent: their ids. */
  run(trace: string, agent: string, parent: string | null = null): { task: string; agent: string } {
    const task = this.start(trace, parent, { type: 'task', name: 'wf' })
    return { task, agent: this.agent(trace, task, agent) }
  }

  agent(trace: string, parent: string | null, name: string): string {
    return this.start(trace, parent, { type: 'agent', name, handoffs: [], tools: [], output_type: 'text' })
  }

  loop(trace: string, agent: string): string {
    return this.start(trace, agent, { type: 'turn', turn: 1, agent_name: 'main' })
  }

  /** A whole request of the Responses API. */
  model(trace: string, parent: string, says: string | readonly Call[], prompt: unknown = 'Do it'): this {
    const id = this.start(trace, parent, { type: 'response' })
    return this.end(id, {
      response_id: 'resp_1',
      _input: [{ type: 'message', role: 'user', content: prompt }],
      _response: response(says),
    })
  }

  failingModel(trace: string, parent: string, message = '500 on fire'): this {
    return this.end(this.start(trace, parent, { type: 'response' }), {}, { message })
  }

  /** A whole tool run. */
  tool(trace: string, parent: string, call: Call, output = 'done'): this {
    return this.end(this.startTool(trace, parent, call), { output })
  }

  startTool(trace: string, parent: string, { name, args = {} }: Call): string {
    return this.start(trace, parent, { type: 'function', name, input: JSON.stringify(args), output: '' })
  }

  rejectedTool(trace: string, parent: string, { id, name }: Call): this {
    const span = this.start(trace, parent, { type: 'function', name, input: '', output: '' })
    const error = `Tool execution for ${id} was manually rejected by user.`
    return this.end(
      span,
      { output: 'Tool execution was not approved.' },
      { message: 'Tool execution was not approved.', data: { tool_name: name, error } },
    )
  }

  /** Ends the spans of a run, innermost first. */
  endRun(...ids: readonly string[]): this {
    for (const id of ids) this.end(id)
    return this
  }

  fail(error: string, ...ids: readonly string[]): this {
    for (const id of ids) this.end(id, {}, { message: 'Error in agent run', data: { error } })
    return this
  }
}

function json(span: Open, endedAt: string | null, data: Data, error: unknown): Data {
  return {
    object: 'trace.span',
    id: span.id,
    trace_id: span.trace,
    parent_id: span.parent,
    started_at: span.startedAt,
    ended_at: endedAt,
    span_data: data,
    error,
  }
}

function response(says: string | readonly Call[]): Data {
  const output =
    typeof says === 'string'
      ? [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: says }] }]
      : says.map(({ id, name, args = {} }) => ({
          type: 'function_call',
          id: `fc_${id}`,
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        }))
  return {
    id: 'resp_1',
    status: 'completed',
    model: 'gpt-5',
    output,
    usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110, input_tokens_details: { cached_tokens: 5 } },
  }
}

/** What GitHub Copilot CLI exports of itself, as its documentation has it: attributes, kinds and names of spans; not a capture. */

export const START = 1_795_410_000_000
export const SESSION = 'cp-1'

type Value = string | number | readonly string[]

function written(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value !== 'number') return { arrayValue: { values: value.map(written) } }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

export function attributes(of: Readonly<Record<string, Value>>): object[] {
  return Object.entries(of).map(([key, value]) => ({ key, value: written(value) }))
}

function nanos(at: number): string {
  return `${START + at}000000`
}

interface Facts {
  readonly id: string
  /** Milliseconds since the start. */
  readonly from: number
  readonly to: number
  readonly session?: string
  readonly more?: Readonly<Record<string, Value>>
}

/** A request to a model. */
export function chat({ id, from, to, session = SESSION, more }: Facts): object {
  return {
    traceId: '5b8aa5a2d2c872e987626f4d7f1a1e2c',
    spanId: id.padStart(16, '0'),
    parentSpanId: 'a1b2c3d4e5f60718',
    name: 'chat gpt-5.2',
    kind: 3,
    startTimeUnixNano: nanos(from),
    endTimeUnixNano: nanos(to),
    attributes: attributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'github',
      'gen_ai.request.model': 'gpt-5.2',
      'gen_ai.conversation.id': session,
      'gen_ai.response.id': `resp-${id}`,
      'gen_ai.response.model': 'gpt-5.2-2026-08',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 900,
      'gen_ai.usage.cache_creation.input_tokens': 50,
      'github.copilot.cost': 1,
      'github.copilot.turn_id': '0',
      'github.copilot.interaction_id': 'i-1',
      'github.copilot.time_to_first_chunk': 0.125,
      'gen_ai.tool.definitions': '[{"type":"function","name":"bash"}]',
      ...more,
    }),
    status: {},
  }
}

/** All of a turn: it ends last. */
export function invokeAgent({ id, from, to, session = SESSION }: Facts): object {
  const { parentSpanId: _, ...top } = chat({ id, from, to }) as { parentSpanId: string }
  const own = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': session }
  return { ...top, name: 'invoke_agent', attributes: attributes({ ...own, 'gen_ai.usage.input_tokens': 5000 }) }
}

/** Of a child agent. */
export function invokeChild(facts: Facts): object {
  return { ...invokeAgent(facts), kind: 1, parentSpanId: 'a1b2c3d4e5f60718' }
}

export function executeTool({ id, from, to }: Facts): object {
  const own = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'bash', 'gen_ai.conversation.id': SESSION }
  return { ...invokeChild({ id, from, to }), name: 'execute_tool bash', attributes: attributes(own) }
}

/** What an exporter sends at once. */
export function exported(spans: readonly object[], service = 'github-copilot', scope = 'github.copilot'): object {
  const resource = { attributes: attributes({ 'service.name': service, 'service.version': '1.0.102' }) }
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: scope, version: '1.0.102' }, spans }] }] }
}

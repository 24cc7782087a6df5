import type { StoredSpan } from '../../src/testing.ts'

/** A span as a script expects it: what is said of it here must be said of the real one, too. */
export interface ExpectedSpan {
  readonly name: string
  readonly facts: Record<string, string | number>
  readonly children: ExpectedSpan[]
}

export function expectedSpan(name: string, facts: ExpectedSpan['facts']): ExpectedSpan {
  return { name, facts: { status: 'UNSET', ...facts }, children: [] }
}

/** The conversation that a session id belongs to, also after the id has changed: `s1~2` → `s1`. */
export function conversationOf(sessionId: unknown): string {
  return String(sessionId ?? '').split('~')[0] ?? ''
}

const SUMS = {
  in: 'hermes.turn.tokens.input',
  out: 'hermes.turn.tokens.output',
  cr: 'hermes.turn.tokens.cache_read',
  cw: 'hermes.turn.tokens.cache_write',
  rs: 'hermes.turn.tokens.reasoning',
  apis: 'hermes.turn.api_call_count',
  tools: 'hermes.turn.tool_call_count',
  final: 'hermes.turn.final_status',
  outcome: 'hermes.tool.outcome',
  blockedBy: 'hermes.tool.blocked_by',
  verdict: 'hermes.hook.verdict',
  choice: 'hermes.approval.choice',
  child: 'hermes.subagent.child_session_id',
  incomplete: 'hermes.span.incomplete',
}

const OF_A_REQUEST = {
  call: 'hermes.api.call_count',
  attempt: 'hermes.api.attempt',
  tokensIn: 'gen_ai.usage.input_tokens',
  tokensOut: 'gen_ai.usage.output_tokens',
}

function factsOf({ attributes, status }: StoredSpan): ExpectedSpan['facts'] {
  const facts: ExpectedSpan['facts'] = {
    status: status.toUpperCase(),
    session: conversationOf(attributes['hermes.session.id']),
  }
  const copy = (fact: string, name: string): void => {
    const value = attributes[name]
    if (typeof value === 'string' || typeof value === 'number') facts[fact] = value
  }
  copy('turn', 'hermes.turn.id')
  for (const [fact, name] of Object.entries(SUMS)) copy(fact, name)
  if (attributes['hermes.session.kind'] === 'background') facts['kind'] = 'background'
  if (attributes['hermes.span.kind'] === 'tool') copy('call', 'gen_ai.tool.call.id')
  if (attributes['hermes.span.kind'] === 'api') {
    for (const [fact, name] of Object.entries(OF_A_REQUEST)) copy(fact, name)
  }
  return facts
}

/** The spans of a plugin in the form of a script's expectation: their traces, in no particular order. */
export function drawnTraces(spans: readonly StoredSpan[]): ExpectedSpan[] {
  const drawn = new Map(
    spans.map(span => [span.spanId, { name: span.name, facts: factsOf(span), children: [] as ExpectedSpan[] }]),
  )
  const roots: ExpectedSpan[] = []
  for (const { spanId, parentSpanId } of spans) {
    const span = drawn.get(spanId) as ExpectedSpan
    const parent = parentSpanId === undefined ? undefined : drawn.get(parentSpanId)
    if (parent === undefined) roots.push(span)
    else parent.children.push(span)
  }
  return roots
}

/** Traces as text, in one order whatever order they came in: siblings too are sorted by what they say. */
export function tracesText(traces: readonly ExpectedSpan[]): string {
  return traces
    .map(trace => lines(trace, ''))
    .sort()
    .join('\n\n')
}

function lines({ name, facts, children }: ExpectedSpan, indent: string): string {
  const said = Object.entries(facts)
    .filter(([, value]) => value !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const line = `${indent}${name} ${said.map(([fact, value]) => `${fact}=${value}`).join(' ')}`
  return [line, ...children.map(child => lines(child, `${indent}  `)).sort()].join('\n')
}

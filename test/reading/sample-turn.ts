import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'

/** Spans as OTLP/JSON, written by hand, and the shortest way to write one down. */

type Value = string | number | boolean | readonly string[]

export interface SpanNote {
  readonly id: string
  readonly parent?: string
  readonly trace?: string
  readonly name: string
  /** Milliseconds after the turn's start. */
  readonly from: number
  readonly to: number
  readonly status?: 0 | 1 | 2
  readonly message?: string
  readonly attributes?: Readonly<Record<string, Value>>
  /** Its parent is in another process, or recorded by somebody else. */
  readonly remote?: true
}

export const TURN_AT = 1795256100000
export const TRACE_ID = '5b8efff798038103d269b633813fc60c'
export const SESSION_ID = '20261121_101500_7c41de'

/** A request without a recorded cost: 0.3 dollars by the list. */
export const UNPRICED_REQUEST = {
  'hermes.span.kind': 'api',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-4-5',
  'gen_ai.usage.input_tokens': 100_000,
  'gen_ai.usage.output_tokens': 0,
} as const

function anyValue(value: Value): unknown {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'object') return { arrayValue: { values: value.map(anyValue) } }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

function nanos(offset: number): string {
  return String(BigInt(TURN_AT + Math.floor(offset)) * 1_000_000n + BigInt(Math.round((offset % 1) * 1e6)))
}

function otlpSpan(note: SpanNote): Record<string, unknown> {
  return {
    traceId: note.trace ?? TRACE_ID,
    spanId: note.id,
    parentSpanId: note.parent ?? '',
    name: note.name,
    kind: note.name.startsWith('api.') ? 3 : 1,
    startTimeUnixNano: nanos(note.from),
    endTimeUnixNano: nanos(note.to),
    attributes: Object.entries(note.attributes ?? {}).map(([key, value]) => ({ key, value: anyValue(value) })),
    ...(note.remote && { flags: 0x301 }),
    status: { code: note.status ?? 1, ...(note.message !== undefined && { message: note.message }) },
  }
}

export function exportLine(...notes: readonly SpanNote[]): string {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'hermes-agent' } }] }
  const scope = { name: 'hookspan', version: '0.1.0' }
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: notes.map(otlpSpan) }] }] })
}

/** The trace log's note of spans that are running. */
export function noteLine(...notes: readonly SpanNote[]): string {
  const { resourceSpans } = JSON.parse(exportLine(...notes)) as {
    resourceSpans: { scopeSpans: { spans: object[] }[] }[]
  }
  for (const span of resourceSpans.flatMap(each => each.scopeSpans).flatMap(each => each.spans)) {
    Object.assign(span, { endTimeUnixNano: undefined, status: undefined })
  }
  return JSON.stringify({ 'hookspan.open': { resourceSpans } })
}

export function storedSpans(...notes: readonly SpanNote[]): StoredSpan[] {
  return readExportLine(exportLine(...notes))
}

function own(kind: string, more: Readonly<Record<string, Value>> = {}): Readonly<Record<string, Value>> {
  return { 'session.id': SESSION_ID, 'hermes.span.kind': kind, ...more }
}

function usage(input: number, output: number, finishReason: string): Readonly<Record<string, Value>> {
  return {
    'gen_ai.provider.name': 'custom',
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.response.finish_reason': finishReason,
  }
}

const MODEL = 'qwen3-coder-30b'

/** One turn: a rate limit and its retry, two tools at once, one of them approved, and a sub-agent with its own turn. */
export const SAMPLE_TURN: readonly SpanNote[] = [
  {
    id: '0000000000000003',
    parent: '0000000000000002',
    name: `api.${MODEL}`,
    from: 50,
    to: 410,
    status: 2,
    message: 'Error code: 429 - rate limit reached, retry in 2s',
    attributes: own('api', {
      'error.type': 'RateLimitError',
      'http.response.status_code': 429,
      'hermes.api.attempt': 0,
    }),
  },
  {
    id: '0000000000000004',
    parent: '0000000000000002',
    name: `api.${MODEL}`,
    from: 2450,
    to: 4300,
    attributes: own('api', {
      'hermes.api.attempt': 1,
      'gen_ai.usage.cache_read.input_tokens': 1228,
      ...usage(1840, 148, 'tool_calls'),
    }),
  },
  {
    id: '0000000000000006',
    parent: '0000000000000004',
    name: 'tool.read_file',
    from: 4340,
    to: 4390,
    attributes: own('tool', { 'hermes.tool.target': 'README.md', 'hermes.tool.outcome': 'completed' }),
  },
  {
    id: '0000000000000007',
    parent: '0000000000000005',
    name: 'approval.rm_rf',
    from: 4360,
    to: 9900,
    attributes: own('approval', { 'hermes.approval.command': 'rm -rf ./build', 'hermes.approval.choice': 'once' }),
  },
  {
    id: '0000000000000005',
    parent: '0000000000000004',
    name: 'tool.terminal',
    from: 4330,
    to: 10060,
    attributes: own('tool', { 'hermes.tool.command': 'rm -rf ./build', 'hermes.tool.outcome': 'completed' }),
  },
  {
    id: '000000000000000c',
    parent: '000000000000000b',
    name: `api.${MODEL}`,
    from: 10280,
    to: 12600,
    attributes: own('api', { 'hermes.api.attempt': 0, ...usage(1080, 96, 'stop') }),
  },
  {
    id: '000000000000000b',
    parent: '000000000000000a',
    name: `llm.${MODEL}`,
    from: 10260,
    to: 12620,
    attributes: own('llm'),
  },
  {
    id: '000000000000000a',
    parent: '0000000000000009',
    name: 'agent',
    from: 10250,
    to: 12630,
    attributes: own('session', {
      'session.id': '20261121_101510_child1',
      'hermes.turn.final_status': 'completed',
      'hermes.turn.tokens.input': 1080,
      'hermes.turn.tokens.output': 96,
    }),
  },
  {
    id: '0000000000000009',
    parent: '0000000000000008',
    name: 'subagent.leaf',
    from: 10210,
    to: 12700,
    attributes: own('subagent', {
      'hermes.subagent.status': 'completed',
      'hermes.subagent.goal': 'Summarise CHANGELOG.md in three bullets',
    }),
  },
  {
    id: '0000000000000008',
    parent: '0000000000000004',
    name: 'tool.delegate_task',
    from: 10080,
    to: 12720,
    attributes: own('tool', { 'hermes.tool.outcome': 'completed' }),
  },
  {
    id: '000000000000000d',
    parent: '0000000000000002',
    name: `api.${MODEL}`,
    from: 12800,
    to: 14100,
    attributes: own('api', {
      'hermes.api.attempt': 0,
      'gen_ai.usage.cache_read.input_tokens': 1840,
      ...usage(2310, 58, 'stop'),
    }),
  },
  {
    id: '0000000000000002',
    parent: '0000000000000001',
    name: `llm.${MODEL}`,
    from: 20,
    to: 14130,
    attributes: own('llm'),
  },
  {
    id: '0000000000000001',
    name: 'agent',
    from: 0,
    to: 14150,
    attributes: own('session', {
      'gen_ai.agent.name': 'hermes-agent',
      'gen_ai.request.model': MODEL,
      'hermes.turn.number': 1,
      'hermes.turn.final_status': 'completed',
      'hermes.turn.tokens.input': 4150,
      'hermes.turn.tokens.output': 206,
      'hermes.turn.subagent_tokens.total': 1176,
      'input.value': 'Remove the build directory, show me the README, and have a helper summarise the changelog.',
    }),
  },
]

import { parseJson } from './attribute-value.ts'
import type { DisplayKind } from './segments.ts'
import { type SpanAttributes, walkSpans } from './span-attributes.ts'
import { isRequest } from './span-facts.ts'
import type { StoredSpan } from './stored-span.ts'
import type { TraceTree } from './trace-forest.ts'
import { jsonLine } from './tree-json.ts'

const CATEGORY: { readonly [Kind in DisplayKind]?: string } = {
  session: 'agent',
  llm: 'function',
  api: 'llm',
  auxiliary: 'llm',
  tool: 'tool',
  hook: 'guardrail',
}

const OUTCOMES = ['.turn.final_status', '.tool.outcome', '.approval.choice', '.hook.verdict'] as const

/**
 * Agent Trajectory Observability Format 0.1 of NeMo Relay: one line per start and per end, ordered by time as its readers
 * require. It has no status field: status and trace ids are in `metadata`.
 */
export function exportAtof(trees: readonly TraceTree[]): readonly string[] {
  const lines = trees.flatMap(tree => [...scopesOf(tree)])
  // At the same instant, starts come first (outer before inner), then ends (inner before outer), as they were generated.
  return lines.sort((a, b) => a.micros - b.micros).map(({ record }) => jsonLine(record))
}

type Line = Readonly<{ micros: number; record: object }>

function* scopesOf(tree: TraceTree): Generator<Line, void> {
  const ends: Line[] = []
  for (const { parent, attributes } of walkSpans(tree)) {
    const { span, kind } = attributes
    const startMicros = Math.round(span.startAt * 1000)
    // The format requires an end after the start, so an instant span lasts one microsecond.
    const endMicros = Math.max(startMicros + 1, Math.round(span.endAt * 1000))
    const profile = profileOf(attributes)
    const common = {
      kind: 'scope',
      atof_version: '0.1',
      uuid: uuidOf(span),
      parent_uuid: parent === undefined ? null : uuidOf(parent.node.span),
      name: kind === 'tool' ? attributes.rawText('gen_ai.tool.name', 'tool.name') || span.name : span.name,
      attributes: [],
      category: CATEGORY[kind] ?? 'custom',
      category_profile: profile,
      data_schema: null,
    }
    const start = { scope_category: 'start', timestamp: startMicros, data: dataOf(attributes, 'input.value') }
    const end = {
      scope_category: 'end',
      timestamp: endMicros,
      data: dataOf(attributes, 'output.value'),
      category_profile: answeredProfile(profile, attributes),
    }
    const metadata = {
      kind,
      agent_name: attributes.rawText('gen_ai.agent.name') || undefined,
      trace_id: span.traceId,
      span_id: span.spanId,
      session_id: attributes.rawText('.session.id', 'gen_ai.conversation.id', 'session.id') || undefined,
    }
    yield { micros: startMicros, record: { ...common, ...start, metadata } }
    const outcome = {
      status: span.status,
      error_type: span.attributes['error.type'],
      error: span.statusMessage,
      outcome: attributes.rawText(...OUTCOMES) || undefined,
    }
    if (span.running !== true)
      ends.push({ micros: endMicros, record: { ...common, ...end, metadata: { ...metadata, ...outcome } } })
  }
  yield* ends.reverse()
}

function profileOf(attributes: SpanAttributes): object | null {
  const { kind } = attributes
  if (kind === 'tool') return { tool_call_id: attributes.rawText('gen_ai.tool.call.id', 'tool.id') || null }
  if (!isRequest(kind)) return CATEGORY[kind] === undefined ? { subtype: kind } : null
  return { model_name: attributes.rawText('gen_ai.request.model', 'llm.model_name', 'gen_ai.response.model') || null }
}

function answeredProfile(profile: object | null, attributes: SpanAttributes): object | null {
  if (!isRequest(attributes.kind)) return profile
  const usage = {
    prompt_tokens: attributes.number('gen_ai.usage.input_tokens', 'llm.token_count.prompt'),
    completion_tokens: attributes.number('gen_ai.usage.output_tokens', 'llm.token_count.completion'),
    cache_read_tokens: attributes.number('gen_ai.usage.cache_read.input_tokens'),
    cache_write_tokens: attributes.number('gen_ai.usage.cache_creation.input_tokens'),
    reasoning_tokens: attributes.number('gen_ai.usage.reasoning.output_tokens'),
    cost: attributes.number('llm.cost.total'),
  }
  const isUsed = Object.values(usage).some(count => count !== undefined)
  const model = attributes.rawText('gen_ai.response.model') || undefined
  if (!isUsed && model === undefined) return profile
  return { ...profile, annotated_response: { model, usage: isUsed ? usage : undefined } }
}

function dataOf(attributes: SpanAttributes, name: string): unknown {
  const text = attributes.rawText(name)
  return text === '' ? null : (parseJson(text) ?? text)
}

/** A UUID version 7, derived from the span's start and ids, so that repeated exports give the same one. */
function uuidOf({ startAt, spanId, traceId }: StoredSpan): string {
  const time = Math.max(0, Math.floor(startAt)).toString(16).padStart(12, '0').slice(-12)
  const ids = `${spanId}${traceId}`.replace(/[^0-9a-f]/g, '').padEnd(18, '0')
  const variant = (8 + (Number.parseInt(ids[3] as string, 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${ids.slice(0, 3)}-${variant}${ids.slice(4, 7)}-${ids.slice(7, 19).padEnd(12, '0')}`
}

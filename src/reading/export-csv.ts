import { displayText } from './display-text.ts'
import { walkSpans } from './span-attributes.ts'
import { costOf, isRequest, tokensOf } from './span-facts.ts'
import type { TraceTree } from './trace-forest.ts'
import { isoInstant } from './tree-json.ts'

const COLUMNS = [
  ...['trace_id', 'span_id', 'parent_span_id', 'session_id', 'agent', 'depth', 'kind', 'name'],
  ...['start', 'duration_ms', 'status', 'error_type', 'outcome', 'model', 'input_tokens', 'output_tokens'],
  ...['cached_tokens', 'cost_usd', 'cost_source'],
] as const

type Row = Readonly<Record<(typeof COLUMNS)[number], string | number | undefined>>

export function* exportCsv(trees: readonly TraceTree[]): Generator<string, void> {
  yield line(COLUMNS)
  for (const tree of trees) {
    for (const row of rowsOf(tree)) yield line(COLUMNS.map(column => row[column]))
  }
}

function* rowsOf(tree: TraceTree): Generator<Row, void> {
  for (const { depth, attributes } of walkSpans(tree)) {
    const { span, kind } = attributes
    const tokens = isRequest(kind) ? tokensOf(attributes) : undefined
    yield {
      trace_id: displayText(span.traceId),
      span_id: displayText(span.spanId),
      parent_span_id: span.parentSpanId && displayText(span.parentSpanId),
      session_id: attributes.text('.session.id', 'gen_ai.conversation.id', 'session.id'),
      agent: attributes.text('gen_ai.agent.name'),
      depth,
      kind,
      name: displayText(span.name),
      start: isoInstant(span.startAt),
      duration_ms: span.endAt - span.startAt,
      status: span.status,
      error_type: attributes.text('error.type'),
      outcome: attributes.text('.turn.final_status', '.tool.outcome', '.approval.choice', '.hook.verdict'),
      model: attributes.text('gen_ai.response.model', 'gen_ai.request.model'),
      input_tokens: tokens?.input,
      output_tokens: tokens?.output,
      cached_tokens: isRequest(kind) ? attributes.number('gen_ai.usage.cache_read.input_tokens') : undefined,
      cost_usd: isRequest(kind) ? costOf(attributes) : undefined,
      cost_source: attributes.text('.cost.source'),
    }
  }
}

/** RFC 4180. Text that a spreadsheet would read as a formula gets a leading apostrophe: names come from agents. */
function line(values: readonly (string | number | undefined)[]): string {
  return values.map(value => (typeof value === 'string' ? quoted(value) : String(value ?? ''))).join(',')
}

function quoted(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

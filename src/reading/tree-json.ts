import { type TraceTree, type TreeStep, walkTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'

/** Valid in JSON, but a terminal would interpret them or reverse the text. */
const UNSAFE = /[\p{Cf}\x7f-\x9f\u2028\u2029]/gu

/**
 * One trace as a line of JSON. The spans are a flat list in tree order, each with its depth: JSON readers fail on the nesting of
 * a deep trace.
 */
export function treeJson(tree: TraceTree): string {
  const summary = summarize(tree)
  const trace = {
    trace_id: tree.traceId,
    session_id: summary.sessionId,
    agent: summary.agent,
    start: isoInstant(tree.startAt),
    duration_ms: summary.durationMillis,
    outcome: summary.outcome?.text,
    tokens: summary.tokens,
    subagent_tokens: summary.subagentTokens || undefined,
    auxiliary_tokens: summary.auxiliaryTokens || undefined,
    cost: summary.cost.paidCount === 0 ? undefined : Number(summary.cost.dollars.toPrecision(12)),
    requests_of_unknown_cost: summary.cost.paidCount === 0 ? undefined : summary.cost.unknownCount || undefined,
    span_count: summary.spanCount,
    error_count: summary.errorCount,
    running: summary.runningCount || undefined,
    last_activity: summary.runningCount === 0 ? undefined : isoInstant(tree.lastAt),
    spans: Array.from(walkTree(tree), spanJson),
  }
  return jsonLine(trace)
}

export function jsonLine(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(UNSAFE, text =>
    text.replace(/./gs, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

function spanJson({ node, depth }: TreeStep): Record<string, unknown> {
  const { span, orphan, elsewhere, awaiting } = node
  return {
    depth,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    ...(orphan && !awaiting && { parent_missing: true }),
    ...(elsewhere && { parent_elsewhere: true }),
    running: span.running,
    name: span.name,
    kind: span.kind,
    start: isoInstant(span.startAt),
    duration_ms: span.endAt - span.startAt,
    status: span.status,
    status_message: span.statusMessage,
    attributes: span.attributes,
    events: span.events.map(({ at, ...event }) => ({ ...event, at: isoInstant(at) })),
    links: span.links.map(link => ({ trace_id: link.traceId, span_id: link.spanId, attributes: link.attributes })),
    resource: span.resource,
    scope: span.scope,
  }
}

export function isoInstant(at: number): string | undefined {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

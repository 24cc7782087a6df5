import type { OpenTurn } from './open-turns.ts'
import { isoInstant, jsonLine } from './tree-json.ts'

export function openTurnJson(
  { state, traceId, summary, prompt, sinceAt, lastAt, doing }: OpenTurn,
  now: number,
): string {
  return jsonLine({
    state: state.replace('-', '_'),
    agent: summary.agent,
    session_id: summary.sessionId,
    turn: summary.turnNumber,
    trace_id: traceId,
    prompt: prompt || undefined,
    model: summary.model || undefined,
    open_since: isoInstant(sinceAt),
    open_ms: Math.max(0, now - sinceAt),
    silent_since: isoInstant(lastAt),
    silent_ms: Math.max(0, now - lastAt),
    tokens: summary.tokens,
    doing: doing.map(({ step: { node }, facts }) => ({
      span_id: node.span.spanId,
      name: facts.name,
      hint: facts.hint || undefined,
      since: isoInstant(node.span.startAt),
      open_ms: Math.max(0, now - node.span.startAt),
    })),
  })
}

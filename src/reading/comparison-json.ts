import type { ComparedSide, ComparedStep, Comparison } from './compare-traces.ts'
import { jsonLine } from './tree-json.ts'
import type { TurnStep } from './turn-steps.ts'

export function comparisonJson(comparison: Comparison): string {
  const { a, b, steps, firstDifference } = comparison
  const sides = { a: sideJson(a), b: sideJson(b), first_difference: firstDifference ?? null }
  return jsonLine({ ...sides, steps: steps.map(stepJson) })
}

function sideJson({ summary, ...side }: ComparedSide): Record<string, unknown> {
  return {
    trace_ids: side.traceIds,
    session_id: summary?.sessionId,
    agent: summary?.agent,
    models: side.models,
    duration_ms: side.millis,
    waiting_for_person_ms: side.personMillis,
    tokens: { input: side.inputTokens, output: side.outputTokens },
    cost: side.cost === undefined ? undefined : Number(side.cost.toPrecision(12)),
    requests_of_unknown_cost: side.cost === undefined ? undefined : side.requestsOfUnknownCost || undefined,
    turns: side.turns,
    requests: side.requests,
    retries: side.retries,
    tools: side.tools,
    subagents: side.subagents,
    errors: side.errors,
  }
}

function stepJson({ depth, a, b, differences, argumentDiff }: ComparedStep): Record<string, unknown> {
  return {
    depth,
    in: a === undefined ? 'b' : b === undefined ? 'a' : 'both',
    differences: a === undefined || b === undefined ? undefined : differences,
    a: a && onSide(a),
    b: b && onSide(b),
    argument_diff: argumentDiff.length === 0 ? undefined : argumentDiff.map(({ sign, text }) => `${sign} ${text}`),
  }
}

function onSide(step: TurnStep): Record<string, unknown> {
  return {
    kind: step.kind,
    name: step.name || undefined,
    model: step.model || undefined,
    trace_id: step.traceId,
    span_id: step.spanId,
    outcome: step.outcome?.text,
    error: step.isError || undefined,
    attempts: step.attempts > 1 ? step.attempts : undefined,
    duration_ms: step.millis,
    waiting_for_person_ms: step.personMillis || undefined,
    tokens:
      step.inputTokens + step.outputTokens === 0 ? undefined : { input: step.inputTokens, output: step.outputTokens },
    steps_inside: step.steps.length || undefined,
  }
}

import { dropUndefined } from '../../reading/attribute-value.ts'
import { type ComparedSide, type ComparedStep, compareTraces } from '../../reading/compare-traces.ts'
import type { TraceTree } from '../../reading/trace-forest.ts'
import type { TurnStep } from '../../reading/turn-steps.ts'
import type { Compared, ComparedPart, ComparedRow, ComparedTotals } from './api.ts'

/** More than can be read at once. `hookspan diff` prints all of them. */
const MAX_ROWS = 1_500
/** Limit per step; longer arguments are shown on the span itself. */
const MAX_LINES = 300
const MAX_LINE_CHARS = 2_000

export function compareView(a: readonly TraceTree[], b: readonly TraceTree[]): Compared {
  const { firstDifference, steps, ...sides } = compareTraces(a, b)
  return {
    a: totals(sides.a, steps.find(step => step.a !== undefined)?.a),
    b: totals(sides.b, steps.find(step => step.b !== undefined)?.b),
    rows: steps.slice(0, MAX_ROWS).map(row),
    ...(steps.length > MAX_ROWS && { cutCount: steps.length - MAX_ROWS }),
    ...(firstDifference !== undefined && { firstDifference }),
  }
}

function totals({ summary, ...side }: ComparedSide, first: TurnStep | undefined): ComparedTotals {
  return { ...side, title: first?.hint ?? '', agent: summary?.agent ?? '', startAt: summary?.startAt ?? 0 }
}

function row({ depth, a, b, differences, argumentDiff }: ComparedStep): ComparedRow {
  const lines = argumentDiff.slice(0, MAX_LINES)
  return {
    depth,
    ...dropUndefined({ a: a && part(a), b: b && part(b) }),
    differences,
    lines: lines.map(({ sign, text }) => ({ sign, text: text.slice(0, MAX_LINE_CHARS) })),
    ...(argumentDiff.length > lines.length && { cutCount: argumentDiff.length - lines.length }),
  }
}

function part(step: TurnStep): ComparedPart {
  const { kind, name, hint, model, outcome, attempts, millis, inputTokens, outputTokens, traceId, spanId } = step
  return { kind, name, hint, model, outcome, attempts, millis, inputTokens, outputTokens, traceId, spanId }
}

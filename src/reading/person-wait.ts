import { displayKind, SpanAttributes } from './span-attributes.ts'
import type { StoredSpan } from './stored-span.ts'

/** A guardian model decides first: it grants by itself, or escalates to the user, which is a span of its own. */
const GUARDIAN = { choices: new Set(['escalated', 'smart_approve']), surface: 'smart' } as const

export function isApprovalWait(span: StoredSpan, namespace: string): boolean {
  const attributes = new SpanAttributes(span, namespace)
  if (displayKind(attributes) !== 'approval') return false
  if (attributes.text('.approval.surface') === GUARDIAN.surface) return false
  return !GUARDIAN.choices.has(attributes.text('.approval.choice'))
}

/** Total wait for the user in these spans, milliseconds. Overlapping questions count as one wait. */
export function approvalWaitMillis(spans: Iterable<StoredSpan>, namespace: string): number {
  const waits = [...spans].filter(span => isApprovalWait(span, namespace)).sort((a, b) => a.startAt - b.startAt)
  let [sum, until] = [0, Number.NEGATIVE_INFINITY]
  for (const { startAt, endAt } of waits) {
    sum += Math.max(0, endAt - Math.max(startAt, until))
    until = Math.max(until, endAt)
  }
  return sum
}

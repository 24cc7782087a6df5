import { drawnKind, SpanAttributes } from './span-attributes.ts'
import type { StoredSpan } from './stored-span.ts'

/** A guardian model looked first: it granted by itself, or passed the question on to a person, which is a span of its own. */
const GUARDIAN = { choices: new Set(['escalated', 'smart_approve']), surface: 'smart' } as const

/** Whether nothing but a person was, or is, waited for in this span. */
export function isPersonWait(span: StoredSpan, namespace: string): boolean {
  const attributes = new SpanAttributes(span, namespace)
  if (drawnKind(attributes) !== 'approval') return false
  if (attributes.text('.approval.surface') === GUARDIAN.surface) return false
  return !GUARDIAN.choices.has(attributes.text('.approval.choice'))
}

/** For how long a person was waited for in these spans, in milliseconds: two questions at once are one wait. */
export function personWaitMillis(spans: Iterable<StoredSpan>, namespace: string): number {
  const waits = [...spans].filter(span => isPersonWait(span, namespace)).sort((a, b) => a.startAt - b.startAt)
  let [sum, until] = [0, Number.NEGATIVE_INFINITY]
  for (const { startAt, endAt } of waits) {
    sum += Math.max(0, endAt - Math.max(startAt, until))
    until = Math.max(until, endAt)
  }
  return sum
}

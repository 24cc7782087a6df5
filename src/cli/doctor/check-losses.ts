import type { Loss } from '../../pipeline/index.ts'
import { countOf, humanDuration } from '../../viewer/human-figures.ts'
import { type Finding, finding } from './finding.ts'

const DAYS = 7
export const LOSSES_SHOWN_MILLIS: number = DAYS * 86_400_000

/** What backends will never get, and why. */
export function checkLosses(losses: readonly Loss[], now: number): readonly Finding[] {
  if (losses.length === 0) return [finding('ok', 'Lost', `nothing in the last ${DAYS} days`)]
  return losses.map(loss => lossFinding(loss, now))
}

function lossFinding({ at, backend, spans, reason }: Loss, now: number): Finding {
  const ago = humanDuration(Math.max(0, now - at))
  const what = `${countOf(spans, 'span')} for ${backend}, the last ${ago} ago: ${reason}`
  return finding('warn', 'Lost', what, remedyFor(reason))
}

/** What the reasons of the pipeline come down to. */
const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/trace log/, 'raise local_log_max_bytes, or mend that backend sooner'],
  [/queue/, 'see that the trace log can be written, or raise span_batch_max_queue_size'],
  [/rejected|^status/, "that backend's own log says why"],
]

function remedyFor(reason: string): string {
  const known = REMEDIES.find(([words]) => words.test(reason))
  return known?.[1] ?? 'see that backend above; once it takes spans, nothing more is lost'
}

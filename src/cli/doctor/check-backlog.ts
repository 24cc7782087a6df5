import type { BacklogEntry } from '../../pipeline/index.ts'
import { countOf, humanBytes, humanDuration } from '../../viewer/human-figures.ts'
import { type Finding, finding } from './finding.ts'

export interface BacklogContext {
  /** Names of the backends that are configured. */
  readonly configured: ReadonlySet<string>
  /** Names of those that did not take the probe. */
  readonly failing: ReadonlySet<string>
  /** `local_log_max_age_hours` */
  readonly maxAgeHours: number
  /** Epoch milliseconds. */
  readonly now: number
}

/** What the trace log still holds for backends. */
export function checkBacklog(entries: readonly BacklogEntry[], context: BacklogContext): readonly Finding[] {
  if (entries.length === 0) return [finding('ok', 'Waiting for delivery', 'nothing')]
  return entries.map(entry => entryFinding(entry, context))
}

function entryFinding(entry: BacklogEntry, { configured, failing, maxAgeHours, now }: BacklogContext): Finding {
  const { backend, segments, bytes, oldestAt, isLive } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const what = `${humanBytes(bytes)} for ${backend} in ${countOf(segments, 'file')}, the oldest begun ${age} ago`
  const say = (level: 'note' | 'warn', why: string, remedy?: string): Finding =>
    finding(level, 'Waiting for delivery', `${what}; ${why}`, remedy)
  if (!configured.has(backend)) {
    const remedy = `configure ${backend} again, or let it go when it is ${maxAgeHours} h old`
    return say('warn', 'no backend has that name any more', remedy)
  }
  if (isLive) return say('note', 'an agent that is running delivers it')
  // Sent now, it would fail as the probe did.
  const first = failing.has(backend) ? `see that ${backend} answers, above; then ` : ''
  const remedy = `${first}hookspan send --backend ${backend}, or start an agent`
  return say('warn', 'no agent that is running delivers it', remedy)
}

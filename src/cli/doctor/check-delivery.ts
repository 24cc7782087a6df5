import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { countOf, humanBytes, humanDuration } from '../../reading/human-figures.ts'
import { type Finding, finding } from './finding.ts'

/** An agent's handling, with this configuration, of traces that killed processes held for tail sampling. */
export interface Judging {
  /** Destinations of its backends, by name. */
  readonly destinations: ReadonlyMap<string, string>
  readonly isOn: boolean
}

export interface BacklogContext {
  /** Names of the configured backends. */
  readonly configured: ReadonlySet<string>
  /** Names of the backends that did not accept the probe. */
  readonly failing: ReadonlySet<string>
  /** `local_log_max_age_hours` */
  readonly maxAgeHours: number
  readonly judging: Judging
  /** Epoch milliseconds. */
  readonly now: number
}

/** Reports pending data of the trace log, and traces that killed processes held for tail sampling. */
export function checkBacklog(
  entries: readonly BacklogEntry[],
  context: BacklogContext,
  unjudged: readonly UndecidedEntry[] = [],
): readonly Finding[] {
  if (entries.length + unjudged.length === 0) return [finding('ok', 'Waiting for delivery', 'nothing')]
  return [
    ...entries.map(entry => entryFinding(entry, context)),
    ...unjudged.map(entry => unjudgedFinding(entry, context)),
  ]
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
  // Sent now, it would fail like the probe.
  const first = failing.has(backend) ? `see that ${backend} answers, above; then ` : ''
  const remedy = `${first}hookspan send --backend ${backend}, or start an agent`
  return say('warn', 'no agent that is running delivers it', remedy)
}

/** Held traces can only go to the backends they were held for: a process with other backends leaves them alone forever. */
function unjudgedFinding(entry: UndecidedEntry, { judging, maxAgeHours, now }: BacklogContext): Finding {
  const { destinations, segments, bytes, oldestAt } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const names = [...destinations.keys()].sort().join(', ')
  const what = `${humanBytes(bytes)} held for ${names} in ${countOf(segments, 'file')}, the oldest begun ${age} ago; its agent ended before all of it was judged`
  const say = (more: string, remedy: string): Finding =>
    finding('warn', 'Waiting for delivery', `${what}${more}`, remedy)
  const otherwise = `hookspan send TRACE_ID sends one trace, and the rest goes when it is ${maxAgeHours} h old`
  if (!isSame(destinations, judging.destinations)) {
    const remedy = `configure ${names}, with the addresses of then and nothing else, and run hookspan send; otherwise ${otherwise}`
    return say(', and other backends are configured now', remedy)
  }
  if (!judging.isOn) return say(', and keep is off', `switch keep on, and run hookspan send; otherwise ${otherwise}`)
  return say('', 'hookspan send, or start an agent')
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, destination]) => other.get(name) === destination)
}

const DAYS = 7
export const LOSSES_SHOWN_MILLIS: number = DAYS * 86_400_000

export function checkLosses(losses: readonly Loss[], now: number): readonly Finding[] {
  if (losses.length === 0) return [finding('ok', 'Lost', `nothing in the last ${DAYS} days`)]
  return losses.map(loss => lossFinding(loss, now))
}

function lossFinding({ at, backend, spans, reason }: Loss, now: number): Finding {
  const ago = humanDuration(Math.max(0, now - at))
  const what = `${countOf(spans, 'span')} for ${backend}, the last ${ago} ago: ${reason}`
  return finding('warn', 'Lost', what, remedyFor(reason))
}

const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/trace log/, 'raise local_log_max_bytes, or mend that backend sooner'],
  [/queue/, 'see that the trace log can be written, or raise span_batch_max_queue_size'],
  [/rejected|^status/, "that backend's own log says why"],
]

function remedyFor(reason: string): string {
  const known = REMEDIES.find(([words]) => words.test(reason))
  return known?.[1] ?? 'see that backend above; once it takes spans, nothing more is lost'
}

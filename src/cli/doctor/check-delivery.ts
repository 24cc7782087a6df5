import type { BacklogEntry, Loss, UndecidedEntry } from '../../delivery/trace-log/index.ts'
import { countOf, humanBytes, humanDuration } from '../../reading/human-figures.ts'
import { type DoctorFinding, finding } from './finding.ts'

/** An agent's handling, with this configuration, of traces that killed processes held for tail sampling. */
export interface SamplingState {
  readonly destinations: ReadonlyMap<string, string>
  readonly isOn: boolean
}

interface BacklogContext {
  readonly configured: ReadonlySet<string>
  readonly failing: ReadonlySet<string>
  readonly maxAgeHours: number
  readonly judging: SamplingState
  /** Epoch milliseconds. */
  readonly now: number
}

export function checkBacklog(
  entries: readonly BacklogEntry[],
  context: BacklogContext,
  unjudged: readonly UndecidedEntry[] = [],
): readonly DoctorFinding[] {
  if (entries.length + unjudged.length === 0) return [finding('ok', 'Pending delivery', 'nothing')]
  return [
    ...entries.map(entry => entryFinding(entry, context)),
    ...unjudged.map(entry => unjudgedFinding(entry, context)),
  ]
}

function entryFinding(entry: BacklogEntry, { configured, failing, maxAgeHours, now }: BacklogContext): DoctorFinding {
  const { backend, segments, bytes, oldestAt, isLive } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const what = `${humanBytes(bytes)} for ${backend} in ${countOf(segments, 'file')}, the oldest begun ${age} ago`
  const say = (level: 'note' | 'warn', why: string, remedy?: string): DoctorFinding =>
    finding(level, 'Pending delivery', `${what}; ${why}`, remedy)
  if (!configured.has(backend)) {
    const remedy = `configure ${backend} again; otherwise it is deleted after ${maxAgeHours} h`
    return say('warn', 'no backend has that name now', remedy)
  }
  if (isLive) return say('note', 'a running agent delivers it')
  // Sent now, it would fail like the probe.
  const first = failing.has(backend) ? `first fix ${backend}, see above; then ` : ''
  const remedy = `${first}hookspan send --backend ${backend}, or start an agent`
  return say('warn', 'no running agent delivers it', remedy)
}

/** Held traces can only go to the backends they were held for: a process with other backends leaves them alone forever. */
function unjudgedFinding(entry: UndecidedEntry, { judging, maxAgeHours, now }: BacklogContext): DoctorFinding {
  const { destinations, segments, bytes, oldestAt } = entry
  const age = humanDuration(Math.max(0, now - oldestAt))
  const names = [...destinations.keys()].sort().join(', ')
  const what = `${humanBytes(bytes)} held for ${names} in ${countOf(segments, 'file')}, the oldest begun ${age} ago; its agent ended before tail sampling decided`
  const say = (more: string, remedy: string): DoctorFinding =>
    finding('warn', 'Pending delivery', `${what}${more}`, remedy)
  const otherwise = `hookspan send TRACE_ID sends one trace, and the rest is deleted after ${maxAgeHours} h`
  if (!isSame(destinations, judging.destinations)) {
    const remedy = `configure ${names}, with the same addresses as then and no others, and run hookspan send; otherwise ${otherwise}`
    return say(', and other backends are configured now', remedy)
  }
  if (!judging.isOn) return say(', and keep is off', `set keep, and run hookspan send; otherwise ${otherwise}`)
  return say('', 'hookspan send, or start an agent')
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, destination]) => other.get(name) === destination)
}

const DAYS = 7
export const LOSSES_SHOWN_MILLIS: number = DAYS * 86_400_000

export function checkLosses(losses: readonly Loss[], now: number): readonly DoctorFinding[] {
  if (losses.length === 0) return [finding('ok', 'Dropped spans', `nothing in the last ${DAYS} days`)]
  return losses.map(loss => lossFinding(loss, now))
}

function lossFinding({ at, backend, spans, reason }: Loss, now: number): DoctorFinding {
  const ago = humanDuration(Math.max(0, now - at))
  const what = `${countOf(spans, 'span')} for ${backend}, the last ${ago} ago: ${reason}`
  return finding('warn', 'Dropped spans', what, remedyFor(reason))
}

const REMEDIES: readonly (readonly [reason: RegExp, remedy: string])[] = [
  [/trace log/, 'raise local_log_max_bytes, or fix that backend earlier'],
  [/queue/, 'make the trace log writable, or raise span_batch_max_queue_size'],
  [/rejected|^status/, 'see the log of that backend'],
]

function remedyFor(reason: string): string {
  const known = REMEDIES.find(([words]) => words.test(reason))
  return known?.[1] ?? 'fix that backend, see above'
}

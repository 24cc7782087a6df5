import type { FileHandle } from 'node:fs/promises'
import type { SegmentFile } from '../delivery/trace-log/index.ts'
import { PAST } from './journal-line.ts'

export const MAX_JOURNAL_BYTES: number = 64 * 1_048_576
/** Limits the entries of ended spans: recent ones, and session records. */
const PAST_BYTES: number = MAX_JOURNAL_BYTES / 8
const SESSION_RECORD_MILLIS = 24 * 3_600_000

export interface EntryLocation {
  readonly host: string
  readonly at: number
  readonly eventAt: number
  readonly offset: number
  readonly bytes: number
  /** True if nothing of the event was open any more when the journal was last compacted. */
  readonly isPast: boolean
  /** True if the state of the session depends on this entry: it began or ended something, or is not processed yet. */
  isSessionRecord: boolean
}

export interface RetentionRule {
  /** The event time since when a host has open spans. Undefined if it has none. */
  readonly openSince: (host: string) => number | undefined
  /** Ended spans are kept this long. Agents report totals of whole sessions, and translators subtract earlier ones. */
  readonly recentMillis: number
}

export interface PlannedEntry {
  readonly location: EntryLocation
  readonly fate: 'live' | 'past' | 'nothing'
}

/** Session records stay for a day after their spans have ended. */
export function planRetention(
  locations: readonly EntryLocation[],
  { openSince, recentMillis }: RetentionRule,
): PlannedEntry[] {
  const since = new Map<string, number>()
  const live = new Set<string>()
  const now = Date.now()
  return locations.map(location => {
    const { host, eventAt, at, isPast, isSessionRecord } = location
    if (!since.has(host)) since.set(host, openSince(host) ?? Number.POSITIVE_INFINITY)
    // From the first entry that may have begun an open span, all later entries of the host may belong to it.
    if (!isPast && eventAt >= (since.get(host) ?? 0)) live.add(host)
    if (live.has(host)) return { location, fate: 'live' }
    return { location, fate: now - at < (isSessionRecord ? SESSION_RECORD_MILLIS : recentMillis) ? 'past' : 'nothing' }
  })
}

/** True if rewriting the file frees at least half of the entries that are not session records. */
export function isCompactionWorthwhile(plan: readonly PlannedEntry[]): boolean {
  let [stays, goes] = [0, 0]
  for (const { location, fate } of plan) {
    if (fate === 'nothing') goes += location.bytes
    else if (!location.isSessionRecord) stays += location.bytes
  }
  return goes > 0 && goes >= stays
}

/**
 * Limits the past entries, and those of turns without an end, to the newest.
 *
 * @param isFull the journal has exceeded its limit. It is halved, so that this happens seldom
 */
export function limitPlan(plan: readonly PlannedEntry[], isFull: boolean, onLeftOut: () => void): PlannedEntry[] {
  let [past, live] = [PAST_BYTES, isFull ? MAX_JOURNAL_BYTES / 2 : MAX_JOURNAL_BYTES]
  const within = [...plan].reverse().map(({ location, fate }): PlannedEntry => {
    if (fate === 'past') past -= location.bytes
    if (fate === 'live') live -= location.bytes
    if (fate === 'past' && past < 0) return { location, fate: 'nothing' }
    if (fate !== 'live' || live >= 0 || location.isSessionRecord) return { location, fate }
    onLeftOut()
    return { location, fate: 'nothing' }
  })
  return within.reverse()
}

const CHUNK_BYTES = 1_048_576

export async function copyEntries(
  plan: readonly PlannedEntry[],
  source: FileHandle,
  file: SegmentFile,
): Promise<EntryLocation[]> {
  const locations: EntryLocation[] = []
  for (const run of contiguousRuns(plan)) {
    const bytes = run.reduce((sum, { location }) => sum + location.bytes, 0)
    const read = Buffer.alloc(bytes)
    const { bytesRead } = await source.read(read, 0, bytes, run[0]?.location.offset ?? 0)
    if (bytesRead < bytes) throw new Error('the journal is shorter than what was written to it')
    const lines: Buffer[] = []
    let [from, offset] = [0, file.bytes]
    for (const { location, fate } of run) {
      const isPast = fate === 'past'
      const line = read.subarray(from, from + location.bytes)
      from += line.length
      const written = isPast && !location.isPast ? Buffer.concat([PAST, line.subarray(1)]) : line
      lines.push(written)
      locations.push({ ...location, isPast, offset, bytes: written.length })
      offset += written.length
    }
    await file.append(Buffer.concat(lines))
  }
  return locations
}

function* contiguousRuns(plan: readonly PlannedEntry[]): Generator<readonly PlannedEntry[]> {
  let run: PlannedEntry[] = []
  let [end, bytes] = [0, 0]
  for (const planned of plan) {
    const { location, fate } = planned
    if (fate === 'nothing') continue
    if (run.length > 0 && (location.offset !== end || bytes > CHUNK_BYTES)) {
      yield run
      ;[run, bytes] = [[], 0]
    }
    run.push(planned)
    bytes += location.bytes
    end = location.offset + location.bytes
  }
  if (run.length > 0) yield run
}

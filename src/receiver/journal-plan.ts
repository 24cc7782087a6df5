/** Limits the entries of open spans. Beyond it, the oldest are dropped. */
export const MAX_BYTES: number = 64 * 1_048_576
/** Limits the entries of ended spans: recent ones, and those that place turns in a session. */
const PAST_BYTES: number = MAX_BYTES / 8
const SPINE_MILLIS = 24 * 3_600_000

export interface Place {
  readonly host: string
  /** Time of receipt, epoch milliseconds. */
  readonly at: number
  readonly eventAt: number
  readonly offset: number
  /** Includes the line end. */
  readonly bytes: number
  /** True if nothing of the event was open any more when the journal was last compacted. */
  readonly isPast: boolean
  /** True if the state of the session depends on this entry: it began or ended something, or is not processed yet. */
  isSpine: boolean
}

export interface Need {
  /** The event time since when a host has open spans. Undefined if it has none. */
  readonly openSince: (host: string) => number | undefined
  /** Ended spans are kept this long. Agents report totals of whole sessions, and translators subtract earlier ones. */
  readonly recentMillis: number
}

export interface Planned {
  readonly place: Place
  readonly becomes: 'live' | 'past' | 'nothing'
}

/** Decides what becomes of each entry. The entries that place a session stay for a day after their spans have ended. */
export function planOf(places: readonly Place[], { openSince, recentMillis }: Need): Planned[] {
  const since = new Map<string, number>()
  const live = new Set<string>()
  const now = Date.now()
  return places.map(place => {
    const { host, eventAt, at, isPast, isSpine } = place
    if (!since.has(host)) since.set(host, openSince(host) ?? Number.POSITIVE_INFINITY)
    // From the first entry that may have begun an open span, all later entries of the host may belong to it.
    if (!isPast && eventAt >= (since.get(host) ?? 0)) live.add(host)
    if (live.has(host)) return { place, becomes: 'live' }
    return { place, becomes: now - at < (isSpine ? SPINE_MILLIS : recentMillis) ? 'past' : 'nothing' }
  })
}

/** True if rewriting the file pays off: it frees at least half of the entries that are not spine. */
export function isWorthIt(plan: readonly Planned[]): boolean {
  let [stays, goes] = [0, 0]
  for (const { place, becomes } of plan) {
    if (becomes === 'nothing') goes += place.bytes
    else if (!place.isSpine) stays += place.bytes
  }
  return goes > 0 && goes >= stays
}

/**
 * Limits the past entries, and those of turns without an end, to the newest.
 *
 * @param isFull the journal has exceeded its limit. It is halved, so that this happens seldom
 */
export function bounded(plan: readonly Planned[], isFull: boolean, onLeftOut: () => void): Planned[] {
  let [past, live] = [PAST_BYTES, isFull ? MAX_BYTES / 2 : MAX_BYTES]
  const within = [...plan].reverse().map(({ place, becomes }): Planned => {
    if (becomes === 'past') past -= place.bytes
    if (becomes === 'live') live -= place.bytes
    if (becomes === 'past' && past < 0) return { place, becomes: 'nothing' }
    if (becomes !== 'live' || live >= 0 || place.isSpine) return { place, becomes }
    onLeftOut()
    return { place, becomes: 'nothing' }
  })
  return within.reverse()
}

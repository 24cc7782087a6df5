/** What of a journal is still needed. */

/** What is open never takes more; then the oldest of it is left out. */
export const MOST_BYTES: number = 64 * 1_048_576
/** Of what is over: what was told lately, and what tells where its session stands. */
const PAST_BYTES: number = MOST_BYTES / 8
const SPINE_MILLIS = 24 * 3_600_000

/** Where an entry stands in the file, and what it is. */
export interface Place {
  readonly host: string
  /** When it was told, epoch milliseconds. */
  readonly at: number
  /** The event's own time. */
  readonly eventAt: number
  readonly offset: number
  /** With its line end. */
  readonly bytes: number
  /** Nothing of what it tells of was open any more when the journal was tidied. */
  readonly isPast: boolean
  /** Without it, it would not be known where its session stands: it began or ended something, or may mean something yet. */
  isSpine: boolean
}

export interface Need {
  /** Since when something is open of a host, by its events' time; undefined: nothing is. */
  readonly openSince: (host: string) => number | undefined
  /** For so long all is kept of what is over: agents give sums of whole sessions, which their machines take apart. */
  readonly recentMillis: number
}

export interface Planned {
  readonly place: Place
  readonly becomes: 'live' | 'past' | 'nothing'
}

/** What each entry is to become: of what has been over for a while stays what tells where a session stands, for a day. */
export function planOf(places: readonly Place[], { openSince, recentMillis }: Need): Planned[] {
  const since = new Map<string, number>()
  const live = new Set<string>()
  const now = Date.now()
  return places.map(place => {
    const { host, eventAt, at, isPast, isSpine } = place
    if (!since.has(host)) since.set(host, openSince(host) ?? Number.POSITIVE_INFINITY)
    // From the first one on that may have begun what is open: whatever came behind it may tell of it, too.
    if (!isPast && eventAt >= (since.get(host) ?? 0)) live.add(host)
    if (live.has(host)) return { place, becomes: 'live' }
    return { place, becomes: now - at < (isSpine ? SPINE_MILLIS : recentMillis) ? 'past' : 'nothing' }
  })
}

/** Whether it is worth the writing: at least half goes of what is more than where a session stands. */
export function isWorthIt(plan: readonly Planned[]): boolean {
  let [stays, goes] = [0, 0]
  for (const { place, becomes } of plan) {
    if (becomes === 'nothing') goes += place.bytes
    else if (!place.isSpine) stays += place.bytes
  }
  return goes > 0 && goes >= stays
}

/**
 * No more of the past, and of turns without an end, than there is room for: the newest.
 *
 * @param isFull the journal has grown beyond its bound: it is made half as large, so that this comes seldom
 */
export function bounded(plan: readonly Planned[], isFull: boolean, onLeftOut: () => void): Planned[] {
  let [past, live] = [PAST_BYTES, isFull ? MOST_BYTES / 2 : MOST_BYTES]
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

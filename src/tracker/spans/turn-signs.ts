/** Start and end of a wait, epoch milliseconds. */
export type WaitInterval = readonly [from: number, to: number]

/** Reasons to keep a turn, child agents included. */
export interface TurnSigns {
  /** Spans with an error, and child agents that timed out. */
  errors: number
  /** Actions that the user, or a guardian in the user's place, denied, and blocked tools. */
  denied: number
  /** A tool was called that a `keep` rule names. */
  tool: boolean
  /** Waits for the user: in order, without overlaps. */
  waits: readonly WaitInterval[]
}

/** Limit of waits. A turn with more looks slower than it was, so it is kept rather than dropped. */
const MAX_WAITS = 256

export function noSigns(): TurnSigns {
  return { errors: 0, denied: 0, tool: false, waits: [] }
}

/** Merges overlapping waits: two questions at once count once. */
export function addWait(signs: TurnSigns, from: number, to: number): void {
  if (!(to > from)) return
  const touching = signs.waits.filter(wait => wait[0] <= to && wait[1] >= from)
  const rest = signs.waits.filter(wait => wait[0] > to || wait[1] < from)
  if (touching.length === 0 && rest.length >= MAX_WAITS) return
  const joined: WaitInterval = [
    Math.min(from, ...touching.map(([start]) => start)),
    Math.max(to, ...touching.map(([, end]) => end)),
  ]
  signs.waits = [...rest, joined].sort(([one], [other]) => one - other)
}

export function addSigns(to: TurnSigns, { errors, denied, tool, waits: waited }: TurnSigns): void {
  to.errors += errors
  to.denied += denied
  to.tool ||= tool
  for (const [from, until] of waited) addWait(to, from, until)
}

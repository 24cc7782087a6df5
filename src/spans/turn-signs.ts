/** From and until when, epoch milliseconds. */
export type Waited = readonly [from: number, to: number]

/** What happened in a turn, child agents included, that may make it one to keep. */
export interface TurnSigns {
  /** Spans with an error, and child agents that fell silent. */
  errors: number
  /** What a person, or who decides in a person's place, did not grant; and tools that were stopped. */
  denied: number
  /** A tool was called that is asked for. */
  tool: boolean
  /** When a person was waited for: in order, apart from each other. */
  waited: readonly Waited[]
}

/** A turn in which a person was asked more often looks slower than it was: it is kept rather than not. */
const MOST_WAITS = 256

export function noSigns(): TurnSigns {
  return { errors: 0, denied: 0, tool: false, waited: [] }
}

/** Two questions at once are waited for once. */
export function addWait(signs: TurnSigns, from: number, to: number): void {
  if (!(to > from)) return
  const touching = signs.waited.filter(wait => wait[0] <= to && wait[1] >= from)
  const rest = signs.waited.filter(wait => wait[0] > to || wait[1] < from)
  if (touching.length === 0 && rest.length >= MOST_WAITS) return
  const joined: Waited = [
    Math.min(from, ...touching.map(([start]) => start)),
    Math.max(to, ...touching.map(([, end]) => end)),
  ]
  signs.waited = [...rest, joined].sort(([one], [other]) => one - other)
}

export function addSigns(to: TurnSigns, { errors, denied, tool, waited }: TurnSigns): void {
  to.errors += errors
  to.denied += denied
  to.tool ||= tool
  for (const [from, until] of waited) addWait(to, from, until)
}

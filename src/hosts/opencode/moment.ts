/** One event of opencode: what came with it, and when. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly at: number
  /** Properties of a bus event, or the first argument of a named hook. */
  readonly data: unknown
  /** The second argument of a named hook: what a plugin may change. */
  readonly output: unknown
}

/** The ids that every record of a turn carries. */
export interface TurnIds {
  readonly session_id: string
  /** Id of the user's message. */
  readonly turn_id: string
}

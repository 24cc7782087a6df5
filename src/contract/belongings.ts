/**
 * What belongs to a turn, said by a hook that begins one: it is written on the turn's spans from then on, and on those of
 * its child agents. At most 32 entries each, at most 200 characters a text; masked like everything.
 */
export interface Belongings {
  /** To find turns by */
  readonly tags?: readonly string[]
  /** A flat map of text, numbers and booleans: what is known of the turn beyond its tags */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>
  /** Whose turn it is. With `content_capture: off` only where `capture_sender_id` is on */
  readonly user_id?: string
  /** A flat map like `metadata`, written under its own names. Names that hookspan writes itself are left out, with a line */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
}

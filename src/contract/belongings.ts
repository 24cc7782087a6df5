/**
 * The metadata of a turn, from a hook that begins one. It is written on the turn's spans from then on, and on those of
 * its child agents. At most 32 entries each, at most 200 characters per text; masked like all content.
 */
export interface TurnMetadata {
  /** Tags to find turns by */
  readonly tags?: readonly string[] | undefined
  /** A flat map of text, numbers and booleans: facts about the turn beyond its tags */
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined
  /** User of the turn. With `content_capture: off` only if `capture_sender_id` is on */
  readonly user_id?: string | undefined
  /** A flat map like `metadata`, written under its own names. Names that hookspan writes itself are dropped and reported */
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined
}

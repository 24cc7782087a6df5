/** Which turns are worth keeping. Undefined, false or empty = that is no reason. */
export interface KeepRules {
  readonly errors: boolean
  readonly denied: boolean
  readonly slowerThanMillis: number | undefined
  /** Whether the time that a person was waited for counts as slow. */
  readonly waitsCount: boolean
  /** US dollars. */
  readonly costOver: number | undefined
  readonly tokensOver: number | undefined
  /** In lower case. */
  readonly tools: ReadonlySet<string>
  /** As `thresholdOf` writes it. */
  readonly threshold: string | undefined
}

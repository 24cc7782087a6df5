/** Rules of tail sampling. Undefined, false or empty disables a rule. */
export interface KeepRules {
  readonly errors: boolean
  readonly denied: boolean
  readonly slowerThanMillis: number | undefined
  /** True if waiting for the user counts as slow. */
  readonly waitsCount: boolean
  /** US dollars. */
  readonly costOver: number | undefined
  readonly tokensOver: number | undefined
  /** Lower-case names. */
  readonly tools: ReadonlySet<string>
  /** Format of `thresholdOf`. */
  readonly threshold: string | undefined
}

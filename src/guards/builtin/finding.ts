import type { Allowed } from './options.ts'

/**
 * A rule violation. It contains no text of the agent except paths and plain command names. `unknown`: it is undecidable
 * whether the rule is broken.
 */
export interface RuleViolation {
  readonly decision: 'block' | 'ask' | 'unknown'
  readonly reason: string
  readonly detail: string
}

/** An empty list would be a rule without effect. */
export const NON_EMPTY: Allowed = {
  means: 'a list with something in it',
  is: value => Array.isArray(value) && value.length > 0,
}

export function invalidRule(trouble: string): TypeError {
  return new TypeError(`guardrails: ${trouble}`)
}

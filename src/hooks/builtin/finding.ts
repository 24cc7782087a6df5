import type { Allowed } from './options.ts'

/** What a rule has found. None of it holds text that the agent wrote, but for paths and the plain names of commands. */
export interface Finding {
  /** `unknown`: it cannot be told whether the rule is broken. */
  readonly decision: 'block' | 'ask' | 'unknown'
  /** For the model: what is wrong, and what to do. */
  readonly reason: string
  /** For the person. */
  readonly detail: string
}

/** A list that is empty would be a rule that guards nothing. */
export const FILLED: Allowed = {
  means: 'a list with something in it',
  is: value => Array.isArray(value) && value.length > 0,
}

/** A rule that cannot be: one line, for who has written it. */
export function refused(trouble: string): TypeError {
  return new TypeError(`guardrails: ${trouble}`)
}

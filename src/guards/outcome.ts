import type { Phase, ValueOf } from './phases.ts'
import type { Decision, InjectedRole } from './verdict.ts'

/** The way a hook failed. `nonsense`: it returned an invalid verdict. */
export type Failure = 'threw' | 'timed_out' | 'nonsense'

/** The result of one hook in one phase. */
export interface HookRun {
  /** The hook's name. */
  readonly hook: string
  /** The hook's priority. */
  readonly priority: number
  /** The hook runs after those that rewrite, and judges their result. */
  readonly judges: boolean
  /** The hook's decision. */
  readonly verdict: Decision | 'failed'
  /** For the model if blocked, the question of an ask, the feedback of a retry. */
  readonly reason: string | undefined
  /** Details for the user. */
  readonly detail: string | undefined
  /** The names of the changed arguments, or of the changed value. */
  readonly rewrittenFields: readonly string[]
  /** Undefined if the hook did not fail. */
  readonly failure: Failure | undefined
  /** The error message, or the fault in the returned verdict. */
  readonly failureMessage: string | undefined
  /** Epoch milliseconds. 0 for a fast pass, which is only counted. */
  readonly startAt: number
  /** Milliseconds. */
  readonly durationMillis: number
}

/** Text that a hook injects for the model. */
export interface Injection {
  /** The injected text. */
  readonly text: string
  /** The role of the text. */
  readonly role: InjectedRole
  /** The hook's name. */
  readonly by: string
}

/** The combined result of all hooks. `value` and `injected` are valid with `pass`, `ask` and `retry`. */
export interface Outcome<P extends Phase> {
  /** The decision to apply. */
  readonly decision: 'pass' | 'block' | 'ask' | 'retry'
  /** The hook that decided; undefined if the decision is `pass`. */
  readonly by: string | undefined
  /** For the model if blocked, the question of an ask, the feedback of a retry. */
  readonly reason: string | undefined
  /** Details of a block, for the user. */
  readonly detail: string | undefined
  /** The delay before a retry, in milliseconds. */
  readonly delayMillis: number | undefined
  /** The value after all rewrites, frozen. */
  readonly value: ValueOf<P>
  /** `value` differs from the input. */
  readonly isRewritten: boolean
  /** The injected texts, in order. */
  readonly injected: readonly Injection[]
  /** One entry for each hook that ran. */
  readonly runs: readonly HookRun[]
}

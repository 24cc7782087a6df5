import type { Phase, ValueOf } from './phases.ts'
import type { Decision, InjectedRole } from './verdict.ts'

/** How a hook failed; `nonsense`: it returned what is no verdict. */
export type Failure = 'threw' | 'timed_out' | 'nonsense'

/** What one hook did in one phase. */
export interface HookRun {
  /** Its name. */
  readonly hook: string
  /** Its priority. */
  readonly priority: number
  /** It judges what the others have made. */
  readonly judges: boolean
  /** What it said. */
  readonly verdict: Decision | 'failed'
  /** Of a block for the model, of an ask for the person, of a retry its feedback. */
  readonly reason: string | undefined
  /** For the person. */
  readonly detail: string | undefined
  /** What a rewrite has changed: keys of the arguments, or what it is. */
  readonly rewrittenFields: readonly string[]
  /** Undefined: it did not fail. */
  readonly failure: Failure | undefined
  /** What it threw, or what was wrong with what it returned. */
  readonly failureMessage: string | undefined
  /** Epoch milliseconds. 0: it passed at once, as most do. */
  readonly startAt: number
  /** Milliseconds. */
  readonly durationMillis: number
}

/** Something that a hook has the model told. */
export interface Injection {
  /** What is said. */
  readonly text: string
  /** As what. */
  readonly role: InjectedRole
  /** The hook. */
  readonly by: string
}

/** What all hooks together have come to. `value` and `injected` count with `pass`, `ask` and `retry`. */
export interface Outcome<P extends Phase> {
  /** What is to be done. */
  readonly decision: 'pass' | 'block' | 'ask' | 'retry'
  /** The hook that decided, unless it is `pass`. */
  readonly by: string | undefined
  /** Of a block for the model, of an ask for the person, of a retry its feedback. */
  readonly reason: string | undefined
  /** Of a block: for the person. */
  readonly detail: string | undefined
  /** Of a retry: how long to wait before it. */
  readonly delayMillis: number | undefined
  /** Behind all rewrites, frozen. */
  readonly value: ValueOf<P>
  /** `value` is another than was handed in. */
  readonly isRewritten: boolean
  /** What is to be said, in this order. */
  readonly injected: readonly Injection[]
  /** What each hook did that was asked. */
  readonly runs: readonly HookRun[]
}

import type { Phase, ValueOf } from './phases.ts'
import type { Decision, InjectedRole } from './verdict.ts'

export type Failure = 'threw' | 'timed_out' | 'nonsense'

/** What one hook did in one phase. */
export interface HookRun {
  readonly hook: string
  readonly priority: number
  /** It judges what the others have made. */
  readonly judges: boolean
  readonly verdict: Decision | 'failed'
  /** Of a block for the model, of an ask for the person, of a retry its feedback. */
  readonly reason: string | undefined
  readonly detail: string | undefined
  /** What a rewrite has changed: keys of the arguments, or what it is. */
  readonly rewrittenFields: readonly string[]
  readonly failure: Failure | undefined
  readonly failureMessage: string | undefined
  /** Epoch milliseconds. 0: it passed at once, as most do. */
  readonly startAt: number
  readonly durationMillis: number
}

export interface Injection {
  readonly text: string
  readonly role: InjectedRole
  /** The hook. */
  readonly by: string
}

/** What all hooks together have come to. `value` and `injected` count with `pass`, `ask` and `retry`. */
export interface Outcome<P extends Phase> {
  readonly decision: 'pass' | 'block' | 'ask' | 'retry'
  /** The hook that decided, unless it is `pass`. */
  readonly by: string | undefined
  readonly reason: string | undefined
  readonly detail: string | undefined
  readonly delayMillis: number | undefined
  /** Behind all rewrites, frozen. */
  readonly value: ValueOf<P>
  readonly isRewritten: boolean
  readonly injected: readonly Injection[]
  readonly runs: readonly HookRun[]
}

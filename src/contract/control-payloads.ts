import type { Identity } from './identity.ts'
import type { ControlAction, ControlFailure, ControlPhase, ControlVerdict } from './vocabulary.ts'

/** The hooks of control hooks: functions of the person's that look at what an agent does, and may decide about it. */

/** `pre_control_hook` */
export interface ControlHookStart extends Identity {
  /** Pairs the end with the start; each run has its own. Without it nothing is drawn */
  readonly hook_run_id?: string | null | undefined
  /** Name of the control hook */
  readonly hook_name?: string | undefined
  /** What it looks at: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool` or `after_tool` */
  readonly hook_phase?: ControlPhase | undefined
  /** Its place in the chain, a whole number: lower ones look first before, and last after */
  readonly hook_priority?: number | undefined
  /** Whether it judges what it sees; else it changes it, or only looks */
  readonly hook_judges?: boolean | undefined
}

/** `post_control_hook` */
export interface ControlHookEnd extends ControlHookStart {
  /** What it said: `pass`, `block`, `rewrite`, `inject`, `retry`, `ask`; `failed` where it said nothing that counts */
  readonly verdict?: ControlVerdict | undefined
  /** What the host then did: `ran`, `blocked`, `rewritten`, `injected`, `retried`, `asked`; `none` where it can do none of it */
  readonly action?: ControlAction | undefined
  /** Why, in words for the model */
  readonly reason?: string | undefined
  /** Why, in words for the person */
  readonly detail?: string | undefined
  /** Names of the fields that it has rewritten, not what is in them */
  readonly rewritten_fields?: readonly string[] | undefined
  /** All arguments that the tool then runs with, where this run has changed them */
  readonly rewritten_args?: unknown
  /** How it failed: `threw`, `timed_out`, or `nonsense` where its answer was none */
  readonly failure?: ControlFailure | undefined
  /** What the failure says */
  readonly failure_message?: string | undefined
  /** Milliseconds, fractions allowed */
  readonly duration_ms?: number | undefined
  /** This record stands for so many runs of one verdict: they are counted, and none of them is drawn */
  readonly count?: number | undefined
}

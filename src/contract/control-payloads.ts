import type { Identity } from './identity.ts'
import type { ControlAction, ControlFailure, ControlPhase, ControlVerdict } from './vocabulary.ts'

/** The hooks of guards: user functions that inspect an agent's actions and may decide about them. */

/** `pre_control_hook` */
export interface ControlHookStart extends Identity {
  /** Pairs the end with the start; each run has its own. Without it no span is written */
  readonly hook_run_id?: string | null | undefined
  /** Name of the guard */
  readonly hook_name?: string | undefined
  /** Step that the hook inspects: `before_turn`, `after_turn`, `before_model`, `after_model`, `before_tool` or `after_tool` */
  readonly hook_phase?: ControlPhase | undefined
  /** Its place in the chain, a whole number: lower ones run first in `before_…` phases, and last in `after_…` */
  readonly hook_priority?: number | undefined
  /** True if the hook decides about the step; false if it changes it, or only observes */
  readonly hook_judges?: boolean | undefined
}

/** `post_control_hook` */
export interface ControlHookEnd extends ControlHookStart {
  /** Its decision: `pass`, `block`, `rewrite`, `inject`, `retry`, `ask`; `failed` if it gave no valid one */
  readonly verdict?: ControlVerdict | undefined
  /** Effect in the host: `ran`, `blocked`, `rewritten`, `injected`, `retried`, `asked`; `none` if it supports no such effect */
  readonly action?: ControlAction | undefined
  /** Reason, in words for the model */
  readonly reason?: string | undefined
  /** Reason, in words for the user */
  readonly detail?: string | undefined
  /** Names of the rewritten fields, without their contents */
  readonly rewritten_fields?: readonly string[] | undefined
  /** All arguments that the tool then runs with, if this run has changed them */
  readonly rewritten_args?: unknown
  /** Kind of failure: `threw`, `timed_out`, or `nonsense` for an invalid answer */
  readonly failure?: ControlFailure | undefined
  /** Message of the failure */
  readonly failure_message?: string | undefined
  /** Milliseconds, fractions allowed */
  readonly duration_ms?: number | undefined
  /** Number of runs with the same verdict that this record stands for: they are counted and get no spans */
  readonly count?: number | undefined
}

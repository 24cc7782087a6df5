/** The closed vocabularies of the contract. Open ones, which a host may extend, are typed as `string`. */

export type SpanKindName = 'session' | 'llm' | 'api' | 'tool' | 'subagent' | 'approval' | 'hook' | 'skill' | 'auxiliary'

/** Reason why hookspan ended a span itself. */
export type IncompleteReason = 'turn_ended' | 'orphaned' | 'superseded' | 'shutdown' | 'crashed'

/** Outcome of a turn. The first four come from `on_session_end`, in order of strength; the rest have other causes. */
export type FinalStatus =
  | 'failed'
  | 'completed'
  | 'interrupted'
  | 'incomplete'
  | 'timed_out'
  | 'finalized'
  | 'reset'
  | 'crashed'

/** Result of processing one hook record. */
export type HookResult = 'ok' | 'ignored' | 'duplicate' | 'error'

export const GRANTING_CHOICES: ReadonlySet<string> = new Set(['once', 'session', 'always', 'smart_approve'])

/** Step of the agent that a guard inspects. */
export type ControlPhase = 'before_turn' | 'after_turn' | 'before_model' | 'after_model' | 'before_tool' | 'after_tool'

/** Decision of a guard. */
export type ControlVerdict = 'pass' | 'block' | 'rewrite' | 'inject' | 'retry' | 'ask' | 'failed'

/** Effect of a guard's decision in the host. */
export type ControlAction = 'ran' | 'blocked' | 'rewritten' | 'injected' | 'retried' | 'asked' | 'none'

/** Kind of failure of a guard. */
export type ControlFailure = 'threw' | 'timed_out' | 'nonsense'

export const CONTROL_PHASES: readonly ControlPhase[] = [
  'before_turn',
  'after_turn',
  'before_model',
  'after_model',
  'before_tool',
  'after_tool',
]
export const CONTROL_VERDICTS = ['pass', 'block', 'rewrite', 'inject', 'retry', 'ask', 'failed'] as const
export const CONTROL_ACTIONS = ['ran', 'blocked', 'rewritten', 'injected', 'retried', 'asked', 'none'] as const
export const CONTROL_FAILURES = ['threw', 'timed_out', 'nonsense'] as const

/** Sub-agent statuses (lower case) that are errors. Every other status, even an unknown one, is not. */
export const FAILED_SUBAGENT_STATUSES: ReadonlySet<string> = new Set([
  'error',
  'errored',
  'failed',
  'failure',
  'cancelled',
  'canceled',
  'timeout',
  'timed_out',
])

/** Tools (lower case) that start a child agent. */
export const DELEGATING_TOOLS: readonly string[] = ['delegate_task', 'task', 'agent', 'subagent', 'dispatch_agent']

/** Metric label of a failed request: the class of its HTTP status. */
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'network' | 'other'

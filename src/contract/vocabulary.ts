/** The closed vocabularies of the contract. What a host may add lies open as `string` beside them. */

export type SpanKindName = 'session' | 'llm' | 'api' | 'tool' | 'subagent' | 'approval' | 'hook' | 'skill' | 'auxiliary'

/** Why we had to end a span ourselves. */
export type IncompleteReason = 'turn_ended' | 'orphaned' | 'superseded' | 'shutdown' | 'crashed'

/** How a turn ended. The first four come from `on_session_end`, in order of strength; the rest are other ways out. */
export type FinalStatus =
  | 'failed'
  | 'completed'
  | 'interrupted'
  | 'incomplete'
  | 'timed_out'
  | 'finalized'
  | 'reset'
  | 'crashed'

/** What became of one hook record. */
export type HookResult = 'ok' | 'ignored' | 'duplicate' | 'error'

/** Choices that let the tool run. */
export const GRANTING_CHOICES: ReadonlySet<string> = new Set(['once', 'session', 'always', 'smart_approve'])

/** What a control hook looks at. */
export type ControlPhase = 'before_turn' | 'after_turn' | 'before_model' | 'after_model' | 'before_tool' | 'after_tool'

/** What a control hook said. */
export type ControlVerdict = 'pass' | 'block' | 'rewrite' | 'inject' | 'retry' | 'ask' | 'failed'

/** What the host did when a control hook had answered. */
export type ControlAction = 'ran' | 'blocked' | 'rewritten' | 'injected' | 'retried' | 'asked' | 'none'

/** How a control hook failed. */
export type ControlFailure = 'threw' | 'timed_out' | 'nonsense'

export const CONTROL_PHASES: ReadonlySet<string> = new Set<ControlPhase>([
  'before_turn',
  'after_turn',
  'before_model',
  'after_model',
  'before_tool',
  'after_tool',
])

export const CONTROL_VERDICTS: ReadonlySet<string> = new Set<ControlVerdict>([
  'pass',
  'block',
  'rewrite',
  'inject',
  'retry',
  'ask',
  'failed',
])

export const CONTROL_ACTIONS: ReadonlySet<string> = new Set<ControlAction>([
  'ran',
  'blocked',
  'rewritten',
  'injected',
  'retried',
  'asked',
  'none',
])

export const CONTROL_FAILURES: ReadonlySet<string> = new Set<ControlFailure>(['threw', 'timed_out', 'nonsense'])

/** Sub-agent statuses (lower case) that are errors; every other status, also an unknown one, is not. */
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

/** Where the metrics count a failed request: by the hundreds of its HTTP status. */
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'network' | 'other'
